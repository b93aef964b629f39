//! Reviews, threads and their comments.

use apollo_compiler::resolvers::{ObjectValue, ResolveInfo};

use super::actor::{actor, commit};
use super::issue::association;
use super::object::{Object, Record, Resolved, View, connection, leaf, object};
use crate::world::issue::Issue;
use crate::world::node::node_id;
use crate::world::repository::Repository;
use crate::world::review::{Review, ReviewComment, Thread};
use crate::world::stamp;

pub fn review<'w>(
    view: View<'w>,
    repository: &'w Repository,
    issue: &Issue,
    review: &Review,
) -> Object<'w> {
    let web = format!(
        "https://github.com/{}/pull/{}",
        repository.full_name(),
        issue.number
    );
    Record::new("PullRequestReview")
        .leaf("id", node_id("PRR", review.id))
        .leaf("databaseId", review.id)
        .leaf("fullDatabaseId", review.id.to_string())
        .leaf("state", review.state.name())
        .leaf("body", review.body.clone())
        .leaf("createdAt", stamp(review.at))
        .leaf("submittedAt", stamp(review.at))
        .leaf("updatedAt", stamp(review.at))
        .leaf("reactionGroups", None::<String>)
        .leaf("url", format!("{web}#pullrequestreview-{}", review.id))
        .leaf(
            "authorAssociation",
            association(view, repository, &review.author),
        )
        .object("author", actor(view.world, &review.author))
        .object("commit", commit(view, repository, &review.commit))
        .boxed()
}

pub struct ThreadObject<'w> {
    view: View<'w>,
    repository: &'w Repository,
    issue: &'w Issue,
    thread: &'w Thread,
}

impl<'w> ThreadObject<'w> {
    pub fn boxed(
        view: View<'w>,
        repository: &'w Repository,
        issue: &'w Issue,
        thread: &'w Thread,
    ) -> Object<'w> {
        Box::new(Self {
            view,
            repository,
            issue,
            thread,
        })
    }
}

impl<'w> ThreadObject<'w> {
    fn comment(&self, comment: &ReviewComment) -> Object<'w> {
        let (view, repository, thread) = (self.view, self.repository, self.thread);
        let pull = self.issue.number;
        let web = format!("https://github.com/{}/pull/{pull}", repository.full_name());
        let reviews = self.issue.pull.iter().flat_map(|it| &it.reviews);
        let own = reviews.into_iter().find(|it| Some(it.id) == comment.review);
        Record::new("PullRequestReviewComment")
            .leaf("id", node_id("PRRC", comment.id))
            .leaf("databaseId", comment.id)
            .leaf("fullDatabaseId", comment.id.to_string())
            .leaf("body", comment.body.clone())
            .leaf("path", thread.path.clone())
            .leaf("line", (!thread.outdated).then_some(thread.line))
            .leaf("originalLine", thread.line)
            .leaf("outdated", thread.outdated)
            .leaf("createdAt", stamp(comment.at))
            .leaf("updatedAt", stamp(comment.at))
            .leaf("url", format!("{web}#discussion_r{}", comment.id))
            .leaf(
                "authorAssociation",
                association(view, repository, &comment.author),
            )
            .object("author", actor(view.world, &comment.author))
            .object("commit", commit(view, repository, &thread.commit))
            .object("originalCommit", commit(view, repository, &thread.commit))
            .object(
                "pullRequestReview",
                own.map(|it| review(view, repository, self.issue, it)),
            )
            .boxed()
    }
}

impl ObjectValue for ThreadObject<'_> {
    fn type_name(&self) -> &'static str {
        "PullRequestReviewThread"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let thread = self.thread;
        Ok(match info.field_name() {
            "id" => leaf(node_id("PRRT", thread.id)),
            "isResolved" | "isCollapsed" => leaf(thread.resolved_by.is_some()),
            "isOutdated" => leaf(thread.outdated),
            "path" => leaf(thread.path.as_str()),
            "line" => leaf((!thread.outdated).then_some(thread.line)),
            "originalLine" => leaf(thread.line),
            "startLine" => leaf(None::<u64>),
            "resolvedBy" => {
                let login = thread.resolved_by.as_ref();
                object(login.and_then(|it| actor(self.view.world, it)))
            }
            "comments" => {
                let name = "PullRequestReviewCommentConnection";
                let comments = thread.comments.iter().collect();
                let render = |it| self.comment(it);
                object(Some(connection(name, comments, info.arguments(), render)))
            }
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}
