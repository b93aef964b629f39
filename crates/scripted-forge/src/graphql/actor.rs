//! Accounts, repositories, references and commits.

use apollo_compiler::resolvers::{ObjectValue, ResolveInfo};

use super::check::rollup;
use super::issue::{IssueObject, issue_or_pull};
use super::object::{
    Object, Record, Resolved, View, connection, leaf, number, object, refuse, text,
};
use super::pull::PullObject;
use crate::world::commit::commit_info;
use crate::world::issue::Issue;
use crate::world::node::node_id;
use crate::world::repository::{Permission, Repository};
use crate::world::user::Kind;
use crate::world::{World, stamp};

/// An account; a deleted one is null.
pub fn actor<'w>(world: &World, login: &str) -> Option<Object<'w>> {
    let user = world.living_user(login)?;
    let record = Record::new(user.kind_name())
        .leaf("id", user.node_id())
        .leaf("databaseId", user.id)
        .leaf("login", user.login.clone())
        .leaf("url", format!("https://github.com/{}", user.login));
    let record = match user.kind {
        Kind::Bot => record,
        Kind::User | Kind::Organization => record.leaf("name", user.login.clone()),
    };
    Some(record.boxed())
}

pub fn commit<'w>(view: View<'w>, repository: &'w Repository, sha: &str) -> Option<Object<'w>> {
    let info = commit_info(&repository.path, sha)?;
    let record = Record::new("Commit")
        .leaf("id", format!("C_{sha}"))
        .leaf("oid", info.sha.clone())
        .leaf("messageHeadline", info.subject)
        .leaf("committedDate", stamp(info.at))
        .object("statusCheckRollup", rollup(view, repository, &info.sha));
    Some(record.boxed())
}

/// A branch by its short name.
pub fn reference<'w>(view: View<'w>, repository: &'w Repository, name: &str) -> Option<Object<'w>> {
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    let sha = repository.branches.get(name)?;
    let record = Record::new("Ref")
        .leaf("id", format!("REF_{}_{name}", repository.id))
        .leaf("name", name)
        .object("target", commit(view, repository, sha));
    Some(record.boxed())
}

pub struct RepositoryObject<'w> {
    pub view: View<'w>,
    pub repository: &'w Repository,
}

impl<'w> RepositoryObject<'w> {
    pub fn boxed(view: View<'w>, repository: &'w Repository) -> Object<'w> {
        Box::new(Self { view, repository })
    }

    /// The repository, if the viewer may see it.
    pub fn visible(view: View<'w>, id: u64) -> Option<Object<'w>> {
        let found = view.world.repository_by_id(id)?;
        let permission = view.world.permission(found, view.viewer);
        (permission >= Permission::Read).then(|| Self::boxed(view, found))
    }

    fn numbered(&self, info: &ResolveInfo, kind: &str) -> Result<&'w Issue, super::FieldError> {
        let wanted = number(info.arguments(), "number").unwrap_or(0);
        let found = self.repository.issue(wanted).filter(|it| match kind {
            "Issue" => it.pull.is_none(),
            "PullRequest" => it.pull.is_some(),
            _ => true,
        });
        let message = format!("Could not resolve to a {kind} with the number of {wanted}.");
        found.ok_or_else(|| refuse("NOT_FOUND", &message))
    }

    fn pulls(&self, info: &ResolveInfo) -> Vec<&'w Issue> {
        let arguments = info.arguments();
        let states = arguments.get("states").and_then(|it| it.as_array());
        let mut found: Vec<&Issue> = self.repository.issues.iter().collect();
        found.retain(|it| {
            let Some(pull) = &it.pull else { return false };
            let state = super::pull::state(it);
            states.is_none_or(|states| states.iter().any(|it| it.as_str() == Some(state)))
                && text(arguments, "headRefName").is_none_or(|it| it == pull.head_ref)
                && text(arguments, "baseRefName").is_none_or(|it| it == pull.base_ref)
        });
        order(&mut found, info);
        found
    }

    fn issues(&self, info: &ResolveInfo) -> Vec<&'w Issue> {
        let states = info.arguments().get("states").and_then(|it| it.as_array());
        let issues = self.repository.issues.iter().filter(|it| it.pull.is_none());
        let mut found: Vec<&Issue> = issues
            .filter(|it| {
                let state = if it.is_open { "OPEN" } else { "CLOSED" };
                states.is_none_or(|states| states.iter().any(|it| it.as_str() == Some(state)))
            })
            .collect();
        order(&mut found, info);
        found
    }
}

fn order(issues: &mut [&Issue], info: &ResolveInfo) {
    let Some(order) = info
        .arguments()
        .get("orderBy")
        .and_then(|it| it.as_object())
    else {
        return;
    };
    if text(order, "field") == Some("UPDATED_AT") {
        issues.sort_by_key(|it| (it.updated_at, it.number));
    }
    if text(order, "direction") == Some("DESC") {
        issues.reverse();
    }
}

impl ObjectValue for RepositoryObject<'_> {
    fn type_name(&self) -> &'static str {
        "Repository"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let (view, repository) = (self.view, self.repository);
        Ok(match info.field_name() {
            "id" => leaf(repository.node_id()),
            "databaseId" => leaf(repository.id),
            "name" => leaf(repository.name.as_str()),
            "nameWithOwner" => leaf(repository.full_name()),
            "url" => leaf(format!("https://github.com/{}", repository.full_name())),
            "isPrivate" => leaf(repository.private),
            "isArchived" => leaf(repository.archived),
            "isFork" => leaf(repository.parent.is_some()),
            "hasIssuesEnabled" => leaf(repository.has_issues),
            "deleteBranchOnMerge" => leaf(false),
            "mergeCommitAllowed" | "squashMergeAllowed" | "rebaseMergeAllowed" => leaf(true),
            "viewerPermission" => {
                let permission = view.world.permission(repository, view.viewer);
                leaf(permission.role().to_uppercase())
            }
            "owner" => object(actor(view.world, &repository.owner)),
            "parent" => object(repository.parent.and_then(|it| Self::visible(view, it))),
            "defaultBranchRef" => object(reference(view, repository, &repository.default_branch)),
            "ref" => {
                let name = text(info.arguments(), "qualifiedName").unwrap_or_default();
                object(reference(view, repository, name))
            }
            "pullRequest" => {
                let issue = self.numbered(info, "PullRequest")?;
                object(Some(PullObject::boxed(view, repository, issue)))
            }
            "issue" => {
                let issue = self.numbered(info, "Issue")?;
                object(Some(IssueObject::boxed(view, repository, issue)))
            }
            "issueOrPullRequest" => {
                let issue = self.numbered(info, "issue or pull request")?;
                object(Some(issue_or_pull(view, repository, issue)))
            }
            "pullRequests" => {
                let render = |it| PullObject::boxed(view, repository, it);
                let pulls = self.pulls(info);
                object(Some(connection(
                    "PullRequestConnection",
                    pulls,
                    info.arguments(),
                    render,
                )))
            }
            "issues" => {
                let render = |it| IssueObject::boxed(view, repository, it);
                let issues = self.issues(info);
                object(Some(connection(
                    "IssueConnection",
                    issues,
                    info.arguments(),
                    render,
                )))
            }
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

/// The labels of an issue.
pub fn labels<'w>(repository: &Repository, issue: &Issue) -> Vec<Object<'w>> {
    let labels = issue.labels.iter().filter_map(|it| repository.label(it));
    labels
        .map(|it| {
            Record::new("Label")
                .leaf("id", node_id("LA", it.id))
                .leaf("name", it.name.clone())
                .leaf("color", it.color.clone())
                .leaf("description", it.description.clone())
                .boxed()
        })
        .collect()
}
