//! A pull request is opened once, whatever happens.

use std::process::Stdio;

use scripted_forge::Fault;
use serde_json::json;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

#[test]
fn a_pull_request_is_opened_pushed_again_and_marked_as_ready() {
    let it = ForgeStage::new("minimal");
    it.stage.git_output("repo", "checkout -q main");
    std::fs::create_dir(it.stage.path("repo/.github")).unwrap();
    let template = it.stage.path("repo/.github/pull_request_template.md");
    std::fs::write(template, "## Checklist\n").unwrap();
    it.stage.git_output("repo", "add -A");
    it.stage.git_output("repo", "commit -qm template");
    it.stage.git_output("repo", "push -q origin main");
    it.stage.configure("forge_labels", &json!(["orange"]));
    let id = it.reviewed_task();
    let (code, answer) = it.stage.json(&["task", "pr", id.as_str(), "--json"]);
    assert_eq!(code, 0, "{answer}\n{}", it.stage.diagnostics(&id));
    let link = it.stage.task(&id).pull_request.unwrap();
    assert_eq!(link.number, 1);
    assert_eq!(link.url, "https://github.com/ada/app/pull/1");
    assert_eq!(it.stage.task(&id).status.as_str(), "reviewing");
    let opened = it.forge.get(REPOSITORY, 1);
    let pull = opened.pull.as_ref().unwrap();
    assert_eq!(pull.head_sha, it.head_of_branch(&id));
    assert!(pull.draft);
    assert_eq!(opened.title(), "Add a line");
    let body = opened.body();
    assert!(body.starts_with("DONE: a line"), "{body}");
    assert!(body.contains("## Checklist"), "{body}");
    assert!(
        body.contains("[redacted]") && !body.contains("sk-ant"),
        "{body}"
    );
    assert!(opened.labels.iter().any(|it| it == "orange"));
    // New commits are pushed to the same one.
    let worktree = it.stage.worktree(&id);
    let more = it
        .stage
        .git_in(&worktree, "commit -q --allow-empty -m more");
    assert!(more.status.success());
    it.stage.run_ok(&["task", "pr", id.as_str(), "--ready"]);
    assert_eq!(it.pull_count(), 1);
    let pull = it.forge.get(REPOSITORY, 1).pull.unwrap();
    assert_eq!(pull.head_sha, it.head_of_branch(&id));
    assert!(!pull.draft);
    let (_, shown) = it.stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(shown["pull_request"]["number"], 1, "{shown}");
}

#[test]
fn twenty_calls_at_once_open_one() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let start = || {
        let mut orange = it.stage.orange(&["task", "pr", id.as_str()]);
        orange.stdout(Stdio::null()).stderr(Stdio::null());
        orange.spawn().unwrap()
    };
    let mut callers: Vec<_> = (0..20).map(|_| start()).collect();
    for caller in &mut callers {
        caller.wait().unwrap();
    }
    it.stage.wait_until_idle(&id);
    assert_eq!(it.pull_count(), 1);
    assert_eq!(it.stage.task(&id).pull_request.unwrap().number, 1);
}

#[test]
fn a_branch_with_a_secret_in_its_name_is_not_pushed() {
    let it = ForgeStage::new("minimal");
    let secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let (id, _) = it.task_for_issue_on(&format!("fix-{secret}"), "reviewing");
    let (code, text) = it.stage.call(&["task", "pr", id.as_str()]);
    assert_ne!(code, 0, "{text}");
    let command = format!("`orange task update {id} --branch NAME`");
    assert!(
        text.contains("fix-[redacted]") && text.contains(&command),
        "{text}"
    );
    assert!(!text.contains(secret), "{text}");
    let branches = |it: &ForgeStage| {
        let forge = it
            .forge
            .look(|world| world.repository("ada", "app").unwrap().branches.clone());
        forge.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(branches(&it), ["main"]);
    assert_eq!(it.forge.writes().len(), 0);
    // The command in the message helps.
    it.stage
        .run_ok(&["task", "update", id.as_str(), "--branch", "fix"]);
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    assert_eq!(branches(&it), ["fix", "main"]);
    assert_eq!(it.pull_count(), 1);
}

#[test]
fn one_made_elsewhere_is_adopted() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let branch = format!("orange-tasks/{id}");
    it.stage
        .git_output("repo", &format!("push -q origin {branch}"));
    let number = it.forge.pull(REPOSITORY, &branch);
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    assert_eq!(it.pull_count(), 0);
    assert_eq!(it.stage.task(&id).pull_request.unwrap().number, number);
}

#[test]
fn an_answer_that_is_lost_opens_no_second_one() {
    for fault in [Fault::CutBefore, Fault::CutAfter] {
        let it = ForgeStage::new("minimal");
        let id = it.reviewed_task();
        it.forge.fault("pulls/create", 1, fault);
        it.stage.run_ok(&["task", "pr", id.as_str()]);
        it.stage.wait_until_idle(&id);
        assert_eq!(it.pull_count(), 1);
        assert_eq!(it.stage.task(&id).pull_request.unwrap().number, 1);
    }
}

#[test]
fn commits_of_others_are_not_replaced() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let branch = format!("orange-tasks/{id}");
    it.forge
        .commit(REPOSITORY, &branch, &[("theirs.txt", "theirs\n")]);
    let theirs = it.forge.tip(REPOSITORY, &branch);
    let (code, text) = it.stage.call(&["task", "pr", id.as_str()]);
    assert_ne!(code, 0, "{text}");
    assert!(text.contains("rejected"), "{text}");
    assert_eq!(it.forge.tip(REPOSITORY, &branch), theirs);
    assert_eq!(it.pull_count(), 0);
}
