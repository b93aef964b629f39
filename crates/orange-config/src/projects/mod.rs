//! Registered projects: `projects.json`, which the user may edit.
//!
//! The user's text stays as it is, byte for byte, including keys that orange does not know: a
//! command changes only the project and the keys that it names.

pub(crate) mod text;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use orange_engine::budget::Limit;
use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, HarnessName, ProjectName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Home, HostPort, NetworkMode, SandboxMode, reason, user_file};

/// The longest name of a project, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// What happens to a start when no workspace is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It waits in the queue.
    Queue,
    /// It is refused.
    Refuse,
}

/// Where a task with a pull request is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergePlace {
    /// On the forge.
    Forge,
    /// In the repository on this machine.
    Local,
}

/// What orange writes at the issue of a task while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssueComment {
    /// One comment with the status, and labels.
    Status,
    /// Nothing.
    None,
}

/// What happens to a start for which a budget cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unpriced {
    /// It is refused.
    Refuse,
    /// It goes on.
    Allow,
}

/// Every registered project, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Projects {
    /// The projects.
    #[serde(default)]
    pub projects: Vec<Project>,
    /// Keys that orange does not know.
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A registered repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Project {
    /// Its name.
    pub name: ProjectName,
    /// Your own checkout.
    pub path: PathBuf,
    /// The branch that tasks start from and are merged into.
    pub default_branch: BranchName,
    /// The workflow of new tasks; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The harness of new tasks; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessName>,
    /// The harness that reviews new tasks; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_harness: Option<HarnessName>,
    /// How many tasks can have a workspace at once; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_size: Option<u32>,
    /// What happens to a start when no workspace is free; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_full: Option<WhenFull>,
    /// The name of the task file in a worktree.
    #[serde(default = "default_task_file")]
    pub task_file: String,
    /// The strategy of a merge that does not name one; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_strategy: Option<MergeStrategy>,
    /// The shell command that must succeed on the merged result; empty for none; defaults to the
    /// setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_verify: Option<String>,
    /// Whether a merge is pushed to the remote first.
    #[serde(default)]
    pub push: bool,
    /// The URL of its remote, without passwords: orange uses the remote only while the repository's
    /// configuration has the same URL. Empty if there is none; recorded at first use if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The URL for pushes, if it differs from the remote's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_remote: Option<String>,
    /// Whether a branch is deleted after it is merged.
    #[serde(default)]
    pub delete_branch: bool,
    /// The repository on GitHub as `host/owner/name`; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_repository: Option<String>,
    /// Where a task with a pull request is merged; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_merge: Option<MergePlace>,
    /// Whether a new pull request is a draft; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_draft: Option<bool>,
    /// The labels of a new pull request; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_labels: Option<Vec<String>>,
    /// The label that turns an issue into a task; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_issues_label: Option<String>,
    /// The workflow of tasks for issues; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_issues_workflow: Option<String>,
    /// Whether the status of a task is shown at its issue; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_issues_comment: Option<IssueComment>,
    /// Whether the issue of a task is closed when its work is merged; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge_issues_close: Option<bool>,
    /// How much the agents of one task may use; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_task: Option<Limit>,
    /// How much all tasks of one job may use; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_job: Option<Limit>,
    /// How much all tasks of the project may use; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_project: Option<Limit>,
    /// Whether running agents are stopped when a limit is reached; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_hard: Option<bool>,
    /// Whether an agent may start for which a limit cannot be checked; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_unpriced: Option<Unpriced>,
    /// Whether agents run in a sandbox; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_mode: Option<SandboxMode>,
    /// What agents in a sandbox reach over the network; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_network: Option<NetworkMode>,
    /// The hosts that agents in a sandbox reach; defaults to the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_hosts: Option<Vec<HostPort>>,
    /// The command to run in a workspace after a task's branch is checked out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The timeout of `setup` in seconds; ten minutes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_timeout: Option<u64>,
    /// The command to run in a workspace before it is released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<String>,
    /// The timeout of `teardown` in seconds; ten minutes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teardown_timeout: Option<u64>,
    /// Keys that orange does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

fn default_task_file() -> String {
    String::from("TASK.md")
}

/// Why projects could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProjectsError {
    #[error("cannot {attempt} `{}`: {reason}", .path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// The file has a mistake.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Invalid {
        path: PathBuf,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// The name cannot be part of a path or a session name.
    #[error("cannot register project `{0}`: invalid project name")]
    NameInvalid(String),
    /// The name or the path is taken.
    #[error("cannot register project `{name}`: `{}` is registered as `{}`", .found.path.display(), .found.name)]
    Exists {
        /// The requested name.
        name: ProjectName,
        /// The project that is already registered.
        found: Box<Project>,
    },
    #[error("cannot find project `{name}`: it is not registered")]
    Unknown {
        name: ProjectName,
        /// The registered names.
        names: Vec<ProjectName>,
    },
}

impl Project {
    /// A project with all defaults.
    pub fn new(name: ProjectName, path: PathBuf, default_branch: BranchName) -> Project {
        Project {
            name,
            path,
            default_branch,
            workflow: None,
            harness: None,
            review_harness: None,
            merge_strategy: None,
            merge_verify: None,
            pool_size: None,
            when_full: None,
            task_file: default_task_file(),
            push: false,
            remote: None,
            push_remote: None,
            delete_branch: false,
            forge_repository: None,
            forge_merge: None,
            forge_draft: None,
            forge_labels: None,
            forge_issues_label: None,
            forge_issues_workflow: None,
            forge_issues_comment: None,
            forge_issues_close: None,
            budget_task: None,
            budget_job: None,
            budget_project: None,
            budget_hard: None,
            budget_unpriced: None,
            sandbox_mode: None,
            sandbox_network: None,
            sandbox_hosts: None,
            setup: Vec::new(),
            setup_timeout: None,
            teardown: Vec::new(),
            teardown_timeout: None,
            other: Map::new(),
        }
    }
}

impl Projects {
    /// Reads the file; a home without one has no projects.
    pub fn load(home: &Home) -> Result<Projects, ProjectsError> {
        let path = home.projects();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Projects::default()),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        serde_json::from_str(&text).map_err(|error| ProjectsError::Invalid {
            path,
            reason: error.to_string(),
        })
    }

    pub fn require(&self, name: &ProjectName) -> Result<&Project, ProjectsError> {
        let found = self.projects.iter().find(|project| project.name == *name);
        found.ok_or_else(|| ProjectsError::Unknown {
            name: name.clone(),
            names: self.names(),
        })
    }

    pub fn names(&self) -> Vec<ProjectName> {
        let projects = self.projects.iter();
        projects.map(|project| project.name.clone()).collect()
    }

    /// The innermost project whose checkout contains a directory.
    pub fn find_containing(&self, directory: &Path) -> Option<&Project> {
        let projects = self.projects.iter();
        projects
            .filter(|project| directory.starts_with(&project.path))
            .max_by_key(|project| project.path.components().count())
    }

    /// The name for a project with this checkout: that of the checkout's directory, with special
    /// characters replaced, and with a number if another project has that name.
    pub fn name_for(&self, checkout: &Path) -> ProjectName {
        let directory = checkout.file_name().unwrap_or_default().to_string_lossy();
        let mut plain = String::new();
        for character in directory.chars() {
            if is_plain(character) {
                plain.push(character);
            } else if !plain.is_empty() && !plain.ends_with('-') {
                plain.push('-');
            }
        }
        let plain = plain.trim_matches(|it: char| !it.is_ascii_alphanumeric());
        let plain = if plain.is_empty() { "project" } else { plain };
        let longest = MAX_NAME_BYTES - 4;
        let plain = plain.get(..longest).unwrap_or(plain);
        let numbers = 2..;
        let numbered = numbers.map(|number: u32| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.to_owned()).chain(numbered);
        let is_free = |name: &String| {
            let mut others = self.projects.iter().filter(|it| it.path != checkout);
            others.all(|it| it.name.as_str() != name)
        };
        ProjectName::new(names.find(is_free).unwrap_or_default())
    }

    /// Adds a project to the file; an existing one with the same name and path stays as it is.
    ///
    /// Returns the project as registered, and whether it is new.
    pub fn add(home: &Home, project: Project) -> Result<(Project, bool), ProjectsError> {
        require_name(project.name.as_str())?;
        let path = home.projects();
        let _lock = lock(home)?;
        let projects = Projects::load(home)?;
        let is_taken = |it: &&Project| it.name == project.name || it.path == project.path;
        if let Some(found) = projects.projects.iter().find(is_taken) {
            if found.name == project.name && found.path == project.path {
                return Ok((found.clone(), false));
            }
            return Err(ProjectsError::Exists {
                name: project.name,
                found: Box::new(found.clone()),
            });
        }
        let text = if path.exists() {
            read(&path)?
        } else {
            String::from("{}\n")
        };
        let text = serde_json::to_value(&project)
            .and_then(|project| text::with_project(&text, &project))
            .map_err(|error| invalid(&path, &error))?;
        write(&path, &text)?;
        Ok((project, true))
    }

    /// Changes keys of a project in the file; every other byte stays the same.
    ///
    /// Returns the project as it is now. A text that would not read back correctly is not written.
    pub fn update(
        home: &Home,
        name: &ProjectName,
        changes: &[(&'static str, Value)],
    ) -> Result<Project, ProjectsError> {
        let _lock = lock(home)?;
        let index = Projects::load(home)?.index(name)?;
        let path = home.projects();
        let mut text = read(&path)?;
        for (key, value) in changes {
            text =
                text::with_key(&text, index, key, value).map_err(|error| invalid(&path, &error))?;
        }
        let updated: Projects =
            serde_json::from_str(&text).map_err(|error| invalid(&path, &error))?;
        let project = updated.require(name)?.clone();
        write(&path, &text)?;
        Ok(project)
    }

    /// Removes a project from the file, and changes nothing else.
    pub fn remove(home: &Home, name: &ProjectName) -> Result<Project, ProjectsError> {
        let _lock = lock(home)?;
        let projects = Projects::load(home)?;
        let index = projects.index(name)?;
        let path = home.projects();
        let text = text::without(&read(&path)?, index);
        let text = text.map_err(|error| invalid(&path, &error))?;
        write(&path, &text)?;
        Ok(projects.require(name)?.clone())
    }

    fn index(&self, name: &ProjectName) -> Result<usize, ProjectsError> {
        let index = self.projects.iter().position(|it| it.name == *name);
        index.ok_or_else(|| ProjectsError::Unknown {
            name: name.clone(),
            names: self.names(),
        })
    }
}

fn lock(home: &Home) -> Result<File, ProjectsError> {
    let path = home.projects();
    user_file::lock(&path).map_err(|error| failed("lock", &path, &error))
}

fn read(path: &Path) -> Result<String, ProjectsError> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), ProjectsError> {
    user_file::write(path, text).map_err(|error| failed("write", path, &error))
}

fn invalid(path: &Path, error: &serde_json::Error) -> ProjectsError {
    ProjectsError::Invalid {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// Rejects unusual characters, because a name becomes part of paths, session names and commands.
pub(crate) fn require_name(name: &str) -> Result<(), ProjectsError> {
    let has_plain_start = name.starts_with(|it: char| it.is_ascii_alphanumeric());
    if has_plain_start && name.len() <= MAX_NAME_BYTES && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(ProjectsError::NameInvalid(name.to_owned()))
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_".contains(character)
}

fn failed(attempt: &'static str, path: &Path, error: &io::Error) -> ProjectsError {
    ProjectsError::File {
        attempt,
        path: path.to_owned(),
        reason: reason(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    fn home(folder: &Path) -> Home {
        Home::resolve(&Environment::of([("ORANGE_HOME", folder.join("home"))])).unwrap()
    }

    fn coffee(path: &str) -> Project {
        Project::new(
            ProjectName::new("coffee"),
            path.into(),
            BranchName::new("main"),
        )
    }

    #[test]
    fn user_edits_survive_a_rewrite() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        fs::create_dir(home.path()).unwrap();
        let text = r#"{"note": [1], "projects": [{"name": "tea", "path": "/tea",
            "default_branch": "main", "workflow": "minimal", "colour": "green"}]}"#;
        fs::write(home.projects(), text).unwrap();
        assert!(Projects::add(&home, coffee("/coffee")).unwrap().1);
        assert!(!Projects::add(&home, coffee("/coffee")).unwrap().1);
        let written: Value =
            serde_json::from_str(&fs::read_to_string(home.projects()).unwrap()).unwrap();
        assert_eq!(written["note"], serde_json::json!([1]));
        assert_eq!(written["projects"][0]["colour"], "green");
        assert_eq!(written["projects"][1]["name"], "coffee");
        assert_eq!(Projects::load(&home).unwrap().projects[0].pool_size, None);
    }

    #[test]
    fn a_name_or_path_can_be_registered_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        Projects::add(&home, coffee("/coffee")).unwrap();
        let elsewhere = Projects::add(&home, coffee("/elsewhere"));
        assert!(
            matches!(elsewhere, Err(ProjectsError::Exists { .. })),
            "{elsewhere:?}"
        );
        for bad in ["", "-a", "a/b", "a b", "..", "ä"] {
            let mut project = coffee("/x");
            project.name = ProjectName::new(bad);
            assert!(Projects::add(&home, project).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_directory_has_a_name_that_can_be_registered() {
        let projects = Projects {
            projects: vec![Project::new(
                ProjectName::new("api"),
                PathBuf::from("/x/api"),
                BranchName::new("main"),
            )],
            ..Projects::default()
        };
        let long = format!("/z/{}", "a".repeat(300));
        let cases = [
            ("/x/api", "api"),
            ("/y/api", "api-2"),
            ("/y/site.github.io", "site-github-io"),
            ("/y/my  app", "my-app"),
            ("/y/.dotfiles", "dotfiles"),
            ("/y/dépôt", "d-p-t"),
            ("/y/日本", "project"),
            ("/", "project"),
            ("/y/_x_", "x"),
        ];
        for (path, name) in cases {
            assert_eq!(projects.name_for(Path::new(path)).as_str(), name, "{path}");
        }
        for path in cases.map(|it| it.0).into_iter().chain([long.as_str()]) {
            require_name(projects.name_for(Path::new(path)).as_str()).unwrap();
        }
    }

    #[test]
    fn a_directory_belongs_to_the_innermost_checkout() {
        let mut inner = coffee("/a/b");
        inner.name = ProjectName::new("inner");
        let projects = Projects {
            projects: vec![coffee("/a"), inner],
            other: Map::new(),
        };
        let name = |path: &str| Some(projects.find_containing(Path::new(path))?.name.to_string());
        assert_eq!(name("/a/b/c").as_deref(), Some("inner"));
        assert_eq!(name("/a/bc").as_deref(), Some("coffee"));
        assert_eq!(name("/ab"), None);
    }
}
