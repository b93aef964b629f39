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
