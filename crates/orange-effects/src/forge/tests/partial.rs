//! Answers of which a part is missing: what is missing is unknown.

use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::ChunkSize;
use orange_engine::forge::pull_request::PullRequest;
use orange_engine::names::BranchName;
use orange_engine::time::Timestamp;
use serde_json::{Value, json};

use super::graph::{empty, node, page, run};
use super::server::{Reply, Server, answer};
use super::{client, repository};
use crate::forge::error::{ForgeError, Trouble};
use crate::forge::github::details::{Details, fetch_details};
use crate::forge::github::glance::fetch_glance;
use crate::forge::github::{Repository, mutations};

fn forbidden(path: &Value) -> Value {
    json!([{"type": "FORBIDDEN", "message": "Resource not accessible", "path": path}])
}

fn reply(data: &Value, errors: &Value) -> Reply {
    answer(200, &json!({"data": data, "errors": errors}).to_string())
}

/// The pull request that a glance returns when the answer has `null` fields and these errors.
fn glance(errors: &Value) -> PullRequest {
    let errors = errors.clone();
    let server = Server::start(move |_| reply(&json!({"nodes": [node("PR_1")]}), &errors));
    let mut chunk = ChunkSize::new(50, Timestamp::from_millis(0));
    let ids = [String::from("PR_1")];
    let mut found = fetch_glance(&mut client(&server), &ids, &mut chunk);
    found.seen.remove("PR_1").unwrap()
}

#[test]
fn lesson_59_a_field_that_an_error_names_is_unknown() {
    let whole = glance(&Value::Null);
    assert_eq!(
        (whole.review, whole.rollup),
        (Knowledge::None, Knowledge::None)
    );
    let hidden = glance(&forbidden(&json!(["nodes", 0, "statusCheckRollup"])));
    assert_eq!(
        (hidden.review, hidden.rollup),
        (Knowledge::None, Knowledge::Unknown)
    );
    // If a value that must not be `null` is missing, GraphQL makes the object around it `null`.
    let below = glance(&forbidden(&json!([
        "nodes",
        0,
        "statusCheckRollup",
        "state"
    ])));
    assert_eq!(below.rollup, Knowledge::Unknown);
    let review = glance(&forbidden(&json!(["nodes", 0, "reviewDecision"])));
    assert_eq!(review.review, Knowledge::Unknown);
    // A second error about the same part affects no other part.
    let part = forbidden(&json!(["nodes", 0, "statusCheckRollup", "state"]));
    let twice = glance(&json!([part[0], part[0]]));
    assert_eq!(
        (twice.review, twice.rollup),
        (Knowledge::None, Knowledge::Unknown)
    );
    // An error that points to no existing place may be about any `null`.
    for nowhere in [json!(null), json!([]), json!(["elsewhere"])] {
        let doubtful = glance(&forbidden(&nowhere));
        assert_eq!(
            (doubtful.review, doubtful.rollup),
            (Knowledge::Unknown, Knowledge::Unknown),
            "{nowhere}"
        );
    }
}

#[test]
fn a_head_repository_that_an_error_names_is_not_a_deleted_fork() {
    let server = Server::start(|_| {
        let mut found = node("PR_1");
        found["headRefName"] = json!("fix");
        found["headRepository"] = Value::Null;
        let list = json!({"pageInfo": {"hasNextPage": false}, "nodes": [found]});
        let path = json!(["repository", "pullRequests", "nodes", 0, "headRepository"]);
        reply(
            &json!({"repository": {"pullRequests": list}}),
            &forbidden(&path),
        )
    });
    let mut client = client(&server);
    let mut repository = Repository::new(&mut client, &repository());
    let found = repository.probe_branch(&BranchName::new("fix")).unwrap();
    assert!(!found.is_complete);
    assert_eq!(found.items.len(), 0);
}

fn details(contexts: Value, errors: Value) -> Details {
    let server = Server::start(move |_| {
        let node = json!({"headRefOid": "aaa", "statusCheckRollup": contexts,
            "reviewThreads": empty(), "reviews": empty(), "comments": empty()});
        reply(&json!({ "node": node }), &errors)
    });
    fetch_details(&mut client(&server), "PR_1").unwrap()
}

#[test]
fn lesson_64_checks_that_an_error_hides_are_not_absent() {
    let none = details(Value::Null, Value::Null);
    assert_eq!(
        (none.rollup, none.are_checks_complete),
        (Knowledge::None, true)
    );
    let path = json!(["node", "statusCheckRollup"]);
    let hidden = details(Value::Null, forbidden(&path));
    assert_eq!(
        (hidden.rollup, hidden.are_checks_complete),
        (Knowledge::Unknown, false)
    );
}

#[test]
fn a_kind_of_check_that_is_not_known_makes_the_checks_incomplete() {
    let checks = |extra: Value| {
        let contexts = page(&json!([run("a"), extra]), None);
        details(
            json!({"state": "SUCCESS", "contexts": contexts}),
            Value::Null,
        )
    };
    assert!(checks(run("b")).are_checks_complete);
    let odd = checks(json!({"__typename": "DeploymentContext", "name": "x"}));
    assert_eq!((odd.checks.len(), odd.are_checks_complete), (1, false));
}

fn mark_ready(data: Value, errors: Value) -> Result<(), ForgeError> {
    let server = Server::start(move |_| reply(&data, &errors));
    mutations::mark_ready(&mut client(&server), "PR_1")
}

#[test]
fn lesson_84_a_change_that_is_answered_with_data_and_errors_may_have_taken_effect() {
    let name = "markPullRequestReadyForReview";
    let made = json!({name: {"pullRequest": {"id": "PR_1"}}});
    let nothing = json!({ name: null });
    for (data, path) in [
        (&made, json!(null)),
        (&made, json!([name, "pullRequest", "title"])),
        // The change was made, but its result could not be returned.
        (&nothing, json!([name, "pullRequest", "id"])),
        (&Value::Null, json!([name, "pullRequest", "id"])),
    ] {
        let error = mark_ready(data.clone(), forbidden(&path)).unwrap_err();
        assert!(
            matches!(error.trouble, Trouble::Malformed { .. }),
            "{error}"
        );
        assert!(error.may_have_taken_effect(), "{path}");
        assert!(error.to_string().contains("Resource not accessible"));
    }
    let refused = mark_ready(nothing, forbidden(&json!([name]))).unwrap_err();
    assert!(matches!(refused.trouble, Trouble::Forbidden { .. }));
    assert!(!refused.may_have_taken_effect());
    mark_ready(made, Value::Null).unwrap();
}

#[test]
fn errors_of_another_form_are_heard() {
    let refused = mark_ready(Value::Null, json!("it is broken")).unwrap_err();
    assert!(refused.to_string().contains("it is broken"), "{refused}");
}
