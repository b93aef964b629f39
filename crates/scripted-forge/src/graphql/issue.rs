//! Issues and comments.

use apollo_compiler::resolvers::{ObjectValue, ResolveInfo};

use super::actor::{RepositoryObject, actor, labels, reference};
use super::object::{Object, Record, Resolved, View, connection, leaf, object};
use super::pull::PullObject;
use crate::world::issue::{Comment, Issue};
use crate::world::node::node_id;
use crate::world::repository::{Permission, Repository};
use crate::world::stamp;

pub struct IssueObject<'w> {
    view: View<'w>,
    repository: &'w Repository,
    issue: &'w Issue,
}

impl<'w> IssueObject<'w> {
    pub fn boxed(view: View<'w>, repository: &'w Repository, issue: &'w Issue) -> Object<'w> {
        Box::new(Self {
            view,
            repository,
            issue,
        })
    }
}

/// The object behind a number: an issue or a pull request.
pub fn issue_or_pull<'w>(
    view: View<'w>,
    repository: &'w Repository,
    issue: &'w Issue,
) -> Object<'w> {
    match issue.pull {
        Some(_) => PullObject::boxed(view, repository, issue),
        None => IssueObject::boxed(view, repository, issue),
    }
}

pub fn association(view: View, repository: &Repository, login: &str) -> &'static str {
    match view.world.permission(repository, login) {
        _ if repository.owner == login => "OWNER",
        Permission::None | Permission::Read => "NONE",
        _ => "COLLABORATOR",
    }
}

pub fn comment<'w>(
    view: View<'w>,
    repository: &Repository,
    issue: &Issue,
    comment: &Comment,
) -> Object<'w> {
    let web = format!(
        "https://github.com/{}/issues/{}",
        repository.full_name(),
        issue.number
    );
    let edited = comment.editor.is_some();
    Record::new("IssueComment")
        .leaf("id", node_id("IC", comment.id))
        .leaf("databaseId", comment.id)
        .leaf("fullDatabaseId", comment.id.to_string())
        .leaf("body", comment.body.clone())
        .leaf("createdAt", stamp(comment.created_at))
        .leaf("updatedAt", stamp(comment.updated_at))
        .leaf("lastEditedAt", edited.then(|| stamp(comment.updated_at)))
        .leaf("includesCreatedEdit", false)
        .leaf("isMinimized", false)
        .leaf("minimizedReason", None::<String>)
        .leaf("reactionGroups", None::<String>)
        .leaf("url", format!("{web}#issuecomment-{}", comment.id))
        .leaf("viewerDidAuthor", comment.author == view.viewer)
        .leaf(
            "authorAssociation",
            association(view, repository, &comment.author),
        )
        .object("author", actor(view.world, &comment.author))
        .object(
            "editor",
            comment.editor.as_ref().and_then(|it| actor(view.world, it)),
        )
        .boxed()
}

impl ObjectValue for IssueObject<'_> {
    fn type_name(&self) -> &'static str {
        "Issue"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let (view, repository, issue) = (self.view, self.repository, self.issue);
        let arguments = info.arguments();
        Ok(match info.field_name() {
            "id" => leaf(issue.node_id()),
            "databaseId" => leaf(issue.id),
            "fullDatabaseId" => leaf(issue.id.to_string()),
            "number" => leaf(issue.number),
            "title" => leaf(issue.title()),
            "body" => leaf(issue.body()),
            "state" => leaf(if issue.is_open { "OPEN" } else { "CLOSED" }),
            "stateReason" => leaf(issue.state_reason.as_ref().map(|it| it.to_uppercase())),
            "closed" => leaf(!issue.is_open),
            "closedAt" => leaf(issue.closed_at.map(stamp)),
            "createdAt" => leaf(stamp(issue.created_at)),
            "updatedAt" => leaf(stamp(issue.updated_at)),
            "lastEditedAt" => leaf(issue.last_edit().map(|it| stamp(it.at))),
            "editor" => object(issue.last_edit().and_then(|it| actor(view.world, &it.by))),
            "url" => {
                let full = repository.full_name();
                leaf(format!("https://github.com/{full}/issues/{}", issue.number))
            }
            "author" => object(actor(view.world, &issue.author)),
            "authorAssociation" => leaf(association(view, repository, &issue.author)),
            "repository" => object(Some(RepositoryObject::boxed(view, repository))),
            "labels" => {
                let labels = labels(repository, issue);
                object(Some(connection(
                    "LabelConnection",
                    labels,
                    arguments,
                    |it| it,
                )))
            }
            "comments" => {
                let comments = issue.comments.iter().collect();
                let render = |it| comment(view, repository, issue, it);
                object(Some(connection(
                    "IssueCommentConnection",
                    comments,
                    arguments,
                    render,
                )))
            }
            "linkedBranches" => {
                let branches = issue.linked_branches.iter().collect();
                let render = |it| linked_branch(view, repository, it);
                object(Some(connection(
                    "LinkedBranchConnection",
                    branches,
                    arguments,
                    render,
                )))
            }
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

pub fn linked_branch<'w>(
    view: View<'w>,
    repository: &'w Repository,
    branch: &(u64, String),
) -> Object<'w> {
    Record::new("LinkedBranch")
        .leaf("id", node_id("LB", branch.0))
        .object("ref", reference(view, repository, &branch.1))
        .boxed()
}
