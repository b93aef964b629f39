//! `orange issue ignore`.

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, wait_for};

#[test]
fn an_ignored_text_is_not_started() {
    let it = ForgeStage::new("minimal");
    it.stage.script("worker-1", "true");
    it.read_issues_with("agent");
    it.forge.user("eve");
    for title in ["Fix the door", "Fix the window"] {
        let number = it.forge.issue(REPOSITORY, "eve", title, "It squeaks");
        it.forge.label(REPOSITORY, number, "ada", "agent");
    }
    let output = it.stage.run_ok(&["issue", "ignore", "1"]);
    assert!(output.contains("ignored issue #1"), "{output}");
    let (code, answer) = it.stage.json(&["issue", "ignore", "#1", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["decision"], "ignored");
    let listed = it.stage.run_ok(&["issue", "list"]);
    assert!(
        listed.contains("not started: you ignored this text"),
        "{listed}"
    );
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for("the other issue's task", || it.all_tasks().len() == 1);
    let [id] = it.all_tasks().try_into().unwrap();
    assert_eq!(it.stage.task(&id).summary, "Fix the window");
    let numbers = it.judged_issues();
    assert!(numbers.contains(&1), "{numbers:?}");
}

#[test]
fn an_agent_decides_nothing() {
    let it = ForgeStage::new("minimal");
    it.forge.user("eve");
    it.forge
        .issue(REPOSITORY, "eve", "Fix the door", "It squeaks");
    let script = "\
for line in 'issue list' 'issue show 1' 'issue approve 1' 'issue ignore 1' 'task create --issue 1'
do ask $line --json; done
touch \"$SCRIPTS/asked\"
";
    it.stage.script("worker-1", script);
    let id = it.stage.create(&["Add a line"]);
    it.stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the agent's answers", || {
        it.stage.path("scripts/asked").exists()
    });
    let answers = it.stage.calls();
    assert_eq!(answers.matches("user-only").count(), 5, "{answers}");
    assert_eq!(it.all_tasks(), [id]);
    assert!(it.forge.calls().is_empty());
}
