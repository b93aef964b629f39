//! Changes that only GraphQL offers.

use orange_engine::names::{BranchName, CommitId};
use serde::Serialize;
use serde_json::Value;

use crate::forge::client::Client;
use crate::forge::error::{ForgeError, Trouble};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Input<T> {
    input: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PullRequestInput<'a> {
    pull_request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_head_oid: Option<&'a CommitId>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LinkedBranchInput<'a> {
    issue_id: &'a str,
    oid: &'a CommitId,
    name: &'a BranchName,
}

fn mutate(
    client: &mut Client,
    name: &str,
    kind: &str,
    result: &str,
    input: impl Serialize,
) -> Result<(), ForgeError> {
    let query = format!("mutation($input:{kind}!){{{name}(input:$input){{{result}{{id}}}}}}");
    let data = client.mutate::<Value>(&query, Input { input })?;
    if data[name][result]["id"].is_string() {
        return Ok(());
    }
    // GitHub answers so, without an error, if the branch already exists.
    Err(ForgeError {
        request: String::from("POST /graphql"),
        trouble: Trouble::Malformed {
            reason: format!("`{name}` returned no `{result}`"),
        },
    })
}

/// Ends the draft state of a pull request.
pub fn mark_ready(client: &mut Client, pull_request_id: &str) -> Result<(), ForgeError> {
    let (name, kind) = (
        "markPullRequestReadyForReview",
        "MarkPullRequestReadyForReviewInput",
    );
    let input = PullRequestInput {
        pull_request_id,
        expected_head_oid: None,
    };
    mutate(client, name, kind, "pullRequest", input)
}

/// Puts a pull request with exactly this head into the merge queue; GitHub decides later whether to
/// merge it.
pub fn enqueue(
    client: &mut Client,
    pull_request_id: &str,
    head: &CommitId,
) -> Result<(), ForgeError> {
    let input = PullRequestInput {
        pull_request_id,
        expected_head_oid: Some(head),
    };
    let kind = "EnqueuePullRequestInput";
    mutate(client, "enqueuePullRequest", kind, "mergeQueueEntry", input)
}

/// Creates a branch that GitHub links to the issue.
pub fn create_linked_branch(
    client: &mut Client,
    issue_id: &str,
    oid: &CommitId,
    name: &BranchName,
) -> Result<(), ForgeError> {
    let kind = "CreateLinkedBranchInput";
    let input = LinkedBranchInput {
        issue_id,
        oid,
        name,
    };
    mutate(client, "createLinkedBranch", kind, "linkedBranch", input)
}
