//! Issues: revisions, events, labels, comments.

use scripted_forge::{Forge, Permission};
use serde_json::{Value, json};

use crate::client::Client;

fn stage() -> (Forge, Client) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    (forge, octo)
}

fn names(events: &Value) -> Vec<(String, String)> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let events = events.as_array().unwrap().iter();
    events
        .map(|it| (text(&it["event"]), text(&it["actor"]["login"])))
        .collect()
}

#[test]
fn events_say_who_did_what() {
    let (forge, octo) = stage();
    forge.user("guest");
    let number = forge.issue("octo/demo", "guest", "A bug", "It fails");
    let path = format!("/repos/octo/demo/issues/{number}");
    let labels = octo.send(
        "POST",
        &format!("{path}/labels"),
        &json!({ "labels": ["agent"] }),
    );
    assert_eq!(labels.json()[0]["name"], "agent", "{}", labels.text);
    forge.rewrite(
        "octo/demo",
        number,
        "guest",
        "A feature",
        "Do something else",
    );
    octo.delete(&format!("{path}/labels/agent"));
    let closed = octo.send(
        "PATCH",
        &path,
        &json!({ "state": "closed", "state_reason": "not_planned" }),
    );
    assert_eq!(closed.json()["state_reason"], "not_planned");
    octo.send("PATCH", &path, &json!({ "state": "open" }));
    let events = octo.get(&format!("{path}/events")).json();
    let expected = [
        ("labeled", "octo"),
        ("renamed", "guest"),
        ("unlabeled", "octo"),
        ("closed", "octo"),
        ("reopened", "octo"),
    ];
    assert_eq!(
        names(&events),
        expected.map(|it| (it.0.to_owned(), it.1.to_owned()))
    );
    assert_eq!(
        events[1]["rename"],
        json!({ "from": "A bug", "to": "A feature" })
    );
    let revisions = forge.get("octo/demo", number).revisions;
    assert_eq!(
        (revisions.len(), revisions[0].body.as_str()),
        (2, "It fails")
    );
    let id = forge.node_id("octo/demo", number);
    let query =
        "query($id: ID!) { node(id: $id) { ... on Issue { editor { login } lastEditedAt } } }";
    let node = octo.graphql(query, &json!({ "id": id }))["data"]["node"].clone();
    assert_eq!(node["editor"]["login"], "guest");
    forge.finish();
}

#[test]
fn a_form_sets_labels_for_anybody() {
    let (forge, octo) = stage();
    let stranger = Client::new(&forge, "stranger");
    let number = forge.issue_by_form("octo/demo", "stranger", "Please", &["agent"]);
    let path = format!("/repos/octo/demo/issues/{number}");
    let events = octo.get(&format!("{path}/events")).json();
    assert_eq!(
        names(&events),
        [("labeled".to_owned(), "stranger".to_owned())]
    );
    // By the API the same person may not.
    let refused = stranger.send(
        "POST",
        &format!("{path}/labels"),
        &json!({ "labels": ["x"] }),
    );
    assert_eq!(refused.status, 403);
    let answer = octo
        .get("/repos/octo/demo/collaborators/stranger/permission")
        .json();
    assert_eq!(answer["permission"], "read");
    forge.finish();
}

#[test]
fn disabled_issues_are_gone_and_pull_requests_stay() {
    let (forge, octo) = stage();
    let number = forge.issue("octo/demo", "octo", "A", "");
    let pull = forge.pull("octo/demo", "feature");
    forge.configure("octo/demo", |it| it.has_issues = false);
    let path = format!("/repos/octo/demo/issues/{number}");
    assert_eq!(octo.get(&path).status, 410);
    assert_eq!(octo.get("/repos/octo/demo/issues").status, 410);
    let comments = format!("/repos/octo/demo/issues/{pull}/comments");
    assert_eq!(
        octo.send("POST", &comments, &json!({ "body": "still" }))
            .status,
        201
    );
    forge.finish();
}

#[test]
fn a_transferred_issue_redirects() {
    let (forge, octo) = stage();
    forge.repository("octo/other");
    let number = forge.issue("octo/demo", "octo", "A", "");
    let new = forge.transfer("octo/demo", number, "octo", "octo/other");
    let moved = octo.get(&format!("/repos/octo/demo/issues/{number}"));
    assert_eq!(moved.status, 301);
    let there = octo.get(moved.header("location").unwrap()).json();
    assert_eq!(
        there["repository_url"],
        format!("{}/repos/octo/other", forge.rest_address())
    );
    let events = octo
        .get(&format!("/repos/octo/other/issues/{new}/events"))
        .json();
    assert_eq!(events[0]["event"], "transferred");
    forge.finish();
}

#[test]
fn a_list_has_pull_requests_too_and_can_be_asked_by_time() {
    let (forge, octo) = stage();
    let old = forge.issue("octo/demo", "octo", "Old", "");
    forge.advance(std::time::Duration::from_secs(100));
    let pull = forge.pull("octo/demo", "feature");
    forge.advance(std::time::Duration::from_secs(100));
    let since = octo.get(&format!("/repos/octo/demo/issues/{pull}")).json()["updated_at"].clone();
    let since = since.as_str().unwrap().to_owned();
    let path = "/repos/octo/demo/issues?state=all&sort=updated&direction=asc&since=";
    let list = octo.get(&format!("{path}{since}")).json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert!(list[0]["pull_request"].is_object());
    forge.comment("octo/demo", old, "octo", "hello");
    let list = octo.get(&format!("{path}{since}")).json();
    let numbers: Vec<u64> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [pull, old]);
    forge.finish();
}

#[test]
fn comments_are_made_changed_and_deleted() {
    let (forge, octo) = stage();
    let guest = Client::new(&forge, "guest");
    let number = forge.issue("octo/demo", "octo", "A", "");
    let path = format!("/repos/octo/demo/issues/{number}/comments");
    let made = guest.send("POST", &path, &json!({ "body": "<!-- orange --> one" }));
    assert_eq!(made.status, 201);
    let own = format!("/repos/octo/demo/issues/comments/{}", made.json()["id"]);
    assert_eq!(
        guest.send("PATCH", &own, &json!({ "body": "two" })).json()["body"],
        "two"
    );
    let stranger = Client::new(&forge, "stranger");
    assert_eq!(
        stranger
            .send("PATCH", &own, &json!({ "body": "three" }))
            .status,
        403
    );
    assert_eq!(guest.delete(&own).status, 204);
    assert_eq!(guest.delete(&own).status, 404);
    assert_eq!(octo.get(&path).json(), json!([]));
    forge.finish();
}

#[test]
fn labels_exist_once() {
    let (forge, octo) = stage();
    let label = json!({ "name": "good first", "color": "ff0000", "description": "x" });
    assert_eq!(
        octo.send("POST", "/repos/octo/demo/labels", &label).status,
        201
    );
    let again = octo.send("POST", "/repos/octo/demo/labels", &label);
    assert_eq!(
        (again.status, again.json()["errors"][0]["code"].clone()),
        (422, json!("already_exists"))
    );
    assert_eq!(
        octo.get("/repos/octo/demo/labels/good%20first").json()["color"],
        "ff0000"
    );
    assert_eq!(octo.get("/repos/octo/demo/labels/none").status, 404);
    let number = forge.issue("octo/demo", "octo", "A", "");
    let path = format!("/repos/octo/demo/issues/{number}/labels/none");
    assert_eq!(octo.delete(&path).status, 404);
    forge.finish();
}

#[test]
fn a_branch_is_linked_once() {
    let (forge, octo) = stage();
    let number = forge.issue("octo/demo", "octo", "Fix the thing!", "");
    let tip = forge.tip("octo/demo", "main").unwrap();
    let id = forge.node_id("octo/demo", number);
    let link = "mutation($id: ID!, $oid: GitObjectID!) { createLinkedBranch(input: { issueId: $id, oid: $oid }) {
        linkedBranch { ref { name target { oid } } } } }";
    let variables = json!({ "id": id, "oid": tip });
    let made = octo.graphql(link, &variables)["data"]["createLinkedBranch"]["linkedBranch"].clone();
    assert_eq!(made["ref"]["name"], "1-fix-the-thing");
    assert_eq!(made["ref"]["target"]["oid"], tip);
    assert_eq!(forge.tip("octo/demo", "1-fix-the-thing"), Some(tip));
    let again =
        octo.graphql(link, &variables)["data"]["createLinkedBranch"]["linkedBranch"].clone();
    assert_eq!(again, Value::Null);
    forge.allow("octo/demo", "guest", Permission::Read);
    let guest = Client::new(&forge, "guest");
    assert_eq!(
        guest.graphql(link, &variables)["errors"][0]["type"],
        "FORBIDDEN"
    );
    forge.finish();
}
