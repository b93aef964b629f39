//! Finds the pull requests of a branch, including those of other accounts.

use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{HeadSource, PullRequest};
use orange_engine::names::BranchName;
use serde::{Deserialize, Serialize};

use super::glance::{FIELDS, PullRequestNode};
use super::wire::{Maybe, nullable};
use super::{List, Repository};
use crate::forge::error::{ForgeError, Trouble};

/// How many pull requests are read. Several forks may have a branch of the same name, each with its
/// own pull request.
const CANDIDATES: usize = 20;

#[derive(Serialize)]
struct Variables<'a> {
    owner: &'a str,
    name: &'a str,
    branch: &'a BranchName,
}

#[derive(Deserialize)]
struct ProbeData {
    #[serde(default)]
    repository: Option<RepositoryNode>,
}

#[derive(Deserialize)]
struct RepositoryNode {
    #[serde(rename = "pullRequests")]
    pull_requests: Connection,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    page_info: PageInfo,
    nodes: Vec<Option<Maybe<Box<CandidateNode>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CandidateNode {
    head_ref_name: String,
    /// `null` when the fork was deleted.
    #[serde(default, deserialize_with = "nullable")]
    head_repository: Knowledge<HeadRepository>,
    #[serde(flatten)]
    pull_request: PullRequestNode,
}

#[derive(Deserialize)]
struct HeadRepository {
    #[serde(rename = "nameWithOwner")]
    full_name: String,
}

impl Repository<'_> {
    /// The open pull requests whose head is a branch of this name, in this repository or in a fork.
    pub fn probe_branch(
        &mut self,
        branch: &BranchName,
    ) -> Result<List<(HeadSource, PullRequest)>, ForgeError> {
        let query = format!(
            "query($owner:String!,$name:String!,$branch:String!){{\
             repository(owner:$owner,name:$name){{\
             pullRequests(headRefName:$branch,first:{CANDIDATES},states:[OPEN]){{\
             pageInfo{{hasNextPage}} nodes{{headRefName headRepository{{nameWithOwner}} {FIELDS}}}}}}}}}"
        );
        let variables = Variables {
            owner: &self.owner,
            name: &self.name,
            branch,
        };
        let answer = self.client.query::<ProbeData>(&query, variables)?;
        let Some(repository) = answer.data.repository else {
            return Err(ForgeError {
                request: String::from("POST /graphql"),
                trouble: Trouble::AbsentOrNotAllowed {
                    message: format!("{}/{}", self.owner, self.name),
                },
            });
        };
        let found = repository.pull_requests;
        let count = found.nodes.len();
        let nodes = found.nodes.into_iter().flatten();
        let items: Vec<_> = nodes.filter_map(candidate).collect();
        let is_last = !found.page_info.has_next_page && items.len() == count;
        Ok(List {
            items,
            is_complete: is_last && answer.missing.is_empty(),
            etag: None,
            moved_to: None,
        })
    }
}

/// A pull request and its head; `None` if the head's repository is unknown.
fn candidate(node: Maybe<Box<CandidateNode>>) -> Option<(HeadSource, PullRequest)> {
    let Maybe::Whole(node) = node else {
        return None;
    };
    let source = HeadSource {
        repository: match node.head_repository {
            Knowledge::Known(repository) => Some(repository.full_name),
            Knowledge::None => None,
            Knowledge::Unknown => return None,
        },
        branch: BranchName::new(node.head_ref_name),
    };
    Some((source, node.pull_request.into_facts()))
}
