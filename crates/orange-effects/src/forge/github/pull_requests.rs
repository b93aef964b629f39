//! Pull requests: find, open, edit and merge them.

use orange_engine::forge::checks::Rollup;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{HeadSource, Mergeability, PullRequest};
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId};
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use super::wire::{is_blocked, list, or_default, whole};
use super::{List, MAX_PAGES, PER_PAGE, Repository};
use crate::forge::client::{Conditional, encode};
use crate::forge::error::ForgeError;
use crate::forge::redact::Outbound;

/// A pull request that is to be opened.
#[derive(Clone, Debug, Serialize)]
pub struct NewPullRequest {
    pub title: Outbound,
    pub body: Outbound,
    /// The branch, or `owner:branch` in a fork.
    pub head: String,
    pub base: String,
    pub draft: bool,
}

/// Changes to a pull request; what is `None` stays as it is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PullRequestEdit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Outbound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Outbound>,
    /// `open` or `closed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// How a pull request is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMethod {
    Merge,
    Squash,
    Rebase,
}

#[derive(Serialize)]
struct MergeBody<'a> {
    sha: &'a CommitId,
    merge_method: MergeMethod,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_title: Option<&'a Outbound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_message: Option<&'a Outbound>,
}

/// GitHub's answer to a merge. It proves nothing: the caller has to find the commit in the base
/// branch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct MergeAnswer {
    #[serde(default)]
    pub merged: bool,
    /// The commit on the base branch.
    #[serde(default, rename = "sha")]
    pub commit: Option<CommitId>,
}

#[derive(Deserialize)]
pub(super) struct PullRequestAnswer {
    node_id: String,
    number: u64,
    state: String,
    #[serde(default, deserialize_with = "or_default")]
    draft: bool,
    #[serde(default)]
    merged_at: Option<Timestamp>,
    #[serde(default)]
    mergeable: Option<bool>,
    #[serde(default)]
    mergeable_state: Option<String>,
    head: HeadAnswer,
    base: BaseAnswer,
    updated_at: Timestamp,
}

#[derive(Deserialize)]
struct HeadAnswer {
    #[serde(rename = "ref")]
    branch: String,
    sha: CommitId,
    #[serde(default)]
    repo: Option<RepoAnswer>,
}

#[derive(Deserialize)]
struct RepoAnswer {
    full_name: String,
}

#[derive(Deserialize)]
struct BaseAnswer {
    #[serde(rename = "ref")]
    branch: String,
}

impl PullRequestAnswer {
    /// The facts. The review decision and the rollup are unknown, because only GraphQL states them.
    pub(super) fn into_facts(self) -> (HeadSource, PullRequest) {
        let source = HeadSource {
            repository: self.head.repo.map(|it| it.full_name),
            branch: BranchName::new(self.head.branch),
        };
        let state = match (self.merged_at, self.state.as_str()) {
            (Some(_), _) => PullRequestState::Merged,
            (None, "closed") => PullRequestState::Closed,
            (None, _) => PullRequestState::Open,
        };
        let mergeability = match self.mergeable {
            Some(true) => Knowledge::Known(Mergeability::Clean),
            // GitHub says `false` also for drafts and blocked pull requests, so only `dirty` is a
            // conflict.
            Some(false) if self.mergeable_state.as_deref() == Some("dirty") => {
                Knowledge::Known(Mergeability::Conflicting)
            }
            Some(false) | None => Knowledge::Unknown,
        };
        let pull_request = PullRequest {
            id: self.node_id,
            number: self.number,
            state,
            is_draft: self.draft,
            head: self.head.sha,
            base: BranchName::new(self.base.branch),
            mergeability,
            is_blocked: is_blocked(self.mergeable_state.as_deref()),
            review: Knowledge::Unknown,
            rollup: Knowledge::<Rollup>::Unknown,
            is_queued: false,
            updated: self.updated_at,
        };
        (source, pull_request)
    }
}

impl Repository<'_> {
    /// The open pull requests whose head is this branch of this owner.
    pub fn fetch_pull_requests_of(
        &mut self,
        owner: &str,
        branch: &BranchName,
    ) -> Result<List<(HeadSource, PullRequest)>, ForgeError> {
        let head = encode(&format!("{owner}:{branch}"));
        let path = self.path(&format!(
            "/pulls?state=open&head={head}&per_page={PER_PAGE}"
        ));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        let entries = |page: Vec<PullRequestAnswer>| page;
        Ok(whole(list(pages, entries, PullRequestAnswer::into_facts)))
    }

    /// The heads of the open pull requests, of this repository and of forks.
    pub fn fetch_open_heads(
        &mut self,
        etag: Option<&str>,
    ) -> Result<Conditional<List<HeadSource>>, ForgeError> {
        let path = self.path(&format!("/pulls?state=open&per_page={PER_PAGE}"));
        let pages = self.client.fetch_pages(&path, etag, MAX_PAGES)?;
        let entries = |page: Vec<PullRequestAnswer>| page;
        Ok(list(pages, entries, |it: PullRequestAnswer| {
            it.into_facts().0
        }))
    }

    pub fn fetch_pull_request(
        &mut self,
        number: u64,
    ) -> Result<(HeadSource, PullRequest), ForgeError> {
        let path = self.path(&format!("/pulls/{number}"));
        let answer = self.client.fetch::<PullRequestAnswer>(&path)?;
        Ok(answer.value.into_facts())
    }

    /// Opens a pull request. If it fails because one already exists, the caller should search for
    /// that one.
    pub fn create_pull_request(&mut self, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let path = self.path("/pulls");
        let answer: PullRequestAnswer = self.client.write(Method::POST, &path, new)?;
        Ok(answer.into_facts().1)
    }

    pub fn edit_pull_request(
        &mut self,
        number: u64,
        edit: &PullRequestEdit,
    ) -> Result<PullRequest, ForgeError> {
        let path = self.path(&format!("/pulls/{number}"));
        let answer: PullRequestAnswer = self.client.write(Method::PATCH, &path, edit)?;
        Ok(answer.into_facts().1)
    }

    /// Merges exactly this head; GitHub refuses with a conflict if the head has moved.
    pub fn merge_pull_request(
        &mut self,
        number: u64,
        head: &CommitId,
        method: MergeMethod,
        message: Option<(&Outbound, &Outbound)>,
    ) -> Result<MergeAnswer, ForgeError> {
        let path = self.path(&format!("/pulls/{number}/merge"));
        let body = MergeBody {
            sha: head,
            merge_method: method,
            commit_title: message.map(|it| it.0),
            commit_message: message.map(|it| it.1),
        };
        self.client.write(Method::PUT, &path, &body)
    }
}
