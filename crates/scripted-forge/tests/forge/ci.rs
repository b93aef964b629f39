//! Workflows, jobs, logs, checks and statuses.

use scripted_forge::Forge;
use serde_json::{Value, json};

use crate::client::{Client, raw};

fn stage() -> (Forge, Client) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    forge.workflow("octo/demo", "ci", &["test", "lint"]);
    let octo = Client::new(&forge, "octo");
    (forge, octo)
}

fn rollup(forge: &Forge, client: &Client, number: u64) -> Value {
    let id = forge.node_id("octo/demo", number);
    let query =
        "query($id: ID!) { node(id: $id) { ... on PullRequest { statusCheckRollup { state } } } }";
    client.graphql(query, &json!({ "id": id }))["data"]["node"]["statusCheckRollup"].clone()
}

#[test]
fn a_red_job_is_found_with_its_log_and_run_again() {
    let (forge, octo) = stage();
    let number = forge.pull("octo/demo", "feature");
    let sha = forge.head("octo/demo", number);
    assert_eq!(rollup(&forge, &octo, number)["state"], "PENDING");
    forge.start_job("octo/demo", number, "test");
    forge.finish_job(
        "octo/demo",
        number,
        "test",
        "failure",
        "line 1\nassertion failed\n",
    );
    forge.finish_job("octo/demo", number, "lint", "success", "");
    assert_eq!(rollup(&forge, &octo, number)["state"], "FAILURE");
    let runs = octo
        .get(&format!("/repos/octo/demo/actions/runs?head_sha={sha}"))
        .json();
    assert_eq!(runs["workflow_runs"][0]["conclusion"], "failure");
    let run = runs["workflow_runs"][0]["id"].clone();
    let jobs = octo
        .get(&format!("/repos/octo/demo/actions/runs/{run}/jobs"))
        .json();
    let failed = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["conclusion"] == "failure");
    let failed = failed.unwrap();
    assert_eq!(failed["steps"][0]["name"], "Run test");
    let log = octo.get(&format!(
        "/repos/octo/demo/actions/jobs/{}/logs",
        failed["id"]
    ));
    assert_eq!(log.status, 302);
    let target = log
        .header("location")
        .unwrap()
        .trim_start_matches("http://")
        .to_owned();
    let (host, path) = target.split_once('/').unwrap();
    let log = raw(
        host,
        "GET",
        &format!("/{path}"),
        &[("User-Agent", "test")],
        None,
    )
    .unwrap();
    assert!(log.text.contains("assertion failed"));
    let rerun = format!("/repos/octo/demo/actions/runs/{run}/rerun-failed-jobs");
    assert_eq!(octo.send("POST", &rerun, &json!({})).status, 201);
    let again = octo
        .get(&format!("/repos/octo/demo/actions/runs?head_sha={sha}"))
        .json();
    assert_eq!(again["workflow_runs"][0]["run_attempt"], 2);
    assert_eq!(again["workflow_runs"][0]["status"], "in_progress");
    assert_eq!(octo.send("POST", &rerun, &json!({})).status, 403);
    forge.finish_job("octo/demo", number, "test", "success", "");
    assert_eq!(rollup(&forge, &octo, number)["state"], "SUCCESS");
    forge.finish();
}

#[test]
fn the_token_must_not_reach_the_storage() {
    let (forge, octo) = stage();
    let number = forge.pull("octo/demo", "feature");
    forge.finish_job("octo/demo", number, "test", "success", "fine\n");
    let checks = octo
        .get("/repos/octo/demo/commits/feature/check-runs?check_name=test")
        .json();
    let id = checks["check_runs"][0]["id"].clone();
    let log = octo.get(&format!("/repos/octo/demo/actions/jobs/{id}/logs"));
    let target = log
        .header("location")
        .unwrap()
        .trim_start_matches("http://")
        .to_owned();
    let (host, path) = target.split_once('/').unwrap();
    let headers = [("Authorization", "Bearer secret")];
    raw(host, "GET", &format!("/{path}"), &headers, None).unwrap();
    let found = forge.take_violations();
    assert!(
        found.len() == 1 && found[0].contains("storage"),
        "{found:?}"
    );
}

#[test]
fn a_conflicting_pull_request_starts_no_ci() {
    let (forge, octo) = stage();
    forge.commit("octo/demo", "feature", &[("README.md", "mine\n")]);
    forge.commit("octo/demo", "main", &[("README.md", "theirs\n")]);
    let number = forge.pull("octo/demo", "feature");
    assert_eq!(rollup(&forge, &octo, number), Value::Null);
    let sha = forge.head("octo/demo", number);
    let checks = octo
        .get(&format!("/repos/octo/demo/commits/{sha}/check-runs"))
        .json();
    assert_eq!(checks["total_count"], 0);
    // Solved, it starts.
    let head = forge.head("octo/demo", number);
    let tip = forge.tip("octo/demo", "main").unwrap();
    let path = forge.path("octo/demo");
    let tree = crate::gh::git(&path, &["rev-parse", &format!("{head}^{{tree}}")]).unwrap();
    let arguments = [
        "commit-tree",
        tree.trim(),
        "-p",
        &head,
        "-p",
        &tip,
        "-m",
        "merge",
    ];
    let merged = crate::gh::git(&path, &arguments).unwrap();
    crate::gh::git(&path, &["update-ref", "refs/heads/feature", merged.trim()]).unwrap();
    assert_eq!(rollup(&forge, &octo, number)["state"], "PENDING");
    forge.finish();
}

#[test]
fn pushes_by_the_token_of_actions_start_no_ci() {
    let (forge, octo) = stage();
    forge.configure("octo/demo", |it| it.pushes_start_ci = false);
    let number = forge.pull("octo/demo", "feature");
    assert_eq!(rollup(&forge, &octo, number), Value::Null);
    forge.finish();
}

#[test]
fn without_statuses_the_combined_one_is_pending() {
    let (forge, octo) = stage();
    let number = forge.pull("octo/demo", "feature");
    let read = || octo.get("/repos/octo/demo/commits/feature/status").json();
    assert_eq!(
        (&read()["state"], &read()["total_count"]),
        (&json!("pending"), &json!(0))
    );
    forge.status("octo/demo", number, "legacy", "success", "octo");
    assert_eq!(
        (&read()["state"], &read()["total_count"]),
        (&json!("success"), &json!(1))
    );
    assert_eq!(
        octo.get("/repos/octo/demo/commits/nothing/status").status,
        422
    );
    forge.finish();
}

#[test]
fn required_checks_are_marked_in_the_rollup() {
    let (forge, octo) = stage();
    let required_checks = vec!["test".to_owned(), "legacy".to_owned()];
    let protection = scripted_forge::Protection {
        required_checks,
        ..Default::default()
    };
    forge.protect("octo/demo", "main", protection);
    let number = forge.pull("octo/demo", "feature");
    forge.status("octo/demo", number, "legacy", "pending", "octo");
    let id = forge.node_id("octo/demo", number);
    let query = "query($id: ID!) { node(id: $id) { ... on PullRequest { statusCheckRollup { contexts(first: 100) { totalCount nodes { __typename
        ... on CheckRun { name isRequired(pullRequestId: $id) checkSuite { app { slug } workflowRun { workflow { name } } } }
        ... on StatusContext { context isRequired(pullRequestId: $id) creator { login } } } } } } } }";
    let answer = octo.graphql(query, &json!({ "id": id }));
    let nodes = answer["data"]["node"]["statusCheckRollup"]["contexts"]["nodes"].clone();
    let required: Vec<bool> = nodes
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["isRequired"] == true)
        .collect();
    assert_eq!(required, [true, false, true], "{answer}");
    assert_eq!(
        nodes[0]["checkSuite"]["workflowRun"]["workflow"]["name"],
        "ci"
    );
    assert_eq!(nodes[2]["creator"]["login"], "octo");
    forge.finish();
}
