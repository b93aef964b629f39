//! What stands at the issue of a task, by status.

use std::collections::BTreeSet;

use orange_engine::forge::account::Account;
use orange_engine::forge::issue::{IssueLink, Revision};
use orange_engine::forge::pull_request::PullRequestLink;
use orange_engine::forge::status_comment::{
    IssueStatus, StatusFacts, StatusLabel, is_status_comment, refusal_notice,
};
use orange_engine::forge::text::MAX_TEXT;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{BranchName, TaskId};
use orange_engine::report::Report;
use orange_engine::task::Task;
use orange_engine::time::Timestamp;
use orange_engine::usage::{Cost, RunUsage, Usage};

use crate::fixtures::{World, new_task, shipped_workflow, status};

fn link() -> IssueLink {
    IssueLink {
        number: 7,
        id: String::from("I_7"),
        url: String::from("https://github.com/ada/app/issues/7"),
        revision: Revision::from_text("one"),
    }
}

fn task(name: &str) -> Task {
    let workflow = shipped_workflow("github");
    let mut new = new_task("Add a line", None);
    new.issue = Some(link());
    let mut task = World::create(&workflow, &new).unwrap().task;
    task.status = status(name);
    task
}

fn posted_with(task: &Task, usage: &Usage) -> IssueStatus {
    let workflow = shipped_workflow("github");
    let facts = StatusFacts {
        task,
        workflow: &workflow,
        created: Timestamp::from_millis(0),
        usage,
        folders: &[String::from("/home/ada/app")],
    };
    facts.issue_status()
}

fn posted(task: &Task) -> IssueStatus {
    posted_with(task, &Usage::default())
}

#[test]
fn the_words_and_labels_follow_the_status() {
    let cases = [
        ("pending", "waits to be started", None),
        ("working", "an agent works on it", None),
        ("checking", "waits", None),
        (
            "clarification",
            "an agent has a question",
            Some(StatusLabel::Blocked),
        ),
        ("stuck", "stuck, and needs", Some(StatusLabel::Blocked)),
        (
            "reviewing",
            "waits for a person's review",
            Some(StatusLabel::NeedsReview),
        ),
        ("cancelled", "cancelled", None),
    ];
    for (name, words, label) in cases {
        let posted = posted(&task(name));
        let heading = format!("### orange: {words}");
        assert!(posted.comment.starts_with(&heading), "{}", posted.comment);
        let expected: BTreeSet<StatusLabel> = label.into_iter().collect();
        assert_eq!(posted.labels, expected, "{name}");
        assert!(!posted.is_closed, "{name}");
        assert!(posted.comment.contains(&format!("| Status | `{name}` |")));
    }
}

#[test]
fn trouble_sets_a_label_and_a_refused_post_does_not() {
    let mut task = task("working");
    task.attention = vec![refusal_notice(&link(), "the label `blocked`", "403")];
    assert_eq!(posted(&task).labels, BTreeSet::new());
    task.attention.push(String::from("the merge failed"));
    assert_eq!(posted(&task).labels, BTreeSet::from([StatusLabel::Blocked]));
    task.status = status("done");
    assert_eq!(posted(&task).labels, BTreeSet::new());
}

#[test]
fn only_a_merge_closes_the_issue() {
    let mut task = task("done");
    task.entered.trigger = Some(Trigger::Request);
    assert!(!posted(&task).is_closed);
    for trigger in [Trigger::Merged, Trigger::PrMerged] {
        task.entered.trigger = Some(trigger);
        assert!(posted(&task).is_closed);
    }
    task.status = status("cancelled");
    task.entered.trigger = Some(Trigger::Request);
    let cancelled = posted(&task);
    assert!(!cancelled.is_closed);
    assert!(
        cancelled
            .comment
            .contains("| Result | nothing was merged |")
    );
}

#[test]
fn what_is_unknown_is_said_as_unknown() {
    let mut task = task("reviewing");
    let mut usage = Usage::default();
    usage.add_run(&RunUsage::default(), 61, false);
    let text = posted_with(&task, &usage).comment;
    for row in [
        "| Tokens | unknown |",
        "| Cost | unknown |",
        "| Model | unknown |",
    ] {
        assert!(text.contains(row), "{text}");
    }
    task.agent_settings.model = Some(String::from("a`b|c"));
    task.pull_request = Some(PullRequestLink {
        number: 3,
        id: String::from("PR_3"),
        url: String::new(),
        is_outside: false,
    });
    let run = RunUsage {
        input_tokens: Some(1000),
        output_tokens: Some(100),
        cost: Cost::from_dollars(0.25),
        ..RunUsage::default()
    };
    let mut usage = Usage::default();
    usage.add_run(&run, 3600, false);
    let text = posted_with(&task, &usage).comment;
    for row in [
        "| Tokens | 1100 |",
        "| Cost | 0.25 USD |",
        "| Model | `a b c` |",
        "| Pull request | #3 |",
    ] {
        assert!(text.contains(row), "{text}");
    }
}

#[test]
fn a_report_cannot_mention_refer_or_end_its_fence() {
    let mut task = task("reviewing");
    let other = "<!-- orange:zzzz/status -->";
    task.report = Some(Report {
        summary: format!("Done ``` @everyone {other}"),
        accomplished: vec![String::from("wrote /home/ada/app/src/x.rs\n\n## Heading")],
        remaining: vec![String::from("closes #1\u{1b}[31m")],
        ..Report::default()
    });
    task.branch = BranchName::new("a`b|c");
    let text = posted(&task).comment;
    assert!(!text.contains(other), "{text}");
    assert!(!text.contains("/home/ada"), "{text}");
    assert!(
        text.contains("- wrote …/src/x.rs ## Heading\n```"),
        "{text}"
    );
    assert!(text.contains("````text\nDone ``` @everyone"), "{text}");
    assert!(text.contains("| Branch | `a b c` |"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn lesson_86_the_longest_report_leaves_room_for_the_marker() {
    let mut task = task("reviewing");
    let long = vec!["🍊".repeat(10_000); 1000];
    task.report = Some(Report {
        summary: "🍊".repeat(100_000),
        accomplished: long.clone(),
        remaining: long,
        ..Report::default()
    });
    let text = posted(&task).comment;
    let units: usize = text.chars().map(char::len_utf16).sum();
    assert!(units < MAX_TEXT / 2, "{units}");
    assert!(text.ends_with("<!-- orange:k3f9/status -->"));
    assert!(text.contains("- and 980 more"));
}

#[test]
fn a_status_comment_is_known_by_its_form_its_author_and_its_task() {
    let own = Account::new("ada", false);
    let other = Account::new("eve", false);
    let id = TaskId::new("k3f9");
    let text = posted(&task("working")).comment;
    assert!(is_status_comment(&text, Some(&own), &own, &id));
    assert!(!is_status_comment(&text, Some(&other), &own, &id));
    assert!(!is_status_comment(&text, None, &own, &id));
    let another = TaskId::new("zzzz");
    assert!(!is_status_comment(&text, Some(&own), &own, &another));
    let quoted = format!("> {text}");
    assert!(!is_status_comment(&quoted, Some(&own), &own, &id));
    let answered = format!("{text}\n\nThanks!");
    assert!(!is_status_comment(&answered, Some(&own), &own, &id));
}

#[test]
fn an_unchanged_task_gives_the_same_text() {
    let task = task("working");
    let (one, two) = (posted(&task), posted(&task));
    assert_eq!(one.comment_digest(), two.comment_digest());
    let changed = posted(&Task {
        status: status("reviewing"),
        ..task
    });
    assert_ne!(one.comment_digest(), changed.comment_digest());
}
