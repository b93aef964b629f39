//! `orange workflow simulate --script`.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::every_command::terminal::Terminal;
use crate::sandbox::{BROKEN, SMALL, Sandbox, code, everything_below, keys, parse, utf8};

/// A workflow whose gates check more than TASK.md.
const WORLDLY: &str = "\
name: worldly
version: 1
roles: [qa]
limits: { max_laps: 2 }
fields: { laps: 0 }
gates:
  tests: { command: [make, test] }
  clean: { git: [clean, commits_ahead] }
  green: { pr: { state: open, checks: passing } }
  judged: { section: \"## QA\", verdict: PASS, from_role: [qa], fresh: true }
states:
  open: { kind: queued }
  busy:
    expects: [qa]
    timeout: { after: 1h, then: late }
  late: { kind: human }
  closed: { kind: terminal }
transitions:
  - from: open
    to: busy
    when: laps < max_laps
    set: { laps: increment }
    hooks:
      - acquire_workspace
      - { action: spawn_agent, role: qa, prompt: qa }
      - { action: notify, message: Look here., via: bell }
  - { from: busy, to: late, trigger: timeout, hooks: [kill_session] }
  - { from: busy, to: open, trigger: spawn_failed, hooks: [release_workspace] }
  - { from: late, to: \"@previous\", by: human }
  - { from: busy, to: closed, by: [qa, human], gates: [tests, clean, judged], confirm: Sure?, hooks: [kill_session, release_workspace] }
prompts:
  qa: Judge it.
";

fn script(workflow: &str, lines: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new()
        .with_file("worldly.yml", WORLDLY)
        .with_file("walk.txt", lines);
    let line = format!("workflow simulate {workflow} --script walk.txt");
    (sandbox, line)
}

fn transcript(workflow: &str, lines: &str) -> String {
    let (sandbox, line) = script(workflow, lines);
    sandbox.transcript(&line)
}

/// The scripts in the documentation, one for each shipped workflow.
#[test]
fn the_usual_path_through_each_shipped_workflow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulations");
    let sandbox = Sandbox::new();
    let (listed, _) = sandbox.json("workflow list --json");
    let workflows = listed["workflows"].as_array().unwrap();
    assert_eq!(workflows.len(), fs::read_dir(&folder).unwrap().count());
    for workflow in workflows {
        let name = workflow["name"].as_str().unwrap();
        let text = fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        let (sandbox, line) = script(name, &text);
        assert_snapshot!(format!("walk_{name}"), sandbox.transcript(&line));
        let (answer, code) = sandbox.json(&format!("{line} --json"));
        assert_eq!(code, 0, "{name}");
        assert_eq!(answer["ok"], true, "{name}");
    }
}

#[test]
fn refusals_are_what_a_user_would_see() {
    assert_snapshot!(transcript(
        "default",
        "a task begins in `agent-review`
         worker requests reviewing
         expect refused
         reviewer requests reviewing
         expect refused gate-failed
         reviewer requests reviewing, with ## Review
         expect refused must be Verdict: PASS
         reviewer requests reviewing, with FAIL in ## Review
         expect refused needs PASS
         expect fresh ## Review
         human merges
         expect refused committed
         human respawns reviewer
         expect refused still-running
         human requests done
         expect refused not-by-request
         human requests delegated
         expect refused no-transition
         the engine requests reviewing, with PASS in ## Review, submitted earlier by the reviewer
         expect status reviewing",
    ));
}

#[test]
fn a_failed_expectation_is_reported_and_exits_with_3() {
    assert_snapshot!(transcript(
        "default",
        "a task begins in pending
         expect status working
         expect refused
         expect workspace
         expect alive worker
         expect review_round 7
         expect fresh ## Plan
         human requests planning # the comment is no part of it
         expect no effects
         expect effects acquire_workspace
         expect no agent alive
         expect no workspace
         worker requests working
         worker requests done
         expect refused guard-failed
         human merges, with git gates passing
         expect status done",
    ));
}

#[test]
fn a_line_that_means_nothing_names_those_that_would() {
    let begun = "a task begins in pending\nhuman requests planning\n";
    let lines = [
        "worker requests workin",
        "reviewer dies",
        "worker requests working, with ## Diary",
        "human requests cancelled; merge fails",
        "1",
        "expect status wroking",
        "expect review_rounds 1",
        "expect alive barber",
        "expect fresh ## Diary",
        "expect happiness",
    ];
    let transcripts = lines.map(|line| {
        let output = transcript("default", &format!("{begun}{line}\n"));
        let stderr = output.split("[stderr]\n").nth(1).unwrap();
        format!("--- {line}\n{stderr}")
    });
    assert_snapshot!(transcripts.join("\n"));
    assert_snapshot!("unknown_whole", transcript("minimal", "task begins\n"));
}

#[test]
fn the_simulated_facts_can_be_shown_and_can_fail() {
    assert_snapshot!(transcript(
        "worldly.yml",
        "task begins in open
         human requests busy; spawn_agent fails
         expect status open
         expect laps 1
         undo
         human requests busy
         expect laps 1
         expect alive qa
         qa requests closed, with PASS in ## QA
         expect refused
         TASK.md is emptied
         qa requests closed, with `make test` passing and git gates passing
         expect refused ## QA is missing
         the timeout expires
         expect status late
         human requests busy
         restart
         task begins in open
         human requests busy
         human requests closed, with make test passing and git gates passing and PASS in ## QA, submitted earlier by the qa
         expect status closed",
    ));
}

#[test]
fn a_script_can_come_from_stdin() {
    let sandbox = Sandbox::new().with_workflow("small.yml", SMALL);
    let line = "workflow simulate small --script -";
    let input = b"A TASK begins in open\nHuman requests `closed`\nexpect status closed";
    let output = sandbox.run_with_input(line, input);
    assert_snapshot!(sandbox.transcript_of(line, &output));
    let empty = sandbox.run_with_input(line, b"# nothing\n");
    assert_eq!(code(&empty), 0);
    let sandbox = sandbox.with_file("walk.txt", input);
    let piped = "workflow simulate - --script walk.txt";
    let piped = sandbox.run_with_input(piped, SMALL.as_bytes());
    assert_eq!(code(&piped), 0, "{}", utf8(&piped.stderr));
}

#[test]
fn an_invalid_simulation_is_refused() {
    let sandbox = Sandbox::new()
        .with_file("broken.yml", BROKEN)
        .with_file("binary.txt", b"\xff");
    let lines = [
        "workflow simulate broken.yml",
        "workflow simulate nothing",
        "workflow simulate -",
        "workflow simulate - --script -",
        "workflow simulate --script nothing.txt",
        "workflow simulate --script binary.txt",
        "workflow simulate --script .",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
}

#[test]
fn a_program_reads_every_step() {
    let (sandbox, line) = script(
        "default",
        "a task begins in pending
         human requests planning
         worker requests working
         expect status working
         undo",
    );
    let (answer, code) = sandbox.json(&format!("{line} --json"));
    assert_eq!(code, 3);
    assert_eq!(answer["schema"], "orange.workflow.simulate/1");
    let expected = [
        "expectations",
        "failed",
        "from",
        "name",
        "ok",
        "path",
        "schema",
        "situation",
        "steps",
    ];
    assert_eq!(keys(&answer), expected);
    assert_eq!(answer["ok"], false);
    let steps = answer["steps"].as_array().unwrap();
    let expected = ["decided", "line", "note", "refusal", "status", "step"];
    assert_eq!(keys(&steps[1]), expected);
    assert_eq!(steps[1]["step"], "the human requests `planning`");
    assert_eq!(steps[1]["status"], "planning");
    let decided = &steps[1]["decided"];
    assert_eq!(keys(decided), ["effects", "entered", "fields", "remarks"]);
    assert_eq!(decided["entered"][0]["trigger"], "request");
    assert_eq!(decided["effects"][1]["effect"], "spawn_agent");
    assert_eq!(decided["effects"][1]["outcome"], "done");
    assert_eq!(steps[2]["decided"], Value::Null);
    assert_eq!(steps[2]["refusal"]["codes"][0], "gate-failed");
    assert_eq!(steps[2]["refusal"]["missing"][0]["code"], "gate-failed");
    assert_eq!(steps[3]["step"], "undo");
    // The unexpected refusal, and the status that does not match.
    assert_eq!(answer["failed"].as_array().unwrap().len(), 2);
    assert_eq!(answer["failed"][1]["line"], 4);
    assert_eq!(answer["failed"][1]["found"], "the task is in `planning`");
    assert_eq!(answer["situation"]["alive"][0], "worker");
    assert_eq!(answer["situation"]["kind"], "agent");

    let output = sandbox.run("workflow simulate --json --script nothing");
    assert_eq!(parse(&output)["error"]["code"], "script-unreadable");
    let line = "workflow simulate --json --script -";
    let output = sandbox.run_with_input(line, b"banana");
    let error = &parse(&output)["error"];
    assert_eq!(error["code"], "script-line-unknown");
    assert_eq!(error["details"]["line"], 1);
}

#[test]
fn a_program_reads_how_a_task_begins() {
    let (answer, code) = Sandbox::new().json("workflow simulate --json");
    assert_eq!(code, 0);
    assert_eq!(answer["schema"], "orange.workflow.simulate.start/1");
    assert_eq!(answer["name"], "default");
    let first = &answer["beginnings"][0];
    assert_eq!(first["step"], "a task begins in `pending`");
    assert_eq!(first["situation"]["status"], "pending");
    let next = &first["next"][0];
    assert_eq!(keys(next), ["group", "line", "moves", "to"]);
    assert_eq!(next["line"], "the human requests `planning`");
    assert_eq!(next["group"], "human");
    assert_eq!(next["to"], "planning");
}

#[test]
fn simulating_writes_nothing() {
    let (sandbox, line) = script(
        "default",
        "a task begins in pending\nhuman requests planning",
    );
    let before = everything_below(sandbox.root());
    assert_eq!(code(&sandbox.run(&line)), 0);
    assert_eq!(
        code(&sandbox.run_with_input("workflow simulate", b"1\n1\n")),
        0
    );
    assert_eq!(everything_below(sandbox.root()), before);
}

/// Whether the screen ends with the prompt.
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
    says("human requests w", "status     `working`");
    says(
        "worker requests reviewing",
        "`orange task update --status reviewing`",
    );
    says("undo", "Undone: the worker requests `reviewing`");
    says(
        "the worker dies, with ## Handoff and git gates passing",
        "status     `reviewing`",
    );
    says("99", "the numbers go from 1 to");
    says("script", "expect status reviewing");
    terminal.press(&["quit", "Enter"]);
    terminal.finish();
    let screen = terminal.screen(&["-S", "-"]);
    assert_snapshot!(screen);
    // `-J` joins a line that the terminal had to wrap.
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

/// The first menu entry is always the usual next step.
#[test]
fn choosing_1_leads_through_every_shipped_workflow() {
    for name in [
        "default",
        "respawn",
        "minimal",
        "session",
        "github",
        "autopilot",
        "local",
    ] {
        let sandbox = Sandbox::new();
        let (drawn, _) = sandbox.json(&format!("workflow graph {name} --json"));
        let way = drawn["shortest_path"].as_array().unwrap();
        let line = format!("workflow simulate {name}");
        let output = sandbox.run_with_input(&line, "1\n".repeat(way.len()).as_bytes());
        let text = utf8(&output.stdout);
        let statuses = text
            .lines()
            .filter_map(|line| line.strip_prefix("status     `"));
        let statuses: Vec<&str> = statuses.map(|it| it.split('`').next().unwrap()).collect();
        assert_eq!(
            statuses,
            way.iter()
                .map(|it| it.as_str().unwrap())
                .collect::<Vec<_>>()
        );
        assert!(text.contains("The task is finished."), "{text}");
    }
}

/// The output of `script` is a valid script.
#[test]
fn the_lines_so_far_are_a_script() {
    let typed = [
        "a task begins in `pending`",
        "human requests planning",
        "worker requests done",
        "worker requests working, with ## Plan",
        "TASK.md is emptied",
        "worker dies",
        "script",
    ];
    let text = dialogue(&typed);
    let script = text.rsplit("> script\n").next().unwrap();
    let script = script.split("\n\n").next().unwrap();
    assert_snapshot!(script);
    let line = "workflow simulate --script -";
    let output = Sandbox::new().run_with_input(line, script.as_bytes());
    assert_eq!(code(&output), 0, "{}", utf8(&output.stdout));
}
