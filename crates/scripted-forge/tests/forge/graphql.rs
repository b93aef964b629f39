//! Every field that orange may ask for is answered.

use scripted_forge::{Forge, Protection, ReviewState};
use serde_json::{Value, json};

use crate::client::Client;

const OPERATIONS: &str = include_str!("../../schema/queries/orange.graphql");

fn ask(forge: &Forge, client: &Client, operation: &str, variables: &Value) -> Value {
    // GitHub takes the whole document and the name of one of its operations.
    let full = forge.graphql_address();
    let body = json!({ "query": OPERATIONS, "operationName": operation, "variables": variables });
    let reply = client.ask("POST", &full, &[], Some(&body)).unwrap();
    let answer = reply.json();
    assert_eq!(answer["errors"], Value::Null, "{operation}: {}", reply.text);
    answer["data"].clone()
}

#[test]
fn every_field_has_a_resolver() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    forge.bot("helper");
    forge.workflow("octo/demo", "ci", &["test"]);
    forge.protect(
        "octo/demo",
        "main",
        Protection {
            queue: true,
            ..Protection::default()
        },
    );
    let number = forge.pull("octo/demo", "feature");
    forge.label("octo/demo", number, "octo", "agent");
    forge.comment("octo/demo", number, "helper", "beep");
    forge.status("octo/demo", number, "legacy", "success", "octo");
    forge.review("octo/demo", number, "octo", ReviewState::Approved, "good");
    forge.thread("octo/demo", number, "helper", ("feature.txt", 1), "Why?");
    let issue = forge.issue("octo/demo", "octo", "A", "");
    forge.rewrite("octo/demo", issue, "octo", "B", "");
    let id = forge.node_id("octo/demo", number);
    let details = ask(&forge, &octo, "details", &json!({ "id": id }));
    let pull = &details["node"];
    assert_eq!(pull["labels"]["nodes"][0]["name"], "agent");
    assert_eq!(pull["comments"]["nodes"][0]["author"]["__typename"], "Bot");
    assert_eq!(pull["statusCheckRollup"]["contexts"]["totalCount"], 2);
    assert_eq!(
        pull["commits"]["nodes"][0]["commit"]["oid"],
        pull["headRefOid"]
    );
    let thread = pull["reviewThreads"]["nodes"][0]["id"].clone();
    ask(&forge, &octo, "details", &json!({ "id": thread }));
    ask(&forge, &octo, "glance", &json!({ "ids": [id] }));
    let variables = json!({ "owner": "octo", "name": "demo", "head": "feature", "number": number });
    // The number is a pull request's, so there is no such issue.
    let body = json!({ "query": OPERATIONS, "operationName": "probe", "variables": variables });
    let reply = octo
        .ask("POST", &forge.graphql_address(), &[], Some(&body))
        .unwrap()
        .json();
    assert_eq!(reply["errors"][0]["path"], json!(["repository", "issue"]));
    assert_eq!(
        reply["data"]["repository"]["pullRequests"]["nodes"][0]["id"],
        id
    );
    assert_eq!(reply["data"]["repository"]["ref"]["name"], "feature");
    let issue_id = forge.node_id("octo/demo", issue);
    ask(&forge, &octo, "draft", &json!({ "id": id }));
    let ready = ask(&forge, &octo, "ready", &json!({ "id": id }));
    assert_eq!(
        ready["markPullRequestReadyForReview"]["pullRequest"]["isDraft"],
        false
    );
    ask(&forge, &octo, "resolve", &json!({ "id": thread }));
    let oid = forge.tip("octo/demo", "main");
    ask(
        &forge,
        &octo,
        "link",
        &json!({ "issue": issue_id, "oid": oid }),
    );
    let shown = ask(&forge, &octo, "issue", &json!({ "id": issue_id }));
    assert_eq!(shown["node"]["linkedBranches"]["totalCount"], 1);
    ask(&forge, &octo, "enqueue", &json!({ "id": id }));
    let queued = ask(&forge, &octo, "details", &json!({ "id": id }));
    assert_eq!(queued["node"]["mergeQueueEntry"]["position"], 1);
    forge.advance_queue("octo/demo", "main", true);
    let merged = ask(&forge, &octo, "details", &json!({ "id": id }));
    assert_eq!(merged["node"]["state"], "MERGED");
    assert_eq!(merged["node"]["mergedBy"]["login"], "octo");
    forge.finish();
}

#[test]
fn connections_are_paged_in_both_directions() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    for index in 0..5 {
        forge.comment("octo/demo", number, "octo", &index.to_string());
    }
    let id = forge.node_id("octo/demo", number);
    let page = |arguments: &str| {
        let query = format!("query($id: ID!) {{ node(id: $id) {{ ... on PullRequest {{ comments({arguments}) {{
            totalCount pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} nodes {{ body }} }} }} }} }}");
        octo.graphql(&query, &json!({ "id": id }))["data"]["node"]["comments"].clone()
    };
    let first = page("first: 2");
    assert_eq!(
        (&first["nodes"][1]["body"], &first["totalCount"]),
        (&json!("1"), &json!(5))
    );
    let cursor = first["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
    let second = page(&format!("first: 3, after: \"{cursor}\""));
    assert_eq!(second["nodes"][2]["body"], "4");
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
    let last = page("last: 1");
    assert_eq!(last["nodes"], json!([{ "body": "4" }]));
    assert_eq!(last["pageInfo"]["hasPreviousPage"], true);
    forge.finish();
}
