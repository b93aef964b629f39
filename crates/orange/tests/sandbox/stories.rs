//! Tasks whose agents work in a sandbox.

use crate::fixture::processes_with;
use crate::support::{PLAN_AND_WORK, Stage, log, wait_for, way};

/// A stage whose agents are in a sandbox.
pub fn stage(workflow: &str) -> Stage {
    Stage::sandboxed(workflow)
}

/// Fails unless the agent that ran this was in a sandbox.
pub const PROVE: &str = "\
[ \"$(uname -n)\" = orange ] && [ ! -e ~/secret ] && [ ! -e ~/repo/work.txt ] && give proof < /dev/null
";

#[test]
fn a_task_is_worked_on_gets_a_message_and_ends() {
    let stage = stage("default");
    stage.script("worker-1", &format!("{PROVE}{PLAN_AND_WORK}"));
    stage.script(
        "reviewer-1",
        "printf 'Verdict: PASS\\nfine\\n' | section Review\nask task update --status reviewing\n",
    );
    stage.script("worker-2", "ask inbox\ngive heard < /dev/null\n");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    assert!(
        stage.path("scripts/proof").exists(),
        "it was not in a sandbox"
    );
    assert_eq!(
        way(&stage, &id),
        ["planning", "working", "agent-review", "reviewing"],
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(log(&stage, &id), ["one"]);
    let calls = stage.calls();
    assert!(!calls.contains("-> 1\n"), "{calls}");

    // A message reaches the agent that waits in its pane.
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "one more thing"]);
    wait_for("the message", || stage.path("scripts/heard").exists());
    wait_for("the answer of the inbox", || {
        stage.calls().contains("one more thing")
    });
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));

    let runs = stage.store().runs(&id).unwrap();
    stage.run_ok(&["task", "stop", id.as_str()]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    for run in runs {
        let found = orange_effects::process::processes_of_run(&run.id).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_pane_ends_with_the_code_of_the_agent() {
    let stage = stage("minimal");
    stage.script("worker-1", &format!("{PROVE}commit one\nexit 7\n"));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the end of the pane", || {
        let shown = stage.tmux(&["list-panes", "-a", "-F", "#{pane_dead_status}"]);
        shown.trim() == "7"
    });
    assert!(stage.path("scripts/proof").exists());
    // The commit arrives when orange looks next.
    stage.run_ok(&["task", "diff", id.as_str()]);
    assert_eq!(log(&stage, &id), ["one"]);
}

#[test]
fn a_call_ends_with_its_caller_and_variables_give_no_other_role() {
    let stage = stage("default");
    let other = stage.create(&["Another task"]);
    let wait = format!("orange task wait {other} --until done");
    stage.script(
        "worker-1",
        &format!(
            "{PROVE}{wait} & call=$!\necho $! | give call\npause stop\nkill -9 $call\n\
             give killed < /dev/null\n\
             export ORANGE_RUN_ID=x ORANGE_RUN_PROOF=y ORANGE_ROLE=human ORANGE_HOME=/tmp\n\
             export ORANGE_TASK_ID={other}\n\
             ask task update {other} --summary forged\nask task update --status working\n\
             ask task show {other}\nunset ORANGE_RUN_ID ORANGE_RUN_PROOF ORANGE_TASK_ID\n\
             ask task update --summary own\ngive asked < /dev/null\n"
        ),
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the call", || processes_with(other.as_str()).len() >= 2);
    stage.script("stop", "");
    wait_for("the end of the call", || {
        stage.path("scripts/killed").exists() && processes_with(other.as_str()).is_empty()
    });
    wait_for("the other calls", || stage.path("scripts/asked").exists());
    let calls = stage.calls();
    assert_eq!(stage.task(&other).summary, "Another task", "{calls}");
    assert_eq!(stage.task(&id).summary, "own", "{calls}");
    assert_eq!(way(&stage, &id), ["planning"], "{calls}");
}
