//! A repository: its bare git repository, permissions and settings.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::World;
use super::check::{Check, Run, Status, Workflow};
use super::issue::Issue;
use crate::git::git;
use crate::stop::stop;

/// What a user may do in a repository; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Permission {
    /// The name of the role in REST; GraphQL has the same in capitals.
    pub fn role(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older REST name, which has no triage and no maintain.
    pub fn legacy(self) -> &'static str {
        match self {
            Self::Triage => "read",
            Self::Maintain => "write",
            other => other.role(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Label {
    pub id: u64,
    pub name: String,
    pub color: String,
    pub description: Option<String>,
}

/// The rules for a branch.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    /// Names of checks that must succeed before a merge.
    pub required_checks: Vec<String>,
    /// Names of checks that a ruleset requires, in addition to the branch protection.
    pub ruleset_checks: Vec<String>,
    /// Whether the head must contain the newest base.
    pub strict: bool,
    pub required_approvals: usize,
    /// Whether a push dismisses approvals.
    pub dismiss_stale: bool,
    /// Whether merges go through the merge queue.
    pub queue: bool,
}

impl Protection {
    /// The names of all checks that must succeed before a merge.
    pub fn all_checks(&self) -> impl Iterator<Item = &String> {
        self.required_checks.iter().chain(&self.ruleset_checks)
    }
}

#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings of GitHub's, each independent of the others"
)]
pub struct Repository {
    pub id: u64,
    pub owner: String,
    pub name: String,
    /// Full names it had before; they redirect.
    pub old_names: Vec<String>,
    pub path: PathBuf,
    pub parent: Option<u64>,
    pub private: bool,
    pub has_issues: bool,
    pub archived: bool,
    pub deleted: bool,
    pub default_branch: String,
    pub permissions: BTreeMap<String, Permission>,
    pub protections: BTreeMap<String, Protection>,
    pub labels: Vec<Label>,
    pub issues: Vec<Issue>,
    /// The transferred issues: the old number, then the id of the new repository and the number
    /// there.
    pub transferred: BTreeMap<u64, (u64, u64)>,
    pub checks: Vec<Check>,
    pub statuses: Vec<Status>,
    pub runs: Vec<Run>,
    pub workflows: Vec<Workflow>,
    /// Whether pushes start workflows. Pushes made with the token of Actions do not.
    pub pushes_start_ci: bool,
    /// The tips of the branches at the last sync with git.
    pub branches: BTreeMap<String, String>,
    pub created_at: i64,
    pub pushed_at: i64,
    pub last_number: u64,
}

impl Repository {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    pub fn protection(&self, branch: &str) -> Protection {
        self.protections.get(branch).cloned().unwrap_or_default()
    }

    pub fn label(&self, name: &str) -> Option<&Label> {
        self.labels
            .iter()
            .find(|it| it.name.eq_ignore_ascii_case(name))
    }

    pub fn issue(&self, number: u64) -> Option<&Issue> {
        self.issues.iter().find(|it| it.number == number)
    }

    pub fn issue_mut(&mut self, number: u64) -> Option<&mut Issue> {
        self.issues.iter_mut().find(|it| it.number == number)
    }

    /// Refuses or allows pushes that change workflow files, as a token's `workflow` scope does.
    pub fn allow_workflow_files(&self, allowed: bool) {
        let marker = self.path.join("no-workflow-scope");
        let result = if allowed {
            fs::remove_file(marker).or(Ok(()))
        } else {
            fs::write(marker, "")
        };
        result.unwrap_or_else(|error: std::io::Error| stop(&error.to_string()));
    }
}

/// The hook that checks pushes: without the `workflow` scope, no workflow file may change.
const PRE_RECEIVE: &str = r#"#!/bin/sh
[ -e no-workflow-scope ] || exit 0
empty=4b825dc642cb6eb9a060e54bf8d69288fbee4904
while read -r old new name; do
    case $new in *[!0]*) ;; *) continue ;; esac
    case $old in *[!0]*) ;; *) old=$(git merge-base HEAD "$new" || echo $empty) ;; esac
    file=$(git diff --name-only "$old" "$new" -- .github/workflows | head -n 1)
    [ -z "$file" ] && continue
    echo "refusing to allow a Personal Access Token to create or update workflow \`$file\` without \`workflow\` scope" >&2
    exit 1
done
"#;

impl World {
    /// Finds a repository by its present name.
    pub fn repository(&self, owner: &str, name: &str) -> Option<&Repository> {
        let mut repositories = self.repositories.iter().filter(|it| !it.deleted);
        repositories
            .find(|it| it.owner.eq_ignore_ascii_case(owner) && it.name.eq_ignore_ascii_case(name))
    }

    /// Finds a repository by a name it had before a rename.
    pub fn renamed_repository(&self, owner: &str, name: &str) -> Option<&Repository> {
        let full = format!("{owner}/{name}");
        let mut repositories = self.repositories.iter().filter(|it| !it.deleted);
        repositories.find(|it| {
            it.old_names
                .iter()
                .any(|old| old.eq_ignore_ascii_case(&full))
        })
    }

    pub fn repository_by_id(&self, id: u64) -> Option<&Repository> {
        self.repositories
            .iter()
            .find(|it| it.id == id && !it.deleted)
    }

    pub fn repository_mut(&mut self, id: u64) -> Option<&mut Repository> {
        self.repositories
            .iter_mut()
            .find(|it| it.id == id && !it.deleted)
    }

    /// What a user may do in a repository; every account may read a public one.
    pub fn permission(&self, repository: &Repository, login: &str) -> Permission {
        if repository.owner == login {
            return Permission::Admin;
        }
        let own = repository.permissions.get(login).copied();
        let public = if repository.private {
            Permission::None
        } else {
            Permission::Read
        };
        own.unwrap_or(Permission::None).max(public)
    }

    /// Creates a bare repository; a fork gets everything its parent has.
    pub fn add_repository(&mut self, owner: &str, name: &str, parent: Option<u64>) -> u64 {
        let id = self.new_id();
        let path = self.root.join(format!("{owner}-{name}-{id}.git"));
        let target = path.to_string_lossy().into_owned();
        let source = parent
            .and_then(|it| self.repository_by_id(it))
            .map(|it| it.path.clone());
        match source {
            Some(source) => {
                let source = source.to_string_lossy().into_owned();
                git(&self.root, &["clone", "-q", "--bare", &source, &target]);
            }
            None => {
                git(&self.root, &["init", "-q", "--bare", "-b", "main", &target]);
            }
        }
        let hook = path.join("hooks/pre-receive");
        let written = fs::create_dir_all(path.join("hooks"))
            .and_then(|()| fs::write(&hook, PRE_RECEIVE))
            .and_then(|()| make_executable(&hook));
        written.unwrap_or_else(|error| stop(&format!("cannot write the hook: {error}")));
        let now = self.now();
        self.repositories.push(Repository {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            old_names: Vec::new(),
            path,
            parent,
            private: false,
            has_issues: true,
            archived: false,
            deleted: false,
            default_branch: "main".to_owned(),
            permissions: BTreeMap::new(),
            protections: BTreeMap::new(),
            labels: Vec::new(),
            issues: Vec::new(),
            transferred: BTreeMap::new(),
            checks: Vec::new(),
            statuses: Vec::new(),
            runs: Vec::new(),
            workflows: Vec::new(),
            pushes_start_ci: true,
            branches: BTreeMap::new(),
            created_at: now,
            pushed_at: now,
            last_number: 0,
        });
        id
    }

    /// Adds a label unless the repository has it.
    pub fn add_label(&mut self, repository: u64, name: &str, color: &str, about: Option<&str>) {
        let id = self.new_id();
        let label = Label {
            id,
            name: name.to_owned(),
            color: color.to_owned(),
            description: about.map(str::to_owned),
        };
        if let Some(repository) = self.repository_mut(repository)
            && repository.label(name).is_none()
        {
            repository.labels.push(label);
        }
    }
}

fn make_executable(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
