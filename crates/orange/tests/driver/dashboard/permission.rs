//! An agent's request is answered in the dashboard.

use std::fs;
use std::time::Duration;

use orange_config::clock::Stopwatch;

use super::open;
use crate::support::{Stage, wait_for};

/// How long an answer may take from the key to the agent.
const AT_ONCE: Duration = Duration::from_secs(1);

/// An agent that asks as Claude Code does, and writes down what it was answered.
fn asking(command: &str, name: &str) -> String {
    format!(
        "printf '%s' '{{\"cwd\":\"/tmp\",\"hook_event_name\":\"PermissionRequest\",\
         \"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"{command}\"}}}}' | \
         orange agent-ask > $SCRIPTS/{name}.new; mv $SCRIPTS/{name}.new $SCRIPTS/{name}\n"
    )
}

#[test]
fn a_request_is_read_to_its_end_and_answered_with_one_key() {
    let stage = Stage::new("minimal");
    let long = "echo line\\n".repeat(60) + "rm -rf the-end";
    stage.script(
        "worker-1",
        &(asking(&long, "first") + &asking("git push", "second")),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let answer = |name: &str| fs::read_to_string(stage.path("scripts").join(name)).ok();
    let terminal = open(&stage);
    terminal.wait_for("NEEDS YOU 1");
    terminal.wait_for("asks permission");
    terminal.wait_for("p permission");
    terminal.press(&["p"]);
    terminal.wait_for("It asks to use Bash");
    terminal.wait_for("more lines: Space reads on");
    assert!(
        !terminal.screen().contains("allow once"),
        "{}",
        terminal.screen()
    );
    terminal.press(&["a"]);
    for _ in 0..5 {
        terminal.press(&["Space"]);
    }
    terminal.wait_for("rm -rf the-end");
    terminal.wait_for("a allow once");
    assert_eq!(answer("first"), None, "nothing was allowed unread");
    let watch = Stopwatch::start();
    terminal.press(&["a"]);
    wait_for("the answer", || answer("first").is_some());
    assert!(watch.elapsed() < AT_ONCE, "{:?}", watch.elapsed());
    assert!(answer("first").unwrap().contains("\"allow\""));
    terminal.wait_for("p permission");
    terminal.press(&["p"]);
    terminal.wait_for("git push");
    terminal.press(&["d"]);
    wait_for("the answer", || answer("second").is_some());
    assert!(answer("second").unwrap().contains("\"deny\""));
    wait_for("nothing to answer", || {
        !terminal.screen().contains("p permission")
    });
}

#[test]
fn the_box_opens_the_agents_terminal() {
    let stage = Stage::new("minimal");
    let script = asking("git push", "answer") + "echo its own dialog\n";
    stage.script("worker-1", &script);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let terminal = open(&stage);
    terminal.wait_for("p permission");
    terminal.press(&["p"]);
    terminal.wait_for("It asks to use Bash");
    terminal.press(&["Enter"]);
    wait_for("the agent's own terminal", || {
        let screen = terminal.screen();
        screen.contains("its own dialog") && !screen.contains("NEEDS YOU")
    });
    let answer = fs::read_to_string(stage.path("scripts/answer")).unwrap();
    assert_eq!(answer, "", "the agent decides what follows");
}
