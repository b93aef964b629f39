//! Queries: partial answers, chunks and pages.

use orange_engine::forge::checks::CheckOutcome;
use orange_engine::forge::pace::ChunkSize;
use orange_engine::names::BranchName;
use orange_engine::time::Timestamp;
use serde_json::{Value, json};

use super::server::{Reply, Server, answer, answer_with};
use super::{client, repository};
use crate::forge::error::Trouble;
use crate::forge::github::Repository;
use crate::forge::github::details::fetch_details;
use crate::forge::github::glance::{Glance, fetch_glance};

pub fn node(id: &str) -> Value {
    json!({
        "id": id, "number": 1, "state": "OPEN", "isDraft": false, "headRefOid": "aaa",
        "baseRefName": "main", "mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN",
        "reviewDecision": null, "updatedAt": "2026-01-02T03:04:05Z", "isInMergeQueue": false,
        "statusCheckRollup": null
    })
}

fn ids(request: &str) -> Vec<String> {
    let request: Value = serde_json::from_str(request).unwrap();
    serde_json::from_value(request["variables"]["ids"].clone()).unwrap()
}

fn data(data: &Value) -> Reply {
    answer(200, &json!({ "data": data }).to_string())
}

/// A forge that takes at most `most` ids and does not show `hidden`.
fn forge(most: usize) -> Server {
    Server::start(move |request| {
        let ids = ids(&request.body);
        if ids.len() > most {
            return answer(502, "");
        }
        let nodes: Vec<Value> = ids
            .iter()
            .map(|id| match id.as_str() {
                "hidden" => Value::Null,
                "issue" => json!({}),
                id => node(id),
            })
            .collect();
        let errors = json!([{"type": "NOT_FOUND", "path": ["nodes", 1], "message": "m"}]);
        let limit =
            json!({"cost": 1, "limit": 5000, "remaining": 4999, "resetAt": "2026-01-02T04:00:00Z"});
        let mut body = json!({"data": {"nodes": nodes, "rateLimit": limit}});
        if ids.iter().any(|it| it == "hidden") {
            body["errors"] = errors;
        }
        answer(200, &body.to_string())
    })
}

fn glance(server: &Server, ids: &[String]) -> Glance {
    let mut chunk = ChunkSize::new(50, Timestamp::from_millis(0));
    fetch_glance(&mut client(server), ids, &mut chunk)
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|it| format!("PR_{it}")).collect()
}

#[test]
fn many_pull_requests_take_a_request_per_fifty() {
    for (count, requests) in [(50, 1), (500, 10), (5000, 100)] {
        let found = glance(&forge(50), &many(count));
        assert_eq!((found.requests, found.cost), (requests, requests));
        assert_eq!((found.seen.len(), found.unknown.len()), (count, 0));
    }
}

#[test]
fn lesson_54_a_request_that_is_too_much_is_halved() {
    let found = glance(&forge(20), &many(50));
    // 50 and 25 are refused, then 12 at a time.
    assert_eq!(found.requests, 2 + 5);
    assert_eq!((found.seen.len(), found.failure), (50, None));
    let stopped = glance(&forge(0), &many(3));
    assert_eq!((stopped.seen.len(), stopped.unknown.len()), (0, 3));
    assert!(stopped.failure.unwrap().contains("502"));
}

#[test]
fn lesson_55_one_hidden_pull_request_does_not_hide_the_others() {
    let ids = ["PR_1", "hidden", "issue", "PR_2"].map(String::from);
    let found = glance(&forge(50), &ids);
    let seen: Vec<&String> = found.seen.keys().collect();
    assert_eq!(seen, ["PR_1", "PR_2"]);
    assert_eq!(found.unknown, ["hidden", "issue"]);
    assert_eq!(found.failure, None);
}

#[test]
fn lesson_48_a_quota_error_in_an_answer_ends_the_looks() {
    let server = Server::start(|_| {
        let body =
            "{\"data\":{\"nodes\":[]},\"errors\":[{\"type\":\"RATE_LIMITED\",\"message\":\"m\"}]}";
        answer_with(200, &[("x-ratelimit-reset", "3600")], body)
    });
    let found = glance(&server, &many(200));
    assert_eq!((found.requests, found.unknown.len()), (1, 200));
    assert!(
        found
            .failure
            .unwrap()
            .contains("quota used up until 1970-01-01T01:00:00")
    );
}

#[test]
fn a_pull_request_of_a_deleted_fork_is_found() {
    let probe = |others: &[Value]| {
        let mut found = node("PR_1");
        found["headRefName"] = json!("fix");
        found["headRepository"] = Value::Null;
        let nodes = [&[found], others].concat();
        let list = json!({"pageInfo": {"hasNextPage": false}, "nodes": nodes});
        let server = Server::start(move |_| data(&json!({"repository": {"pullRequests": list}})));
        let mut client = client(&server);
        let mut repository = Repository::new(&mut client, &repository());
        repository.probe_branch(&BranchName::new("fix")).unwrap()
    };
    let found = probe(&[]);
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].0.repository, None);
    assert!(found.is_complete);
    // A candidate that is hidden may be the right one.
    for hidden in [Value::Null, json!({"headRefName": "fix"})] {
        let found = probe(&[hidden]);
        assert_eq!((found.items.len(), found.is_complete), (1, false));
    }
}

pub fn empty() -> Value {
    json!({"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": []})
}

pub fn page(nodes: &Value, next: Option<&str>) -> Value {
    json!({"pageInfo": {"hasNextPage": next.is_some(), "endCursor": next}, "nodes": nodes})
}

pub fn run(name: &str) -> Value {
    json!({"__typename": "CheckRun", "name": name, "status": "COMPLETED", "conclusion": "SUCCESS",
        "startedAt": "2026-01-02T03:04:05Z", "isRequired": true,
        "checkSuite": {"app": {"name": "x"}, "workflowRun": {"workflow": {"name": "ci"}}}})
}

fn comment(id: &str) -> Value {
    json!({"id": id, "databaseId": 7, "author": null, "body": "b", "createdAt": "2026-01-02T03:04:05Z"})
}

fn details_forge(second_head: &'static str) -> Server {
    Server::start(move |request| {
        let query: Value = serde_json::from_str(&request.body).unwrap();
        let text = query["query"].as_str().unwrap();
        let reply = if text.contains("PullRequestReviewThread") {
            json!({"comments": page(&json!([comment("c2")]), None)})
        } else if query["variables"].get("after").is_none() {
            let thread = json!({"id": "T_1", "isResolved": false, "isOutdated": true, "path": "a",
                "line": null, "comments": page(&json!([comment("c1")]), Some("t"))});
            let expected = json!({"__typename": "StatusContext", "context": "lint", "state": "EXPECTED",
                "createdAt": "2026-01-02T03:04:05Z", "isRequired": true});
            let contexts = page(&json!([run("a"), expected]), Some("x"));
            json!({"headRefOid": "aaa", "reviewThreads": page(&json!([thread]), None),
                "statusCheckRollup": {"state": "EXPECTED", "contexts": contexts},
                "reviews": page(&json!([{"id": "R_1", "author": {"login": "x", "__typename": "Bot"},
                    "state": "COMMENTED", "body": null, "submittedAt": "2026-01-02T03:04:05Z",
                    "commit": null}]), None),
                "comments": empty()})
        } else {
            json!({"headRefOid": second_head,
                "statusCheckRollup": {"state": "EXPECTED", "contexts": page(&json!([run("b")]), None)}})
        };
        data(&json!({ "node": reply }))
    })
}

#[test]
fn lesson_57_details_are_read_to_the_last_page() {
    let server = details_forge("aaa");
    let found = fetch_details(&mut client(&server), "PR_1").unwrap();
    let checks: Vec<_> = found
        .checks
        .iter()
        .map(|it| (it.name.as_str(), it.outcome))
        .collect();
    let expected = ("lint", CheckOutcome::Expected);
    assert_eq!(
        checks,
        [
            ("a", CheckOutcome::Passed),
            expected,
            ("b", CheckOutcome::Passed)
        ]
    );
    assert_eq!(found.discussion.threads[0].comments.len(), 2);
    assert_eq!(found.discussion.threads[0].line, None);
    assert!(found.are_checks_complete && found.discussion.is_complete);
    assert!(
        found.discussion.reviews[0]
            .author
            .as_ref()
            .unwrap()
            .is_bot()
    );
    assert_eq!(server.received().len(), 3);
}

#[test]
fn lesson_69_a_head_that_moves_between_pages_makes_details_incomplete() {
    let server = details_forge("bbb");
    let found = fetch_details(&mut client(&server), "PR_1").unwrap();
    assert!(!found.are_checks_complete && !found.discussion.is_complete);
}

#[test]
fn a_pull_request_without_checks_has_a_complete_empty_list() {
    let server = Server::start(|_| {
        let node = json!({"headRefOid": "aaa", "statusCheckRollup": null, "reviewThreads": empty(),
            "reviews": empty(), "comments": empty()});
        data(&json!({ "node": node }))
    });
    let found = fetch_details(&mut client(&server), "PR_1").unwrap();
    assert!(found.checks.is_empty() && found.are_checks_complete);
    // A part that the forge left out is not an empty list.
    let server = Server::start(|_| {
        let node = json!({"headRefOid": "aaa", "statusCheckRollup": null, "reviews": null});
        data(&json!({ "node": node }))
    });
    let found = fetch_details(&mut client(&server), "PR_1").unwrap();
    assert!(!found.discussion.is_complete);
    let gone = Server::start(|_| data(&json!({ "node": null })));
    let error = fetch_details(&mut client(&gone), "PR_1").unwrap_err();
    assert!(matches!(error.trouble, Trouble::AbsentOrNotAllowed { .. }));
}
