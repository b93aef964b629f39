//! What stands at the issue of a task, and what it costs.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, wait_for};

#[test]
fn one_comment_is_written_and_edited_in_place() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("pending");
    assert_eq!(it.post(&id).changes, ["status comment written"]);
    let [text] = &it.comments(number)[..] else {
        panic!("{:?}", it.comments(number));
    };
    assert!(
        text.starts_with("### orange: waits to be started"),
        "{text}"
    );
    assert!(text.contains("| Branch | `work` |"), "{text}");
    assert!(!text.contains(&it.stage.path("").display().to_string()));
    // An answer of a person stays where it is.
    it.forge.comment(REPOSITORY, number, "ada", "Nice!");
    it.stage.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
    it.post_all(&id);
    let texts = it.comments(number);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("### orange: cancelled"), "{texts:?}");
    assert_eq!(texts[1], "Nice!");
    assert_eq!(it.write_count("issues/create-comment"), 1);
    assert_eq!(it.write_count("issues/update-comment"), 1);
    assert!(it.forge.get(REPOSITORY, number).is_open);
    assert_eq!(it.write_count("issues/update"), 0);
}

#[test]
fn an_unchanged_hour_costs_no_request_and_no_write() {
    let it = ForgeStage::new("minimal");
    let (id, _) = it.task_for_issue("reviewing");
    it.post_all(&id);
    let (calls, sequence) = (it.forge.calls().len(), it.stage.store().sequence().unwrap());
    let driver = it.stage.driver();
    for _ in 0..60 {
        let report = driver.requests.post_status(&id, true).unwrap().unwrap();
        assert!(report.changes.is_empty(), "{report:?}");
    }
    assert_eq!(it.forge.calls().len(), calls);
    assert_eq!(it.stage.store().sequence().unwrap(), sequence);
}

#[test]
fn orange_removes_only_the_label_that_it_set() {
    for is_foreign in [false, true] {
        let it = ForgeStage::new("minimal");
        let (id, number) = it.task_for_issue("reviewing");
        it.forge.label(REPOSITORY, number, "ada", "blocked");
        if is_foreign {
            it.forge.label(REPOSITORY, number, "ada", "needs-review");
        }
        it.post_all(&id);
        let labels = || it.forge.get(REPOSITORY, number).labels;
        assert_eq!(labels(), ["blocked", "needs-review"]);
        let added = usize::from(!is_foreign);
        assert_eq!(it.write_count("issues/add-labels"), added);
        it.stage.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
        it.post_all(&id);
        let left: &[&str] = if is_foreign {
            &["blocked", "needs-review"]
        } else {
            &["blocked"]
        };
        assert_eq!(labels(), left);
    }
}

#[test]
fn a_task_that_is_stuck_has_the_label_blocked() {
    let it = ForgeStage::new("default");
    let plan = "\
printf 'APPROACH: add a line\\nTOUCHING: work.txt\\n' | section Plan
ask task update --status working
ask task update --status stuck
";
    it.stage.script("worker-1", plan);
    let (id, number) = it.task_for_issue("pending");
    it.stage.run_ok(&["task", "spawn", id.as_str()]);
    it.stage.wait_for_status(&id, "stuck");
    it.stage.wait_until_idle(&id);
    it.post_all(&id);
    assert_eq!(it.forge.get(REPOSITORY, number).labels, ["blocked"]);
    let text = &it.comments(number)[0];
    assert!(
        text.starts_with("### orange: stuck, and needs a person"),
        "{text}"
    );
    assert!(text.contains("| Tokens | unknown until"), "{text}");
}

#[test]
fn lesson_92_an_issue_whose_work_is_merged_is_closed_once() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.post_all(&id);
    it.stage.run_ok(&["task", "merge", id.as_str(), "--yes"]);
    it.stage.wait_for_status(&id, "done");
    it.stage.wait_until_idle(&id);
    it.post_all(&id);
    let issue = it.forge.get(REPOSITORY, number);
    assert!(!issue.is_open);
    assert_eq!(issue.state_reason.as_deref(), Some("completed"));
    assert!(issue.labels.is_empty(), "{:?}", issue.labels);
    assert!(it.comments(number)[0].contains("| Result | merged"));
    assert_eq!(it.comments(number).len(), 1);
    it.forge.reopen(REPOSITORY, number, "ada");
    it.post_all(&id);
    assert!(it.forge.get(REPOSITORY, number).is_open);
    assert_eq!(it.write_count("issues/update"), 1);
    // Also when nothing here remembers that it was closed.
    it.stage.rebuild(&id);
    it.post_all(&id);
    assert!(it.forge.get(REPOSITORY, number).is_open);
    assert_eq!(it.comments(number).len(), 1);
}

#[test]
fn an_issue_that_the_pull_request_closed_and_a_person_reopened_stays_open() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    it.stage.run_ok(&["task", "merge", id.as_str(), "--yes"]);
    it.stage.wait_for_status(&id, "done");
    it.stage.wait_until_idle(&id);
    assert!(!it.forge.get(REPOSITORY, number).is_open, "by the forge");
    it.forge.reopen(REPOSITORY, number, "ada");
    it.post_all(&id);
    assert!(it.forge.get(REPOSITORY, number).is_open);
    assert_eq!(it.write_count("issues/update"), 0);
}

#[test]
fn lesson_74_no_check_is_posted() {
    let it = ForgeStage::new("minimal");
    let (id, _) = it.task_for_issue("reviewing");
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    it.post_all(&id);
    let writes = it.forge.writes();
    let operations = writes.iter().map(|it| it.operation.as_str());
    let operations: BTreeSet<&str> = operations.collect();
    let expected = BTreeSet::from([
        "createLinkedBranch",
        "issues/add-labels",
        "issues/create-comment",
        "issues/create-label",
        "pulls/create",
    ]);
    assert_eq!(operations, expected);
}

#[test]
fn twenty_processes_at_once_write_one_comment() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    let start = || {
        let mut orange = it.stage.orange(&["forge", "look", id.as_str()]);
        orange.stdout(Stdio::piped()).stderr(Stdio::piped());
        orange.spawn().unwrap()
    };
    let callers: Vec<_> = (0..20).map(|_| start()).collect();
    for caller in callers {
        let output = caller.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(it.comments(number).len(), 1);
    assert_eq!(it.write_count("issues/create-comment"), 1);
    assert_eq!(it.write_count("issues/add-labels"), 1);
    assert_eq!(it.write_count("issues/update-comment"), 0);
}

#[test]
fn two_comments_become_one_and_those_of_people_stay() {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("pending");
    it.post_all(&id);
    let text = it.comments(number)[0].clone();
    it.forge.user("eve");
    let quoted = format!("> {text}");
    it.forge.comment(REPOSITORY, number, "eve", &text);
    it.forge.comment(REPOSITORY, number, "ada", &quoted);
    it.forge.comment(REPOSITORY, number, "ada", &text);
    it.stage.rebuild(&id);
    it.post_all(&id);
    assert_eq!(it.comments(number), [text.clone(), text, quoted]);
    assert_eq!(it.write_count("issues/delete-comment"), 1);
    assert_eq!(it.write_count("issues/create-comment"), 1);
}

#[test]
fn secrets_do_not_leave() {
    let it = ForgeStage::new("minimal");
    let branch = format!("work-{}", it.token);
    let (id, number) = it.task_for_issue_on(&branch, "reviewing");
    it.post_all(&id);
    let text = &it.comments(number)[0];
    assert!(text.contains("[redacted]"), "{text}");
    assert!(!text.contains(&it.token), "{text}");
    let sent = it.forge.writes();
    let sent: Vec<String> = sent.iter().map(|it| it.input.to_string()).collect();
    assert!(!sent.iter().any(|sent| sent.contains(&it.token)));
}

/// The report of an agent is text that it may have copied from anywhere.
#[test]
fn secrets_in_a_report_do_not_leave() {
    let it = ForgeStage::new("autopilot");
    let key = format!("ghu_{}", "A1b2C3d4E5F6".repeat(3));
    let token = &it.token;
    let report = format!(
        r#"{{"status":"needs_review","summary":"my token is {token}, bye",
"accomplished":["wrote {key} to a file","said {token}{key}"],
"remaining":["remove \u001b[31m{key}\u001b[0m","and \"{token}\""]}}"#
    );
    let script = format!("commit one\ncat > \"$ORANGE_REPORT\" <<'JSON'\n{report}\nJSON\nexit 0\n");
    it.stage.script("worker-1", &script);
    let (id, number) = it.task_for_issue("new");
    it.stage
        .run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || it.stage.panes() == ["worker:1"]);
    it.stage
        .run_ok(&["task", "update", id.as_str(), "--priority", "1"]);
    it.stage.wait_for_status(&id, "needs_review");
    it.stage.wait_until_idle(&id);
    it.post_all(&id);
    let text = &it.comments(number)[0];
    for part in [
        "my token is [redacted], bye",
        "wrote [redacted] to a file",
        "- remove ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let sent = it.forge.writes();
    let sent: Vec<String> = sent.iter().map(|it| it.input.to_string()).collect();
    for secret in [token, &key] {
        assert!(!text.contains(secret), "{text}");
        assert!(!sent.iter().any(|sent| sent.contains(secret)), "{sent:?}");
    }
}

#[test]
fn many_changes_are_one_edit_per_interval() {
    let it = ForgeStage::new("minimal");
    let config = "[forge]\npoll = \"5s\"\ncold = \"5s\"\nshare = 100\n";
    fs::write(it.stage.path("home/config.toml"), config).unwrap();
    let number = it.forge.issue(REPOSITORY, "ada", "Fix it", "");
    let id = it.stage.create(&["--issue", "1"]);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for("a comment", || !it.comments(number).is_empty());
    let written = Instant::now();
    for change in 0..8 {
        let branch = format!("branch-{change}");
        it.stage
            .run_ok(&["task", "update", id.as_str(), "--branch", &branch]);
    }
    wait_for("the last change", || {
        it.comments(number)[0].contains("| Branch | `branch-7` |")
    });
    let intervals = written.elapsed().as_secs() / 5;
    let edits = it.write_count("issues/update-comment");
    let most = usize::try_from(intervals).unwrap() + 1;
    assert!((1..=most).contains(&edits), "{edits} edits, {most} allowed");
    assert_eq!(it.comments(number).len(), 1);
}

#[test]
fn what_is_turned_off_is_not_posted() {
    let it = ForgeStage::new("minimal");
    it.stage.configure("forge_issues_comment", &json!("none"));
    let (id, number) = it.task_for_issue("reviewing");
    it.stage.run_ok(&["task", "merge", id.as_str(), "--yes"]);
    it.stage.wait_for_status(&id, "done");
    it.stage.configure("forge_issues_close", &json!(false));
    let driver = it.stage.driver();
    assert_eq!(driver.requests.post_status(&id, true).unwrap(), None);
    assert_eq!(it.forge.calls().len(), 0);
    it.stage.configure("forge_issues_close", &json!(true));
    it.post_all(&id);
    let issue = it.forge.get(REPOSITORY, number);
    assert!(!issue.is_open && issue.comments.is_empty() && issue.labels.is_empty());
    let none = it.stage.create(&["Add a line"]);
    assert_eq!(driver.requests.post_status(&none, true).unwrap(), None);
}

#[test]
fn the_supervisor_posts_by_itself_and_then_rests() {
    let it = ForgeStage::new("minimal");
    let config = "[forge]\npoll = \"1s\"\ncold = \"1s\"\nshare = 100\n";
    fs::write(it.stage.path("home/config.toml"), config).unwrap();
    let (id, number) = it.task_for_issue("reviewing");
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for("a comment", || !it.comments(number).is_empty());
    it.stage.run_ok(&["task", "cancel", id.as_str(), "--yes"]);
    wait_for("the last words", || {
        it.comments(number)[0].starts_with("### orange: cancelled")
    });
    wait_for("no label", || {
        it.forge.get(REPOSITORY, number).labels.is_empty()
    });
    assert_eq!(it.comments(number).len(), 1);
    // Another task's change wakes it, and costs nothing here.
    let calls = it.forge.count("issues/get");
    let other = it.stage.create(&["Add another line"]);
    it.stage
        .run_ok(&["task", "cancel", other.as_str(), "--yes"]);
    let before = it.forge.calls().len();
    it.stage.run_ok(&["forge", "look", id.as_str()]);
    assert!(
        it.forge.calls().len() > before,
        "the look asked about a request"
    );
    assert_eq!(it.forge.count("issues/get"), calls);
}
