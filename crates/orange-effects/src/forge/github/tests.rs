//! Answers of GitHub, shortened from its own examples.

use orange_engine::forge::account::Account;
use orange_engine::forge::checks::CheckOutcome;
use orange_engine::forge::issue::IssueEventKind;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::Mergeability;
use orange_engine::language::gates::PullRequestState;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::checks::{CheckRunsPage, StatusPage};
use super::comments::CommentAnswer;
use super::issues::{EventAnswer, IssueAnswer};
use super::pull_requests::PullRequestAnswer;
use super::runs::{JobsPage, RunsPage};
use super::wire::{check_outcome, is_blocked, status_outcome};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn pull_request() -> Value {
    json!({
        "node_id": "MDExOlB1bGxSZXF1ZXN0MQ==", "number": 1347, "state": "open",
        "updated_at": "2011-01-26T19:01:12Z", "merged_at": null,
        "head": {"ref": "new-topic", "sha": "6dcb09b5", "repo": {"full_name": "octocat/Hello-World"}},
        "base": {"ref": "master"}
    })
}

#[test]
fn lesson_63_a_pull_request_needs_only_what_is_used() {
    let (source, facts) = read::<PullRequestAnswer>(pull_request()).into_facts();
    assert_eq!(source.repository.as_deref(), Some("octocat/Hello-World"));
    assert_eq!(facts.state, PullRequestState::Open);
    assert_eq!(facts.mergeability, Knowledge::Unknown);
    assert_eq!(facts.review, Knowledge::Unknown);
    assert!(!facts.is_draft);
}

#[test]
fn lesson_61_deleted_forks_and_accounts_are_read() {
    let mut answer = pull_request();
    answer["head"]["repo"] = Value::Null;
    answer["draft"] = Value::Null;
    let (source, _) = read::<PullRequestAnswer>(answer).into_facts();
    assert_eq!(source.repository, None);
    let issue = json!({
        "node_id": "MDU6SXNzdWUx", "number": 1, "title": "t", "body": null, "user": null,
        "state": "open", "labels": ["plain", {"name": "bug"}, {"name": null}],
        "updated_at": "2011-04-22T13:33:48Z"
    });
    let issue = read::<IssueAnswer>(issue).into_facts();
    assert_eq!(issue.author, None);
    assert_eq!(issue.body, "");
    assert_eq!(issue.labels, ["plain", "bug"]);
    let comment = json!({
        "id": 1, "node_id": "x", "user": null, "created_at": "2011-04-14T16:00:49Z"
    });
    assert_eq!(read::<CommentAnswer>(comment).into_facts().author, None);
}

#[test]
fn lesson_62_a_bot_in_rest_has_its_ending_removed() {
    let comment = json!({
        "id": 1, "node_id": "x", "user": {"login": "renovate[bot]", "type": "Bot"}, "body": "b",
        "created_at": "2011-04-14T16:00:49Z"
    });
    let author = read::<CommentAnswer>(comment).into_facts().author;
    assert_eq!(author, Some(Account::new("renovate", true)));
}

#[test]
fn lesson_60_only_a_dirty_pull_request_conflicts() {
    let with = |mergeable: Value, state: &str| {
        let mut answer = pull_request();
        answer["mergeable"] = mergeable;
        answer["mergeable_state"] = json!(state);
        let (_, facts) = read::<PullRequestAnswer>(answer).into_facts();
        (facts.mergeability, facts.is_blocked)
    };
    let conflict = Knowledge::Known(Mergeability::Conflicting);
    let clean = Knowledge::Known(Mergeability::Clean);
    assert_eq!(
        with(json!(false), "dirty"),
        (conflict, Knowledge::Known(true))
    );
    assert_eq!(with(json!(true), "clean"), (clean, Knowledge::Known(false)));
    assert_eq!(
        with(json!(true), "blocked"),
        (clean, Knowledge::Known(true))
    );
    assert_eq!(with(json!(true), "draft"), (clean, Knowledge::Unknown));
    let unknown = (Knowledge::Unknown, Knowledge::Unknown);
    assert_eq!(with(Value::Null, "unknown"), unknown);
    assert_eq!(is_blocked(Some("A_NEW_WORD")), Knowledge::Unknown);
}

#[test]
fn a_merged_pull_request_is_not_merely_closed() {
    let mut answer = pull_request();
    answer["state"] = json!("closed");
    let (_, closed) = read::<PullRequestAnswer>(answer.clone()).into_facts();
    assert_eq!(closed.state, PullRequestState::Closed);
    answer["merged_at"] = json!("2011-01-26T19:01:12Z");
    let (_, merged) = read::<PullRequestAnswer>(answer).into_facts();
    assert_eq!(merged.state, PullRequestState::Merged);
}

#[test]
fn every_word_about_a_check_has_its_outcome() {
    for (conclusion, outcome) in [
        ("success", CheckOutcome::Passed),
        ("NEUTRAL", CheckOutcome::Passed),
        ("skipped", CheckOutcome::Skipped),
        ("cancelled", CheckOutcome::Cancelled),
        ("failure", CheckOutcome::Failed),
        ("TIMED_OUT", CheckOutcome::Failed),
        ("action_required", CheckOutcome::Failed),
        ("startup_failure", CheckOutcome::Failed),
        ("stale", CheckOutcome::Running),
        ("a_new_word", CheckOutcome::Failed),
    ] {
        assert_eq!(
            check_outcome("completed", Some(conclusion)),
            outcome,
            "{conclusion}"
        );
    }
    for status in ["queued", "IN_PROGRESS", "waiting", "requested"] {
        assert_eq!(
            check_outcome(status, None),
            CheckOutcome::Running,
            "{status}"
        );
    }
    assert_eq!(status_outcome("error"), CheckOutcome::Failed);
    assert_eq!(status_outcome("PENDING"), CheckOutcome::Running);
    assert_eq!(status_outcome("expected"), CheckOutcome::Expected);
}

#[test]
fn checks_runs_and_jobs_are_read() {
    let page = json!({"total_count": 1, "check_runs": [{
        "name": "mighty_readme", "status": "completed", "conclusion": "neutral",
        "started_at": "2018-05-04T01:14:52Z", "app": null
    }]});
    assert_eq!(
        read::<CheckRunsPage>(page).into_checks()[0].outcome,
        CheckOutcome::Passed
    );
    let page = json!({"state": "failure", "statuses": [
        {"context": "ci/jenkins", "state": "failure", "created_at": "2012-07-20T01:19:13Z"}
    ]});
    assert_eq!(
        read::<StatusPage>(page).into_checks()[0].outcome,
        CheckOutcome::Failed
    );
    let page = json!({"workflow_runs": [
        {"id": 30_433_642, "name": null, "head_sha": "acb5820c", "status": "queued", "conclusion": null}
    ]});
    assert_eq!(read::<RunsPage>(page).into_runs()[0].attempt, 1);
    let page = json!({"jobs": [{
        "id": 399_444_496, "name": "build", "status": "completed", "conclusion": "failure",
        "steps": [
            {"name": "Set up job", "status": "completed", "conclusion": "success"},
            {"name": "cargo test", "status": "completed", "conclusion": "failure"},
            {"name": "Upload", "status": "completed", "conclusion": "skipped"}
        ]
    }]});
    assert_eq!(
        read::<JobsPage>(page).into_jobs()[0].failed_steps,
        ["cargo test"]
    );
}

#[test]
fn who_set_a_label_is_read() {
    let event = json!({
        "event": "labeled", "actor": {"login": "octocat", "type": "User"},
        "created_at": "2011-04-14T16:00:49Z", "label": {"name": "bug", "color": "f29513"}
    });
    let event = read::<EventAnswer>(event).into_facts();
    assert_eq!(event.kind, IssueEventKind::Labeled(String::from("bug")));
    assert_eq!(event.actor, Some(Account::new("octocat", false)));
    let event = json!({"event": "mentioned", "actor": null, "created_at": "2011-04-14T16:00:49Z"});
    let event = read::<EventAnswer>(event).into_facts();
    assert_eq!((event.kind, event.actor), (IssueEventKind::Other, None));
}
