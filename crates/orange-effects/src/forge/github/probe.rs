//! Finds the pull requests of a branch, including those of other accounts.

use orange_engine::forge::pull_request::{HeadSource, PullRequest};
use orange_engine::names::BranchName;
use serde::{Deserialize, Serialize};

use super::glance::{FIELDS, PullRequestNode};
use super::{List, Repository};
use crate::forge::error::{ForgeError, Trouble};

/// Forks may have a branch of the same name, and each of them a pull request.
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
    nodes: Vec<Option<CandidateNode>>,
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
    #[serde(default)]
    head_repository: Option<HeadRepository>,
    #[serde(flatten)]
    pull_request: PullRequestNode,
}

#[derive(Deserialize)]
struct HeadRepository {
    #[serde(rename = "nameWithOwner")]
    full_name: String,
}

impl Repository<'_> {
    /// The open pull requests whose head has this name, in this repository or in a fork.
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
        let nodes = found.nodes.into_iter().flatten();
        let items = nodes.map(|node| {
            let source = HeadSource {
                repository: node.head_repository.map(|it| it.full_name),
                branch: BranchName::new(node.head_ref_name),
            };
            (source, node.pull_request.into_facts())
        });
        Ok(List {
            items: items.collect(),
            is_complete: !found.page_info.has_next_page && answer.missing.is_empty(),
            etag: None,
            moved_to: None,
        })
    }
}
