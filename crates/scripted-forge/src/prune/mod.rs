//! Cuts GitHub's published schemas down to what this crate serves.
//!
//! `examples/prune.rs` writes the results into `schema/`; `tests/forge/schemas.rs` compares them
//! with what the pinned packages give.

mod graphql;
mod rest;

use std::fs;
use std::path::Path;

use serde_json::Value;

pub use graphql::prune as prune_graphql;
pub use rest::prune as prune_rest;

/// The operations of the REST description that are served, in the description's own spelling.
pub const OPERATIONS: &[(&str, &str)] = &[
    ("get", "/user"),
    ("get", "/rate_limit"),
    ("get", "/repos/{owner}/{repo}"),
    (
        "get",
        "/repos/{owner}/{repo}/collaborators/{username}/permission",
    ),
    ("get", "/repos/{owner}/{repo}/pulls"),
    ("post", "/repos/{owner}/{repo}/pulls"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("patch", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("put", "/repos/{owner}/{repo}/pulls/{pull_number}/merge"),
    (
        "post",
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
    ),
    ("get", "/repos/{owner}/{repo}/issues"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}"),
    ("patch", "/repos/{owner}/{repo}/issues/{issue_number}"),
    ("get", "/repos/{owner}/{repo}/issues/comments"),
    (
        "get",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    ),
    (
        "post",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    ),
    (
        "patch",
        "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    ),
    (
        "delete",
        "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    ),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}/events"),
    ("post", "/repos/{owner}/{repo}/labels"),
    ("get", "/repos/{owner}/{repo}/labels/{name}"),
    ("post", "/repos/{owner}/{repo}/issues/{issue_number}/labels"),
    (
        "delete",
        "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
    ),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/check-runs"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/status"),
    ("get", "/repos/{owner}/{repo}/actions/runs"),
    ("get", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs"),
    ("get", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs"),
    (
        "post",
        "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
    ),
    (
        "get",
        "/repos/{owner}/{repo}/branches/{branch}/protection/required_status_checks",
    ),
    ("get", "/repos/{owner}/{repo}/rules/branches/{branch}"),
];

/// The names and contents of the files in `schema/`, generated from the installed packages.
pub fn from_packages(packages: &Path) -> Result<[(&'static str, String); 2], String> {
    let read = |path: &str| {
        let path = packages.join("@octokit").join(path);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let described = serde_json::from_str(&read("openapi/generated/api.github.com.json")?);
    let described: Value = described.map_err(|it| it.to_string())?;
    let pruned = prune_rest(&described)?;
    let rest = one_line_each(&pruned);
    let package: Value =
        serde_json::from_str(&read("graphql-schema/package.json")?).map_err(|it| it.to_string())?;
    let version = package["version"].as_str().unwrap_or("unknown");
    let pruned = prune_graphql(
        &read("graphql-schema/schema.graphql")?,
        &[
            include_str!("../../schema/queries/orange.graphql"),
            include_str!("../../schema/queries/gh.graphql"),
        ],
    )?;
    let graphql = format!(
        "# Pruned from npm @octokit/graphql-schema {version}, schema.graphql (MIT License, see LICENSE).\n\n{pruned}"
    );
    Ok([("rest.json", rest), ("github.graphql", graphql)])
}

/// Writes one operation or schema per line, so that a change of one of them changes one line.
fn one_line_each(pruned: &Value) -> String {
    let operations = pruned["operations"].as_array().into_iter().flatten();
    let operations: Vec<String> = operations.map(Value::to_string).collect();
    let schemas = pruned["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten();
    let schemas: Vec<String> = schemas
        .map(|(name, it)| format!("\"{name}\":{it}"))
        .collect();
    format!(
        "{{\"source\":{},\"version\":{},\n\"operations\":[\n{}\n],\n\"components\":{{\"schemas\":{{\n{}\n}}}}}}\n",
        pruned["source"],
        pruned["version"],
        operations.join(",\n"),
        schemas.join(",\n"),
    )
}
