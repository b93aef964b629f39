//! Reviews, threads, bots and deleted accounts.

use scripted_forge::{Forge, Permission, Protection, ReviewState};
use serde_json::{Value, json};

use crate::client::Client;

fn stage(dismiss_stale: bool) -> (Forge, Client, u64) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    forge.unknown_reads(0);
    let octo = Client::new(&forge, "octo");
    forge.user("reviewer");
    forge.allow("octo/demo", "reviewer", Permission::Write);
    let protection = Protection {
        required_approvals: 1,
        dismiss_stale,
        ..Protection::default()
    };
    forge.protect("octo/demo", "main", protection);
    let number = forge.pull("octo/demo", "feature");
    (forge, octo, number)
}

fn ask(forge: &Forge, client: &Client, number: u64, fields: &str) -> Value {
    let id = forge.node_id("octo/demo", number);
    let query =
        format!("query($id: ID!) {{ node(id: $id) {{ ... on PullRequest {{ {fields} }} }} }}");
    client.graphql(&query, &json!({ "id": id }))["data"]["node"].clone()
}

#[test]
fn the_decision_follows_the_reviews_of_people_who_may_write() {
    let (forge, octo, number) = stage(false);
    let decision = || ask(&forge, &octo, number, "reviewDecision")["reviewDecision"].clone();
    assert_eq!(decision(), "REVIEW_REQUIRED");
    forge.user("stranger");
    forge.review("octo/demo", number, "stranger", ReviewState::Approved, "");
    assert_eq!(decision(), "REVIEW_REQUIRED");
    forge.review(
        "octo/demo",
        number,
        "reviewer",
        ReviewState::ChangesRequested,
        "no",
    );
    assert_eq!(decision(), "CHANGES_REQUESTED");
    let merge = octo.send(
        "PUT",
        &format!("/repos/octo/demo/pulls/{number}/merge"),
        &json!({}),
    );
    assert_eq!(merge.status, 405);
    forge.review("octo/demo", number, "reviewer", ReviewState::Approved, "");
    // A later comment takes no approval back.
    forge.review(
        "octo/demo",
        number,
        "reviewer",
        ReviewState::Commented,
        "nice",
    );
    assert_eq!(decision(), "APPROVED");
    forge.finish();
}

#[test]
fn updating_the_branch_dismisses_approvals() {
    for dismisses in [true, false] {
        let (forge, octo, number) = stage(dismisses);
        forge.review("octo/demo", number, "reviewer", ReviewState::Approved, "");
        let reviewed = forge.head("octo/demo", number);
        forge.commit("octo/demo", "main", &[("other.txt", "x\n")]);
        forge.update_branch("octo/demo", number);
        let head = forge.head("octo/demo", number);
        assert_ne!(reviewed, head);
        let shown = ask(
            &forge,
            &octo,
            number,
            "reviewDecision reviews(first: 5) { nodes { state commit { oid } } }",
        );
        let expected = if dismisses { "DISMISSED" } else { "APPROVED" };
        assert_eq!(shown["reviews"]["nodes"][0]["state"], expected);
        // The approval stays with the commit it was given for.
        assert_eq!(shown["reviews"]["nodes"][0]["commit"]["oid"], reviewed);
        forge.finish();
    }
}

#[test]
fn a_push_outdates_threads_of_changed_files() {
    let (forge, octo, number) = stage(false);
    forge.commit("octo/demo", "feature", &[("kept.txt", "kept\n")]);
    let thread = forge.thread("octo/demo", number, "reviewer", ("feature.txt", 1), "Why?");
    forge.thread(
        "octo/demo",
        number,
        "reviewer",
        ("kept.txt", 1),
        "And this?",
    );
    forge.commit("octo/demo", "feature", &[("feature.txt", "because\n")]);
    let fields = "reviewThreads(first: 30) { nodes { id isResolved isOutdated line originalLine comments(first: 5) { nodes { databaseId body author { login } } } } }";
    let threads = ask(&forge, &octo, number, fields)["reviewThreads"]["nodes"].clone();
    assert_eq!(
        (&threads[0]["isOutdated"], &threads[0]["line"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        (&threads[1]["isOutdated"], &threads[1]["line"]),
        (&json!(false), &json!(1))
    );
    let comment = threads[0]["comments"]["nodes"][0]["databaseId"].clone();
    let path = format!("/repos/octo/demo/pulls/{number}/comments/{comment}/replies");
    let reply = octo.send("POST", &path, &json!({ "body": "Fixed" }));
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(reply.json()["in_reply_to_id"], comment);
    let resolve = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { isResolved resolvedBy { login } comments(first: 5) { totalCount } } } }";
    let answer = octo.graphql(resolve, &json!({ "id": threads[0]["id"] }));
    let resolved = &answer["data"]["resolveReviewThread"]["thread"];
    assert_eq!(resolved["resolvedBy"]["login"], "octo", "{answer}");
    assert_eq!(resolved["comments"]["totalCount"], 2);
    assert!(thread > 0);
    forge.finish();
}

#[test]
fn a_bot_has_two_names() {
    let (forge, octo, number) = stage(false);
    let token = forge.bot("helper");
    forge.comment("octo/demo", number, "helper", "beep");
    let shown = octo
        .get(&format!("/repos/octo/demo/issues/{number}/comments"))
        .json();
    assert_eq!(shown[0]["user"]["login"], "helper[bot]");
    assert_eq!(shown[0]["user"]["type"], "Bot");
    let fields = "comments(first: 1) { nodes { author { __typename login } } }";
    let author = ask(&forge, &octo, number, fields)["comments"]["nodes"][0]["author"].clone();
    assert_eq!(author, json!({ "__typename": "Bot", "login": "helper" }));
    let own = Client::with_token(&forge, &token).get("/user").json();
    assert_eq!(own["login"], "helper[bot]");
    forge.finish();
}

#[test]
fn a_deleted_account_is_no_author() {
    let (forge, octo, number) = stage(false);
    forge.comment("octo/demo", number, "reviewer", "bye");
    forge.review(
        "octo/demo",
        number,
        "reviewer",
        ReviewState::Commented,
        "bye",
    );
    forge.delete_user("reviewer");
    let shown = octo
        .get(&format!("/repos/octo/demo/issues/{number}/comments"))
        .json();
    assert_eq!(shown[0]["user"], Value::Null);
    let fields = "comments(first: 1) { nodes { author { login } } } reviews(first: 1) { nodes { author { login } } }";
    let shown = ask(&forge, &octo, number, fields);
    assert_eq!(shown["comments"]["nodes"][0]["author"], Value::Null);
    assert_eq!(shown["reviews"]["nodes"][0]["author"], Value::Null);
    forge.finish();
}
