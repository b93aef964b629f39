//! Pull requests and review comments as REST shows them.

use serde_json::{Value, json};

use super::render::{Render, extend};
use crate::world::commit::size;
use crate::world::issue::Issue;
use crate::world::node::node_id;
use crate::world::pull::Pull;
use crate::world::repository::Repository;
use crate::world::review::{ReviewComment, Thread};
use crate::world::stamp;

impl Render<'_> {
    /// A pull request as lists show it, without mergeability.
    pub fn pull_simple(&self, repository: &Repository, issue: &Issue) -> Value {
        let Some(pull) = &issue.pull else {
            return Value::Null;
        };
        let url = format!("{}/repos/{}", self.base, repository.full_name());
        let own = format!("{url}/pulls/{}", issue.number);
        let as_issue = format!("{url}/issues/{}", issue.number);
        let web = format!(
            "https://github.com/{}/pull/{}",
            repository.full_name(),
            issue.number
        );
        let statuses = format!("{url}/statuses/{}", pull.head_sha);
        let mut shown = json!({
            "id": pull.id, "node_id": issue.node_id(), "number": issue.number, "url": own,
            "html_url": web, "diff_url": format!("{web}.diff"), "patch_url": format!("{web}.patch"),
            "issue_url": as_issue, "commits_url": format!("{own}/commits"),
            "review_comments_url": format!("{own}/comments"),
            "review_comment_url": format!("{url}/pulls/comments{{/number}}"),
            "comments_url": format!("{as_issue}/comments"), "statuses_url": statuses,
            "state": if issue.is_open { "open" } else { "closed" }, "locked": false,
            "title": issue.title(), "user": self.user(&issue.author), "body": issue.body(),
            "labels": self.labels(repository, issue), "milestone": null, "active_lock_reason": null,
            "created_at": stamp(issue.created_at), "updated_at": stamp(issue.updated_at),
            "closed_at": issue.closed_at.map(stamp),
            "merged_at": pull.merge.as_ref().map(|it| stamp(it.at)),
            "merge_commit_sha": pull.merge.as_ref().map(|it| it.sha.clone()),
            "assignee": null, "assignees": [], "requested_reviewers": [], "requested_teams": [],
            "author_association": self.association(repository, &issue.author),
            "auto_merge": null, "draft": pull.draft, "head": self.head(pull),
            "base": {
                "label": format!("{}:{}", repository.owner, pull.base_ref), "ref": pull.base_ref,
                "sha": pull.base_sha, "user": self.user_or_ghost(&repository.owner),
                "repo": self.repository(repository),
            },
        });
        let link = |href: String| json!({ "href": href });
        shown["_links"] = json!({
            "self": link(own.clone()), "html": link(web), "issue": link(as_issue.clone()),
            "comments": link(format!("{as_issue}/comments")),
            "review_comments": link(format!("{own}/comments")),
            "review_comment": link(format!("{url}/pulls/comments{{/number}}")),
            "commits": link(format!("{own}/commits")), "statuses": link(statuses),
        });
        shown
    }

    /// A pull request in full. Reading it makes GitHub compute mergeability.
    pub fn pull(&self, repository: &Repository, issue: &Issue) -> Value {
        let mut shown = self.pull_simple(repository, issue);
        let Some(pull) = &issue.pull else {
            return shown;
        };
        let mergeable = self.world.read_mergeable(repository, issue);
        let state = self.world.merge_state(repository, issue, mergeable);
        let size = size(&repository.path, &pull.base_sha, &pull.head_sha);
        let comments: usize = pull.threads.iter().map(|it| it.comments.len()).sum();
        extend(
            &mut shown,
            json!({
                "user": self.user_or_ghost(&issue.author), "merged": pull.merge.is_some(),
                "mergeable": mergeable, "mergeable_state": state.rest(), "rebaseable": mergeable,
                "merged_by": pull.merge.as_ref().map(|it| self.user(&it.by)),
                "comments": issue.comments.len(), "review_comments": comments,
                "maintainer_can_modify": false, "commits": size.commits,
                "additions": size.additions, "deletions": size.deletions, "changed_files": size.files,
            }),
        );
        shown
    }

    /// The head of a pull request. Its repository may be gone while the pull request stays.
    fn head(&self, pull: &Pull) -> Value {
        let repository = self.world.repository_by_id(pull.head_repository);
        let owner = repository.map_or("unknown", |it| &it.owner);
        json!({
            "label": format!("{owner}:{}", pull.head_ref), "ref": pull.head_ref,
            "sha": pull.head_sha, "user": self.user_or_ghost(owner),
            "repo": repository.map(|it| self.repository(it)),
        })
    }

    pub fn review_comment(
        &self,
        repository: &Repository,
        issue: &Issue,
        thread: &Thread,
        comment: &ReviewComment,
    ) -> Value {
        let url = format!("{}/repos/{}/pulls", self.base, repository.full_name());
        let own = format!("{url}/comments/{}", comment.id);
        let pull = format!("{url}/{}", issue.number);
        let web = format!(
            "https://github.com/{}/pull/{}",
            repository.full_name(),
            issue.number
        );
        let web = format!("{web}#discussion_r{}", comment.id);
        json!({
            "id": comment.id, "node_id": node_id("PRRC", comment.id), "url": own,
            "pull_request_review_id": comment.review, "in_reply_to_id": comment.reply_to,
            "diff_hunk": "@@ -0,0 +1 @@", "path": thread.path, "line": thread.line,
            "commit_id": thread.commit, "original_commit_id": thread.commit,
            "user": self.user(&comment.author), "body": comment.body,
            "created_at": stamp(comment.at), "updated_at": stamp(comment.at), "html_url": web,
            "pull_request_url": pull,
            "author_association": self.association(repository, &comment.author),
            "_links": {
                "self": { "href": own }, "html": { "href": web }, "pull_request": { "href": pull },
            },
        })
    }
}
