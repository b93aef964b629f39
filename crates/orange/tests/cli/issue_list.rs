//! `orange issue list`.

use scripted_forge::{Fault, Permission};

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

#[test]
fn each_issue_is_listed_with_the_reason() {
    let it = ForgeStage::new("minimal");
    it.read_issues_with("agent");
    it.forge.user("eve");
    let good = it
        .forge
        .issue(REPOSITORY, "eve", "Fix the door", "It squeaks");
    it.forge.label(REPOSITORY, good, "ada", "agent");
    let bad = it
        .forge
        .issue_by_form(REPOSITORY, "eve", "Do evil", &["agent"]);
    it.forge.issue(REPOSITORY, "eve", "A question", "Why?");
    let listed = it.stage.run_ok(&["issue", "list"]);
    let lines: Vec<&str> = listed.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            format!("#{good} Fix the door"),
            String::from("ready: ada set the label"),
            format!("#{bad} Do evil"),
            String::from("not started: eve set the label and may not write to the repository"),
        ]
    );
    let (code, answer) = it.stage.json(&["issue", "list", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["issues"][0]["verdict"]["outcome"], "consent");
    assert_eq!(answer["issues"][1]["verdict"]["outcome"], "refused");
    // Listing starts nothing.
    assert!(it.all_tasks().is_empty());
}

#[test]
fn without_the_setting_every_open_issue_is_listed() {
    let it = ForgeStage::new("minimal");
    it.forge.user("eve");
    it.forge.allow(REPOSITORY, "eve", Permission::Write);
    let number = it.forge.issue(REPOSITORY, "eve", "A question", "Why?");
    it.forge.label(REPOSITORY, number, "eve", "agent");
    let listed = it.stage.run_ok(&["issue", "list"]);
    assert!(listed.contains("A question"), "{listed}");
    assert!(listed.contains("it does not have the label"), "{listed}");
}

#[test]
fn issues_that_cannot_be_read_are_an_error() {
    let it = ForgeStage::new("minimal");
    it.forge
        .fault_always("issues/list-for-repo", Fault::BadGateway);
    let (code, answer) = it.stage.json(&["issue", "list", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "issues-unread", "{answer}");
    it.forge.clear_faults();
    let listed = it.stage.run_ok(&["issue", "list"]);
    assert!(listed.contains("no issue can become a task"), "{listed}");
}
