//! `orange workflow simulate` as a dialogue.

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, code, utf8};
use crate::terminal::Terminal;

/// Whether the prompt is the last that was shown.
fn is_waiting(screen: &str) -> bool {
    screen.ends_with("\n>\n")
}

#[test]
fn a_dialogue_in_a_terminal() {
    let terminal = Terminal::start(80, "orange workflow simulate minimal");
    terminal.wait_until(is_waiting);
    let says = |typed: &str, answer: &str| {
        terminal.press(&["-l", typed]);
        terminal.press(&["Enter"]);
        terminal.wait_until(|screen| screen.contains(answer) && is_waiting(screen));
    };
    says("1", "status     `pending`");
    says("person asks for w", "status     `working`");
    says(
        "worker asks for reviewing",
        "`orange task update --status reviewing`",
    );
    says("undo", "Taken back: the worker asks for `reviewing`");
    says(
        "the worker dies, showing ## Handoff and git in order",
        "status     `reviewing`",
    );
    says("99", "the numbers go from 1 to");
    says("script", "expect status reviewing");
    terminal.press(&["quit", "Enter"]);
    terminal.finish();
    let screen = terminal.screen(&["-S", "-"]);
    assert_snapshot!(screen);
    // A line that the terminal had to break is joined by `-J`.
    assert_eq!(terminal.screen(&["-S", "-", "-J"]), screen);
}

#[test]
fn a_terminal_that_is_closed_ends_the_dialogue() {
    let terminal = Terminal::start(80, "orange workflow simulate minimal");
    terminal.wait_until(is_waiting);
    terminal.press(&["C-d"]);
    terminal.wait_until(|screen| screen.contains("[exit 0]"));
}

fn dialogue(lines: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let output = sandbox.run_with_input("workflow simulate", lines.join("\n").as_bytes());
    assert_eq!(code(&output), 0);
    assert_eq!(utf8(&output.stderr), "");
    utf8(&output.stdout)
}

#[test]
fn a_dialogue_can_be_piped() {
    assert_snapshot!(dialogue(&[
        "help",
        "1",
        "1",
        "worker asks",
        "banana",
        "restart",
        "undo",
        "script",
        "",
        "q",
    ]));
}

/// The first of the menu is always the usual next step.
#[test]
fn ones_lead_through_every_shipped_workflow() {
    for name in ["default", "respawn", "minimal", "autopilot"] {
        let sandbox = Sandbox::new();
        let (drawn, _) = sandbox.json(&format!("workflow graph {name} --json"));
        let way = drawn["shortest_way"].as_array().unwrap();
        let line = format!("workflow simulate {name}");
        let output = sandbox.run_with_input(&line, "1\n".repeat(way.len()).as_bytes());
        let told = utf8(&output.stdout);
        let statuses = told
            .lines()
            .filter_map(|line| line.strip_prefix("status     `"));
        let statuses: Vec<&str> = statuses.map(|it| it.split('`').next().unwrap()).collect();
        assert_eq!(
            statuses,
            way.iter()
                .map(|it| it.as_str().unwrap())
                .collect::<Vec<_>>()
        );
        assert!(told.contains("The task has ended."), "{told}");
    }
}

/// What `script` prints is a script that holds.
#[test]
fn the_lines_so_far_are_a_script() {
    let typed = [
        "a task begins in `pending`",
        "person asks for planning",
        "worker asks for done",
        "worker asks for working, showing ## Plan",
        "TASK.md is emptied",
        "worker dies",
        "script",
    ];
    let told = dialogue(&typed);
    let script = told.rsplit("> script\n").next().unwrap();
    let script = script.split("\n\n").next().unwrap();
    assert_snapshot!(script);
    let line = "workflow simulate --script -";
    let output = Sandbox::new().run_with_input(line, script.as_bytes());
    assert_eq!(code(&output), 0, "{}", utf8(&output.stdout));
}
