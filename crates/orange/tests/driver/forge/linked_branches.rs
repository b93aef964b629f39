//! A task's branch is linked to its issue before the first push.

use scripted_forge::Fault;
use serde_json::json;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

fn linked(it: &ForgeStage, number: u64) -> Vec<String> {
    let branches = it.forge.get(REPOSITORY, number).linked_branches;
    branches.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn the_branch_is_linked_before_the_first_push() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    for _ in 0..2 {
        it.stage.run_ok(&["task", "pr", id.as_str()]);
    }
    assert_eq!(linked(&it, number), ["work"]);
    assert_eq!(it.write_count("createLinkedBranch"), 1);
    let head = it.stage.git_output("repo", "rev-parse work");
    assert_eq!(it.forge.tip(REPOSITORY, "work"), Some(head));
    let link = it.stage.task(&id).pull_request.unwrap();
    let pull = it.forge.get(REPOSITORY, link.number);
    let line = format!("Closes #{number}");
    let lines = pull.body().lines().filter(|it| *it == line);
    assert_eq!(lines.count(), 1, "{}", pull.body());
}

#[test]
fn a_branch_that_cannot_be_linked_is_pushed_all_the_same() {
    for fault in [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::ServerError,
        Fault::PartialData,
    ] {
        let it = ForgeStage::new("minimal");
        let (id, number) = it.task_for_issue("reviewing");
        it.forge.fault("createLinkedBranch", 1, fault);
        it.stage.run_ok(&["task", "pr", id.as_str()]);
        it.stage.wait_until_idle(&id);
        let expected = usize::from(fault.takes_effect());
        assert_eq!(linked(&it, number).len(), expected, "{fault:?}");
        assert_eq!(it.pull_count(), 1, "{fault:?}");
        let head = it.stage.git_output("repo", "rev-parse work");
        assert_eq!(it.forge.tip(REPOSITORY, "work"), Some(head), "{fault:?}");
    }
}

#[test]
fn a_branch_that_is_there_is_left_as_it_is() {
    let it = ForgeStage::new("minimal");
    it.stage.configure("forge_issues_close", &json!(false));
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.git_output("repo", "push -q origin work");
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    assert_eq!(linked(&it, number), Vec::<String>::new());
    assert_eq!(it.write_count("createLinkedBranch"), 0);
    let link = it.stage.task(&id).pull_request.unwrap();
    let body = it.forge.get(REPOSITORY, link.number).body().to_owned();
    assert!(body.contains(&format!("For #{number}")), "{body}");
    assert!(!body.contains("Closes"), "{body}");
}
