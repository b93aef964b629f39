//! The merge queue: asking only puts a pull request into it.

use scripted_forge::{Forge, Protection};
use serde_json::{Value, json};

use crate::client::Client;

const ENQUEUE: &str = "mutation($id: ID!, $head: GitObjectID) {
    enqueuePullRequest(input: { pullRequestId: $id, expectedHeadOid: $head, clientMutationId: \"m\" }) {
        clientMutationId mergeQueueEntry { position state pullRequest { number isInMergeQueue } } } }";

fn stage() -> (Forge, Client) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    forge.protect(
        "octo/demo",
        "main",
        Protection {
            queue: true,
            ..Protection::default()
        },
    );
    let octo = Client::new(&forge, "octo");
    (forge, octo)
}

fn error(answer: &Value) -> (String, String) {
    let text = |key: &str| {
        answer["errors"][0][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (text("type"), text("message"))
}

#[test]
fn the_merge_call_points_to_the_queue() {
    let (forge, octo) = stage();
    let number = forge.pull("octo/demo", "feature");
    let merge = octo.send(
        "PUT",
        &format!("/repos/octo/demo/pulls/{number}/merge"),
        &json!({}),
    );
    assert_eq!(merge.status, 405);
    assert_eq!(
        merge.message(),
        "Changes must be made through the merge queue."
    );
    forge.finish();
}

#[test]
fn enqueuing_does_not_merge() {
    let (forge, octo) = stage();
    let before = forge.tip("octo/demo", "main");
    let (one, two) = (
        forge.pull("octo/demo", "one"),
        forge.pull("octo/demo", "two"),
    );
    for (number, position) in [(one, 1), (two, 2)] {
        let head = forge.head("octo/demo", number);
        let id = forge.node_id("octo/demo", number);
        let answer = octo.graphql(ENQUEUE, &json!({ "id": id, "head": head }));
        let payload = &answer["data"]["enqueuePullRequest"];
        assert_eq!(payload["clientMutationId"], "m", "{answer}");
        assert_eq!(payload["mergeQueueEntry"]["position"], position);
        assert_eq!(
            payload["mergeQueueEntry"]["pullRequest"]["isInMergeQueue"],
            true
        );
    }
    assert_eq!(forge.tip("octo/demo", "main"), before);
    let merge = octo.send(
        "PUT",
        &format!("/repos/octo/demo/pulls/{one}/merge"),
        &json!({}),
    );
    assert_eq!(merge.message(), "Pull Request is in the merge queue");
    assert_eq!(forge.advance_queue("octo/demo", "main", false), Some(one));
    assert!(forge.get("octo/demo", one).is_open);
    assert_eq!(forge.advance_queue("octo/demo", "main", true), Some(two));
    assert!(forge.get("octo/demo", two).pull.unwrap().merge.is_some());
    assert_ne!(forge.tip("octo/demo", "main"), before);
    let mutations = forge
        .writes()
        .iter()
        .filter(|it| it.operation == "enqueuePullRequest")
        .count();
    assert_eq!(mutations, 2);
    forge.finish();
}

#[test]
fn what_cannot_be_queued_is_refused() {
    let (forge, octo) = stage();
    let number = forge.pull("octo/demo", "feature");
    let id = forge.node_id("octo/demo", number);
    let enqueue = |head: Option<&str>| octo.graphql(ENQUEUE, &json!({ "id": id, "head": head }));
    let wrong = "0".repeat(40);
    assert!(
        error(&enqueue(Some(&wrong)))
            .1
            .starts_with("Head branch was modified")
    );
    forge.set_draft("octo/demo", number, "octo", true);
    assert_eq!(error(&enqueue(None)).0, "UNPROCESSABLE");
    forge.set_draft("octo/demo", number, "octo", false);
    assert_eq!(error(&enqueue(None)), (String::new(), String::new()));
    assert_eq!(
        error(&enqueue(None)).1,
        "Pull request is already queued to merge"
    );
    // A push takes it out again.
    forge.commit("octo/demo", "feature", &[("more.txt", "x\n")]);
    assert!(
        forge
            .get("octo/demo", number)
            .pull
            .unwrap()
            .queued
            .is_none()
    );
    forge.finish();
}
