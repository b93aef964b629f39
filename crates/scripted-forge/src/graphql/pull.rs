//! Pull requests.

use std::cell::OnceCell;

use apollo_compiler::resolvers::{ObjectValue, ResolveInfo};

use super::actor::{RepositoryObject, actor, commit, labels, reference};
use super::check::rollup;
use super::issue::{association, comment};
use super::object::{Object, Record, Resolved, View, connection, leaf, object};
use super::review::{ThreadObject, review};
use crate::world::commit::size;
use crate::world::issue::Issue;
use crate::world::node::node_id;
use crate::world::pull::Pull;
use crate::world::repository::Repository;
use crate::world::stamp;

pub struct PullObject<'w> {
    view: View<'w>,
    repository: &'w Repository,
    issue: &'w Issue,
    /// Read once, so that one answer does not contradict itself.
    mergeable: OnceCell<Option<bool>>,
}

/// The state as GraphQL names it.
pub fn state(issue: &Issue) -> &'static str {
    let is_merged = issue.pull.as_ref().is_some_and(|it| it.merge.is_some());
    match (is_merged, issue.is_open) {
        (true, _) => "MERGED",
        (false, true) => "OPEN",
        (false, false) => "CLOSED",
    }
}

impl<'w> PullObject<'w> {
    pub fn boxed(view: View<'w>, repository: &'w Repository, issue: &'w Issue) -> Object<'w> {
        Box::new(Self {
            view,
            repository,
            issue,
            mergeable: OnceCell::new(),
        })
    }

    fn mergeable(&self) -> Option<bool> {
        *self
            .mergeable
            .get_or_init(|| self.view.world.read_mergeable(self.repository, self.issue))
    }

    /// The head's repository, if it exists and the viewer may see it.
    fn head_repository(&self, pull: &Pull) -> Option<Object<'w>> {
        RepositoryObject::visible(self.view, pull.head_repository)
    }

    fn commits(&self, pull: &Pull, info: &ResolveInfo) -> Object<'w> {
        let range = format!("{}..{}", pull.base_sha, pull.head_sha);
        let path = &self.repository.path;
        let found = crate::git::try_git(path, &["rev-list", "--reverse", &range]);
        let found = found.unwrap_or_default();
        let shas: Vec<String> = found.lines().map(str::to_owned).collect();
        // A merged pull request has no commits that the base lacks; its head is still its last
        // commit.
        let shas = if shas.is_empty() {
            vec![pull.head_sha.clone()]
        } else {
            shas
        };
        let render = |sha: String| {
            Record::new("PullRequestCommit")
                .leaf("id", format!("PRC_{}_{sha}", pull.id))
                .object("commit", commit(self.view, self.repository, &sha))
                .boxed()
        };
        connection(
            "PullRequestCommitConnection",
            shas,
            info.arguments(),
            render,
        )
    }

    fn queue_entry(&self, pull: &Pull) -> Option<Object<'w>> {
        queue_entry(self.view, self.repository, self.issue, pull)
    }

    /// Resolves the fields that are lists.
    fn list<'a>(&'a self, pull: &'a Pull, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let (view, repository, issue) = (self.view, self.repository, self.issue);
        let arguments = info.arguments();
        Ok(object(Some(match info.field_name() {
            "labels" => connection(
                "LabelConnection",
                labels(repository, issue),
                arguments,
                |it| it,
            ),
            "comments" => {
                let render = |it| comment(view, repository, issue, it);
                let comments = issue.comments.iter().collect();
                connection("IssueCommentConnection", comments, arguments, render)
            }
            "reviews" => {
                let render = |it| review(view, repository, issue, it);
                let reviews = pull.reviews.iter().collect();
                connection("PullRequestReviewConnection", reviews, arguments, render)
            }
            "latestReviews" => {
                let render = |it| review(view, repository, issue, it);
                let reviews = view.world.latest_reviews(pull);
                connection("PullRequestReviewConnection", reviews, arguments, render)
            }
            "reviewThreads" => {
                let render = |it| ThreadObject::boxed(view, repository, issue, it);
                let threads = pull.threads.iter().collect();
                connection(
                    "PullRequestReviewThreadConnection",
                    threads,
                    arguments,
                    render,
                )
            }
            "commits" => self.commits(pull, info),
            name
            @ ("reviewRequests" | "assignees" | "closingIssuesReferences" | "projectItems") => {
                // The world has no review requests and no assignees, so these lists are empty.
                let name = match name {
                    "reviewRequests" => "ReviewRequestConnection",
                    "assignees" => "UserConnection",
                    "projectItems" => "ProjectV2ItemConnection",
                    _ => "IssueConnection",
                };
                connection(name, Vec::<Object>::new(), arguments, |it| it)
            }
            _ => return Err(self.unknown_field_error(info)),
        })))
    }

    fn state_leaf(&self, pull: &Pull, name: &str) -> Option<serde_json::Value> {
        let (view, repository, issue) = (self.view, self.repository, self.issue);
        Some(match name {
            "state" => state(issue).into(),
            "isDraft" => pull.draft.into(),
            "mergeable" => match self.mergeable() {
                None => "UNKNOWN",
                Some(true) => "MERGEABLE",
                Some(false) => "CONFLICTING",
            }
            .into(),
            "mergeStateStatus" => view
                .world
                .merge_state(repository, issue, self.mergeable())
                .graphql()
                .into(),
            "reviewDecision" => view.world.review_decision(repository, pull).into(),
            "isInMergeQueue" => pull.queued.is_some().into(),
            "isMergeQueueEnabled" => repository.protection(&pull.base_ref).queue.into(),
            "closed" => (!issue.is_open).into(),
            "merged" => pull.merge.is_some().into(),
            "isCrossRepository" => (pull.head_repository != repository.id).into(),
            "maintainerCanModify" => false.into(),
            "additions" => size(&repository.path, &pull.base_sha, &pull.head_sha)
                .additions
                .into(),
            "deletions" => size(&repository.path, &pull.base_sha, &pull.head_sha)
                .deletions
                .into(),
            _ => return None,
        })
    }
}

pub fn queue_entry<'w>(
    view: View<'w>,
    repository: &'w Repository,
    issue: &'w Issue,
    pull: &Pull,
) -> Option<Object<'w>> {
    let entry = pull.queued.as_ref()?;
    let queue = view.world.queue(repository.id, &pull.base_ref);
    let position = queue.iter().position(|it| *it == issue.number).unwrap_or(0) + 1;
    let record = Record::new("MergeQueueEntry")
        .leaf("id", node_id("MQE", entry.id))
        .leaf("position", position)
        .leaf("state", "QUEUED")
        .leaf("enqueuedAt", stamp(entry.at))
        .object(
            "pullRequest",
            Some(PullObject::boxed(view, repository, issue)),
        );
    Some(record.boxed())
}

impl ObjectValue for PullObject<'_> {
    fn type_name(&self) -> &'static str {
        "PullRequest"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let (view, repository, issue) = (self.view, self.repository, self.issue);
        let Some(pull) = &issue.pull else {
            return Err(self.unknown_field_error(info));
        };
        if let Some(value) = self.state_leaf(pull, info.field_name()) {
            return Ok(leaf(value));
        }
        let address = || {
            format!(
                "https://github.com/{}/pull/{}",
                repository.full_name(),
                issue.number
            )
        };
        let merge = pull.merge.as_ref();
        Ok(match info.field_name() {
            "id" => leaf(issue.node_id()),
            "databaseId" => leaf(pull.id),
            "fullDatabaseId" => leaf(pull.id.to_string()),
            "number" => leaf(issue.number),
            "title" => leaf(issue.title()),
            "body" => leaf(issue.body()),
            "url" | "permalink" => leaf(address()),
            "headRefName" => leaf(pull.head_ref.as_str()),
            "headRefOid" => leaf(pull.head_sha.as_str()),
            "baseRefName" => leaf(pull.base_ref.as_str()),
            "baseRefOid" => leaf(pull.base_sha.as_str()),
            "closedAt" => leaf(issue.closed_at.map(stamp)),
            "createdAt" => leaf(stamp(issue.created_at)),
            "updatedAt" => leaf(stamp(issue.updated_at)),
            "lastEditedAt" => leaf(issue.last_edit().map(|it| stamp(it.at))),
            "mergedAt" => leaf(merge.map(|it| stamp(it.at))),
            "mergedBy" => object(merge.and_then(|it| actor(view.world, &it.by))),
            "mergeCommit" => object(merge.and_then(|it| commit(view, repository, &it.sha))),
            "author" => object(actor(view.world, &issue.author)),
            "authorAssociation" => leaf(association(view, repository, &issue.author)),
            "repository" | "baseRepository" => {
                object(Some(RepositoryObject::boxed(view, repository)))
            }
            "headRepository" => object(self.head_repository(pull)),
            "headRepositoryOwner" => {
                let head = view.world.repository_by_id(pull.head_repository);
                object(head.and_then(|it| actor(view.world, &it.owner)))
            }
            "headRef" => {
                let head = view.world.repository_by_id(pull.head_repository);
                object(head.and_then(|it| reference(view, it, &pull.head_ref)))
            }
            "statusCheckRollup" => object(rollup(view, repository, &pull.head_sha)),
            "mergeQueueEntry" => object(self.queue_entry(pull)),
            "autoMergeRequest" | "milestone" => object(None),
            "reactionGroups" => leaf(None::<String>),
            _ => return self.list(pull, info),
        })
    }
}
