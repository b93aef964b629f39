//! Points, primary and secondary limits.

use std::time::Duration;

use scripted_forge::{Forge, Resource};
use serde_json::json;

use crate::client::Client;

const GLANCE: &str = "query glance($ids: [ID!]!) { nodes(ids: $ids) { ... on PullRequest {
    id number state isDraft headRefOid baseRefName mergeable mergeStateStatus reviewDecision
    updatedAt isInMergeQueue statusCheckRollup { state } } } rateLimit { cost remaining resetAt } }";

fn stage() -> (Forge, Client) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    (forge, octo)
}

#[test]
fn a_glance_at_a_hundred_costs_one_point() {
    let (forge, octo) = stage();
    let numbers = forge.many_pulls("octo/demo", 101);
    let ids = forge.node_ids("octo/demo", &numbers);
    let answer = octo.graphql(GLANCE, &json!({ "ids": ids[..100] }));
    assert_eq!(answer["data"]["rateLimit"]["cost"], 1);
    assert_eq!(answer["data"]["rateLimit"]["remaining"], 4999);
    assert_eq!(answer["data"]["nodes"].as_array().unwrap().len(), 100);
    assert_eq!(answer["data"]["nodes"][99]["mergeable"], "UNKNOWN");
    assert_eq!((forge.points(), forge.count("nodes")), (1, 1));
    // One more is too many, and is not charged.
    let refused = octo.graphql(GLANCE, &json!({ "ids": ids }));
    assert_eq!(refused["errors"][0]["type"], "ARGUMENT_LIMIT");
    assert_eq!(refused["data"], json!(null));
    assert_eq!(forge.points(), 1);
    forge.finish();
}

#[test]
fn points_follow_the_published_formula() {
    let (forge, octo) = stage();
    // GitHub's own example: 1 + 100 + 100 × 50 connections are 5,101 requests, so 51 points.
    let query = "{ repository(owner: \"octo\", name: \"demo\") { pullRequests(first: 100) { nodes {
        reviewThreads(first: 50) { nodes { comments(first: 60) { nodes { id } } } } } } }
        rateLimit { cost nodeCount } }";
    let answer = octo.graphql(query, &json!({}));
    assert_eq!(answer["data"]["rateLimit"]["cost"], 51);
    assert_eq!(
        answer["data"]["rateLimit"]["nodeCount"],
        100 + 100 * 50 + 100 * 50 * 60
    );
    // Below `nodes`, each id counts.
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on PullRequest {
        reviews(first: 100) { nodes { id } } reviewThreads(first: 30) { nodes { comments(first: 1) { nodes { id } } } } } }
        rateLimit { cost } }";
    let ids = forge.node_ids("octo/demo", &forge.many_pulls("octo/demo", 20));
    let answer = octo.graphql(query, &json!({ "ids": ids }));
    assert_eq!(answer["data"]["rateLimit"]["cost"], 6);
    forge.finish();
}

#[test]
fn pages_have_a_limit_and_must_be_asked_for() {
    let (forge, octo) = stage();
    for (arguments, kind) in [
        ("(first: 101)", "EXCESSIVE_PAGINATION"),
        ("", "MISSING_PAGINATION_BOUNDARIES"),
    ] {
        let query = format!(
            "{{ repository(owner: \"octo\", name: \"demo\") {{ pullRequests{arguments} {{ nodes {{ id }} }} }} }}"
        );
        let answer = octo.graphql(&query, &json!({}));
        assert_eq!(answer["errors"][0]["type"], kind);
    }
    let query = "{ repository(owner: \"octo\", name: \"demo\") { pullRequests(first: 100) { nodes {
        reviewThreads(first: 100) { nodes { comments(first: 100) { nodes { id } } } } } } } }";
    let answer = octo.graphql(query, &json!({}));
    assert_eq!(answer["errors"][0]["type"], "MAX_NODE_LIMIT_EXCEEDED");
    let count = "{ repository(owner: \"octo\", name: \"demo\") { pullRequests { totalCount } } }";
    let answer = octo.graphql(count, &json!({}));
    assert_eq!(
        answer["data"]["repository"]["pullRequests"]["totalCount"],
        0
    );
    forge.finish();
}

#[test]
fn a_used_up_quota_is_403_in_rest_and_200_in_graphql() {
    let (forge, octo) = stage();
    forge.set_remaining("octo", Resource::Core, 1);
    forge.set_remaining("octo", Resource::Graphql, 0);
    assert_eq!(octo.get("/user").header("x-ratelimit-remaining"), Some("0"));
    let refused = octo.get("/user");
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));
    assert!(
        refused
            .header("x-ratelimit-reset")
            .unwrap()
            .parse::<i64>()
            .unwrap()
            > forge.now()
    );
    let answer = octo
        .graphql_reply("{ viewer { login } }", &json!({}))
        .unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["errors"][0]["type"], "RATE_LIMITED");
    assert_eq!(answer.header("x-ratelimit-resource"), Some("graphql"));
    // Looking at the quota is free.
    let rates = octo.get("/rate_limit").json();
    assert_eq!(rates["resources"]["graphql"]["remaining"], 0);
    // Another user is not concerned.
    assert_eq!(Client::new(&forge, "other").get("/user").status, 200);
    forge.advance(Duration::from_mins(61));
    assert_eq!(octo.get("/user").status, 200);
    assert_eq!(
        octo.graphql("{ viewer { login } }", &json!({}))["errors"],
        json!(null)
    );
    forge.finish();
}

#[test]
fn eighty_writes_a_minute_are_the_limit() {
    let (forge, octo) = stage();
    let number = forge.issue("octo/demo", "octo", "A", "");
    let path = format!("/repos/octo/demo/issues/{number}/comments");
    let write = || octo.send("POST", &path, &json!({ "body": "x" }));
    for _ in 0..80 {
        assert_eq!(write().status, 201);
    }
    let refused = write();
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("60"));
    assert!(refused.message().contains("secondary rate limit"));
    let mutation =
        "mutation { resolveReviewThread(input: { threadId: \"PRRT_kwDO1\" }) { thread { id } } }";
    let refused = octo.graphql_reply(mutation, &json!({})).unwrap();
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (403, Some("60"))
    );
    // Reading still works, and writing does after a minute or when a test lifts the limit.
    assert_eq!(octo.get(&path).status, 200);
    forge.advance(Duration::from_secs(61));
    assert_eq!(write().status, 201);
    assert_eq!(forge.writes().len(), 81);
    forge.finish();
}

/// For the figures of a client that watches thousands.
#[test]
fn thousands_are_watched_with_few_requests() {
    let (forge, octo) = stage();
    forge.unknown_reads(0);
    let ids = forge.node_ids("octo/demo", &forge.many_pulls("octo/demo", 2000));
    for chunk in ids.chunks(100) {
        let answer = octo.graphql(GLANCE, &json!({ "ids": chunk }));
        assert_eq!(answer["data"]["nodes"][0]["mergeable"], "MERGEABLE");
    }
    assert_eq!((forge.count("nodes"), forge.points()), (20, 20));
    forge.finish();
}
