//! `orange issue approve`.

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

#[test]
fn an_approved_issue_becomes_a_task() {
    let it = ForgeStage::new("minimal");
    it.stage.script("worker-1", "true");
    it.forge.user("eve");
    let number = it
        .forge
        .issue(REPOSITORY, "eve", "Fix the door", "It squeaks");
    let number = number.to_string();
    let output = it.stage.run_ok(&["issue", "approve", &number]);
    let [id] = it.all_tasks().try_into().unwrap();
    assert!(output.contains(id.as_str()), "{output}");
    it.stage.wait_for_status(&id, "working");
    let task = it.stage.task(&id);
    assert_eq!(task.summary, "Fix the door");
    assert_eq!(task.issue.unwrap().number, 1);
    // The same issue has a task now.
    let (code, answer) = it.stage.json(&["issue", "approve", &number, "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "issue-taken", "{answer}");
    assert_eq!(it.all_tasks().len(), 1);
}

#[test]
fn consent_alone_starts_nothing_without_a_supervisor() {
    let it = ForgeStage::new("minimal");
    it.forge.user("eve");
    it.forge
        .issue(REPOSITORY, "eve", "Fix the door", "It squeaks");
    let (code, answer) = it
        .stage
        .json(&["issue", "approve", "1", "--no-start", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["decision"], "approved");
    assert!(it.all_tasks().is_empty());
    let listed = it.stage.run_ok(&["issue", "list"]);
    assert!(listed.contains("ready: you approved it"), "{listed}");
    // Another text has no consent.
    it.forge
        .rewrite(REPOSITORY, 1, "eve", "Fix the door", "Do evil");
    let listed = it.stage.run_ok(&["issue", "list"]);
    assert!(listed.contains("not started"), "{listed}");
}
