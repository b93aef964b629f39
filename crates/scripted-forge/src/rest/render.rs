//! Accounts, repositories, labels, issues and comments as REST shows them.

use serde_json::{Map, Value, json};

use crate::world::issue::{Comment, Event, Issue};
use crate::world::node::node_id;
use crate::world::repository::{Label, Permission, Repository};
use crate::world::user::User;
use crate::world::{World, stamp};

/// Renders the objects of the world as JSON of the REST API.
#[derive(Clone, Copy)]
pub struct Render<'a> {
    pub world: &'a World,
    pub base: &'a str,
}

impl Render<'_> {
    /// An account, or null when it was deleted.
    pub fn user(&self, login: &str) -> Value {
        self.world
            .living_user(login)
            .map_or(Value::Null, |it| self.account(it))
    }

    /// An account; `ghost` stands for a deleted one where the schema requires an account.
    pub fn user_or_ghost(&self, login: &str) -> Value {
        match self.world.living_user(login) {
            Some(user) => self.account(user),
            None => self.account(&User {
                id: 10137,
                login: "ghost".to_owned(),
                kind: crate::world::user::Kind::User,
                token: String::new(),
                token_works: false,
                scopes: None,
                deleted: false,
            }),
        }
    }

    fn account(&self, user: &User) -> Value {
        let login = user.rest_login();
        let url = format!("{}/users/{}", self.base, crate::http::encode(&login));
        let mut account = json!({
            "login": login, "id": user.id, "node_id": user.node_id(), "gravatar_id": "",
            "avatar_url": format!("{}/avatars/{}", self.base, user.id), "url": url,
            "html_url": format!("https://github.com/{login}"), "type": user.kind_name(),
            "user_view_type": "public", "site_admin": false,
        });
        for (key, rest) in [
            ("followers_url", "followers"),
            ("following_url", "following{/other_user}"),
            ("gists_url", "gists{/gist_id}"),
            ("starred_url", "starred{/owner}{/repo}"),
            ("subscriptions_url", "subscriptions"),
            ("organizations_url", "orgs"),
            ("repos_url", "repos"),
            ("events_url", "events{/privacy}"),
            ("received_events_url", "received_events"),
        ] {
            account[key] = json!(format!("{url}/{rest}"));
        }
        account
    }

    /// The caller's own account.
    pub fn own_account(&self, user: &User) -> Value {
        let mut account = self.account(user);
        let created = stamp(0);
        let more = json!({
            "name": user.login, "company": null, "blog": "", "location": null, "email": null,
            "hireable": null, "bio": null, "twitter_username": null, "public_repos": 0,
            "public_gists": 0, "followers": 0, "following": 0, "created_at": created,
            "updated_at": created, "private_gists": 0, "total_private_repos": 0,
            "owned_private_repos": 0, "disk_usage": 0, "collaborators": 0,
            "two_factor_authentication": true,
        });
        extend(&mut account, more);
        account
    }

    /// A repository, with the keys of all forms that GitHub has for it.
    pub fn repository(&self, repository: &Repository) -> Value {
        let full = repository.full_name();
        let url = format!("{}/repos/{full}", self.base);
        let web = format!("https://github.com/{full}");
        let open = repository.issues.iter().filter(|it| it.is_open).count();
        let mut shown = json!({
            "id": repository.id, "node_id": repository.node_id(), "name": repository.name,
            "full_name": full, "owner": self.user_or_ghost(&repository.owner),
            "private": repository.private, "visibility": if repository.private { "private" } else { "public" },
            "html_url": web, "description": null, "fork": repository.parent.is_some(), "url": url,
            "created_at": stamp(repository.created_at), "updated_at": stamp(repository.pushed_at),
            "pushed_at": stamp(repository.pushed_at), "homepage": null, "size": 1,
            "stargazers_count": 0, "watchers_count": 0, "language": null,
            "has_issues": repository.has_issues, "has_projects": false, "has_downloads": false,
            "has_wiki": false, "has_pages": false, "has_discussions": false, "forks_count": 0,
            "mirror_url": null,
        });
        let more = json!({
            "archived": repository.archived, "disabled": false,
            "open_issues_count": open, "license": null, "allow_forking": true, "forks": 0,
            "open_issues": open, "watchers": 0, "default_branch": repository.default_branch,
            "network_count": 0, "subscribers_count": 0, "topics": [], "is_template": false,
            "web_commit_signoff_required": false, "allow_merge_commit": true,
            "allow_squash_merge": true, "allow_rebase_merge": true, "delete_branch_on_merge": false,
            "git_url": format!("git://github.com/{full}.git"), "svn_url": web,
            "ssh_url": format!("git@github.com:{full}.git"), "clone_url": format!("{web}.git"),
        });
        extend(&mut shown, more);
        for (key, rest) in REPOSITORY_ADDRESSES {
            shown[*key] = json!(format!("{url}/{rest}"));
        }
        if let Some(parent) = repository
            .parent
            .and_then(|it| self.world.repository_by_id(it))
        {
            let parent = self.repository(parent);
            shown["source"] = parent.clone();
            shown["parent"] = parent;
        }
        shown
    }

    /// A permission as GitHub's older flags, such as `push`.
    pub fn permissions(permission: Permission) -> Value {
        json!({
            "admin": permission >= Permission::Admin, "maintain": permission >= Permission::Maintain,
            "push": permission >= Permission::Write, "triage": permission >= Permission::Triage,
            "pull": permission >= Permission::Read,
        })
    }

    pub fn label(&self, repository: &Repository, label: &Label) -> Value {
        let name = crate::http::encode(&label.name);
        json!({
            "id": label.id, "node_id": node_id("LA", label.id), "name": label.name,
            "url": format!("{}/repos/{}/labels/{name}", self.base, repository.full_name()),
            "color": label.color, "default": false, "description": label.description,
        })
    }

    pub fn labels(&self, repository: &Repository, issue: &Issue) -> Vec<Value> {
        let labels = issue.labels.iter().filter_map(|it| repository.label(it));
        labels.map(|it| self.label(repository, it)).collect()
    }

    pub fn issue(&self, repository: &Repository, issue: &Issue) -> Value {
        let url = format!("{}/repos/{}", self.base, repository.full_name());
        let own = format!("{url}/issues/{}", issue.number);
        let kind = if issue.pull.is_some() {
            "pull"
        } else {
            "issues"
        };
        let web = format!(
            "https://github.com/{}/{kind}/{}",
            repository.full_name(),
            issue.number
        );
        let mut shown = json!({
            "id": issue.id, "node_id": issue.node_id(), "number": issue.number, "url": own,
            "repository_url": url, "labels_url": format!("{own}/labels{{/name}}"),
            "comments_url": format!("{own}/comments"), "events_url": format!("{own}/events"),
            "html_url": web, "title": issue.title(), "body": issue.body(),
            "state": if issue.is_open { "open" } else { "closed" },
            "state_reason": issue.state_reason, "user": self.user(&issue.author),
            "labels": self.labels(repository, issue), "assignee": null, "assignees": [],
            "milestone": null, "locked": issue.locked, "active_lock_reason": null,
            "comments": issue.comments.len(), "created_at": stamp(issue.created_at),
            "updated_at": stamp(issue.updated_at), "closed_at": issue.closed_at.map(stamp),
            "closed_by": issue.closed_by.as_ref().map(|it| self.user(it)),
            "author_association": self.association(repository, &issue.author),
        });
        if let Some(pull) = &issue.pull {
            let own = format!("{url}/pulls/{}", issue.number);
            shown["draft"] = json!(pull.draft);
            shown["pull_request"] = json!({
                "url": own, "html_url": web, "diff_url": format!("{web}.diff"),
                "patch_url": format!("{web}.patch"),
                "merged_at": pull.merge.as_ref().map(|it| stamp(it.at)),
            });
        }
        shown
    }

    pub fn comment(&self, repository: &Repository, issue: &Issue, comment: &Comment) -> Value {
        let url = format!("{}/repos/{}/issues", self.base, repository.full_name());
        let web = format!(
            "https://github.com/{}/issues/{}",
            repository.full_name(),
            issue.number
        );
        json!({
            "id": comment.id, "node_id": node_id("IC", comment.id), "body": comment.body,
            "url": format!("{url}/comments/{}", comment.id),
            "html_url": format!("{web}#issuecomment-{}", comment.id),
            "issue_url": format!("{url}/{}", issue.number), "user": self.user(&comment.author),
            "created_at": stamp(comment.created_at), "updated_at": stamp(comment.updated_at),
            "author_association": self.association(repository, &comment.author),
            "performed_via_github_app": null,
        })
    }

    pub fn event(&self, repository: &Repository, event: &Event) -> Value {
        let url = format!(
            "{}/repos/{}/issues/events",
            self.base,
            repository.full_name()
        );
        let mut shown = json!({
            "id": event.id, "node_id": node_id("EV", event.id), "url": format!("{url}/{}", event.id),
            "actor": self.user_or_ghost(&event.actor), "event": event.name, "commit_id": null,
            "commit_url": null, "created_at": stamp(event.at), "performed_via_github_app": null,
        });
        if let Some(name) = &event.label {
            let color = repository.label(name).map_or("ededed", |it| &it.color);
            shown["label"] = json!({ "name": name, "color": color });
        }
        if let Some((from, to)) = &event.rename {
            shown["rename"] = json!({ "from": from, "to": to });
        }
        if event.name == "closed" {
            shown["state_reason"] = Value::Null;
        }
        shown
    }

    /// The association of an account with a repository. As on GitHub, it does not show private
    /// members of an organization, so a client has to ask for the permission.
    pub fn association(&self, repository: &Repository, login: &str) -> &'static str {
        match self.world.permission(repository, login) {
            _ if repository.owner == login => "OWNER",
            Permission::None | Permission::Read => "NONE",
            _ => "COLLABORATOR",
        }
    }
}

pub fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        let more: Map<String, Value> = more;
        value.extend(more);
    }
}

const REPOSITORY_ADDRESSES: &[(&str, &str)] = &[
    ("archive_url", "{archive_format}{/ref}"),
    ("assignees_url", "assignees{/user}"),
    ("blobs_url", "git/blobs{/sha}"),
    ("branches_url", "branches{/branch}"),
    ("collaborators_url", "collaborators{/collaborator}"),
    ("comments_url", "comments{/number}"),
    ("commits_url", "commits{/sha}"),
    ("compare_url", "compare/{base}...{head}"),
    ("contents_url", "contents/{+path}"),
    ("contributors_url", "contributors"),
    ("deployments_url", "deployments"),
    ("downloads_url", "downloads"),
    ("events_url", "events"),
    ("forks_url", "forks"),
    ("git_commits_url", "git/commits{/sha}"),
    ("git_refs_url", "git/refs{/sha}"),
    ("git_tags_url", "git/tags{/sha}"),
    ("hooks_url", "hooks"),
    ("issue_comment_url", "issues/comments{/number}"),
    ("issue_events_url", "issues/events{/number}"),
    ("issues_url", "issues{/number}"),
    ("keys_url", "keys{/key_id}"),
    ("labels_url", "labels{/name}"),
    ("languages_url", "languages"),
    ("merges_url", "merges"),
    ("milestones_url", "milestones{/number}"),
    (
        "notifications_url",
        "notifications{?since,all,participating}",
    ),
    ("pulls_url", "pulls{/number}"),
    ("releases_url", "releases{/id}"),
    ("stargazers_url", "stargazers"),
    ("statuses_url", "statuses/{sha}"),
    ("subscribers_url", "subscribers"),
    ("subscription_url", "subscription"),
    ("tags_url", "tags"),
    ("teams_url", "teams"),
    ("trees_url", "git/trees{/sha}"),
];
