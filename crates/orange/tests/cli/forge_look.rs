//! `orange forge look`.

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use scripted_forge::Fault;

#[test]
fn a_look_links_what_it_finds_and_says_what_it_sees() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let none = it.stage.run_ok(&["forge", "look"]);
    assert!(none.contains("no pull request"), "{none}");
    let branch = format!("orange-tasks/{id}");
    it.stage
        .git_output("repo", &format!("push -q origin {branch}"));
    let number = it.forge.pull(REPOSITORY, &branch);
    it.look(&id);
    assert_eq!(it.stage.task(&id).pull_request.unwrap().number, number);
    let seen = it.stage.run_ok(&["forge", "look", id.as_str()]);
    assert!(seen.contains(&format!("{id}: #1 is open")), "{seen}");
}

#[test]
fn a_look_that_fails_says_why() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    it.forge.fault_always("graphql", Fault::BadGateway);
    let (code, output) = it.stage.call(&["forge", "look", id.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("502"), "{output}");
    it.forge.clear_faults();
    it.stage.run_ok(&["forge", "look", id.as_str()]);
}

#[test]
fn a_look_brings_the_status_at_the_issue_up_to_date() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("pending");
    let (code, report) = it.stage.json(&["forge", "look", "--json"]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["posts"][0]["changes"][0], "status comment written");
    it.stage.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
    // A task that has ended is not looked at, but its last status is posted.
    let text = it.stage.run_ok(&["forge", "look"]);
    let expected = format!("{id}: issue #{number}: status comment updated");
    assert!(text.contains(&expected), "{text}");
    it.forge
        .fault_always("issues/create-comment", Fault::BadGateway);
    let (other, _) = it.task_for_issue_on("other", "pending");
    let (code, text) = it.stage.call(&["forge", "look", other.as_str()]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("502"), "{text}");
}
