//! Registered projects: shows, changes and removes them.

use std::path::PathBuf;

use orange_config::{HostPort, PinnedPolicy, Project, Projects};
use orange_effects::git::without_password;
use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, HarnessName, ProjectName, TaskId, WorkspaceName};
use orange_store::{Store, StoreError, TaskFilter, WorkspaceState};
use serde_json::{Value, json};

use crate::DriverError;
use crate::admin::Admin;
use crate::steps::pinned_workflow;

/// The project settings that the user may change; absent ones stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectSettings {
    /// The directory that the repository was moved to.
    pub path: Option<PathBuf>,
    /// The branch that work starts from and is merged into.
    pub default_branch: Option<BranchName>,
    /// The workflow of new tasks.
    pub workflow: Option<String>,
    /// The harness that works on new tasks.
    pub harness: Option<HarnessName>,
    /// The harness that reviews new tasks.
    pub review_harness: Option<HarnessName>,
    /// How many tasks can have a workspace at the same time.
    pub pool_size: Option<u32>,
    pub merge_strategy: Option<MergeStrategy>,
    /// The command that verifies a merged result; empty for none.
    pub merge_verify: Option<String>,
    /// Whether a merge is pushed to the remote first.
    pub push: Option<bool>,
    /// The address of the remote; empty for none.
    pub remote: Option<String>,
    /// The address for pushes, if different; empty for the remote itself.
    pub push_remote: Option<String>,
    /// Whether to delete a branch after merging it.
    pub delete_branch: Option<bool>,
    /// The command to run in a workspace once a task's branch is checked out.
    pub setup: Option<Vec<String>>,
    /// The timeout of `setup` in seconds.
    pub setup_timeout: Option<u64>,
    /// The command to run in a workspace before it is released.
    pub teardown: Option<Vec<String>>,
    /// The timeout of `teardown` in seconds.
    pub teardown_timeout: Option<u64>,
    /// Whether agents run in a sandbox, as a word; `default` for the setting.
    pub sandbox_mode: Option<String>,
    /// What agents in a sandbox reach, as a word; `default` for the setting.
    pub sandbox_network: Option<String>,
    /// The hosts that agents in a sandbox reach; empty for the setting.
    pub sandbox_hosts: Option<Vec<HostPort>>,
}

/// The tasks and workspaces of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectUsage {
    /// Its unfinished tasks.
    pub open_tasks: Vec<TaskId>,
    /// How many of its tasks are finished.
    pub finished_tasks: usize,
    /// Its workspaces that are not idle: a task holds them, or they are retired.
    pub used_workspaces: Vec<WorkspaceName>,
    /// The paths of its idle workspaces.
    pub idle_workspaces: Vec<PathBuf>,
}

impl Admin {
    pub fn list_projects(&self) -> Result<Vec<Project>, DriverError> {
        Ok(self.context.projects()?.projects)
    }

    pub fn project_usage(&self, name: &ProjectName) -> Result<ProjectUsage, DriverError> {
        let store = match Store::open_read_only(&self.context.home) {
            Ok(store) => store,
            Err(StoreError::Missing { .. }) => return Ok(ProjectUsage::default()),
            Err(error) => return Err(error.into()),
        };
        let mut usage = ProjectUsage::default();
        let filter = TaskFilter {
            project: Some(name.clone()),
            status: None,
        };
        for summary in store.list(&filter)?.tasks {
            let stored = store.require(&summary.task.id)?;
            // If its workflow cannot be read, the task counts as open, because it may still
            // continue.
            if pinned_workflow(&stored).is_ok_and(|it| it.is_terminal(&stored.task.status)) {
                usage.finished_tasks += 1;
            } else {
                usage.open_tasks.push(stored.task.id);
            }
        }
        for workspace in store.workspaces(name)? {
            match workspace.state {
                WorkspaceState::Free => usage.idle_workspaces.push(workspace.path),
                _ => usage.used_workspaces.push(workspace.name),
            }
        }
        Ok(usage)
    }

    /// Changes the settings of a project, after the same checks as when it is registered.
    pub fn update_project(
        &self,
        name: &ProjectName,
        settings: &ProjectSettings,
    ) -> Result<Project, DriverError> {
        self.callers.require_user("change a project")?;
        let projects = self.context.projects()?;
        let mut project = projects.require(name)?.clone();
        let mut settings = settings.clone();
        if let Some(directory) = &settings.path {
            project.path = self.find_moved_repository(&projects, &project, directory)?;
            settings.path = Some(project.path.clone());
        }
        self.check_settings(&project, &settings)?;
        // Repair before the new path is recorded: if the repair fails or is interrupted, the
        // command can be repeated.
        if settings.path.is_some() {
            self.repair_worktrees(&project)?;
        }
        Ok(Projects::update(
            &self.context.home,
            name,
            &changes(&settings),
        )?)
    }

    /// Refuses an unsafe workflow, and a workflow, harness or branch that does not exist.
    pub(crate) fn check_settings(
        &self,
        project: &Project,
        settings: &ProjectSettings,
    ) -> Result<(), DriverError> {
        if let Some(workflow) = &settings.workflow {
            self.context.safe_workflow(Some(&project.name), workflow)?;
        }
        let harnesses = [&settings.harness, &settings.review_harness];
        let mut harnesses = harnesses.into_iter().flatten().peekable();
        if harnesses.peek().is_some() {
            let known = self.context.harnesses()?;
            for harness in harnesses {
                known.require(harness)?;
            }
        }
        if let Some(branch) = &settings.default_branch {
            orange_effects::git::require_branch(branch)?;
            if self
                .workspaces
                .open_repository(project)?
                .branch(branch)?
                .is_none()
            {
                return Err(DriverError::NoBranch {
                    path: project.path.clone(),
                    branch: branch.clone(),
                });
            }
        }
        Ok(())
    }

    /// Unregisters a project without deleting anything; returns what stays on the disk.
    pub fn remove_project(
        &self,
        name: &ProjectName,
    ) -> Result<(Project, ProjectUsage), DriverError> {
        self.callers.require_user("remove a project")?;
        self.context.projects()?.require(name)?;
        let usage = self.project_usage(name)?;
        if !usage.open_tasks.is_empty() || !usage.used_workspaces.is_empty() {
            return Err(DriverError::ProjectInUse {
                project: name.clone(),
                tasks: usage.open_tasks,
                workspaces: usage.used_workspaces,
            });
        }
        let removed = Projects::remove(&self.context.home, name)?;
        // After the project: a crash between the two leaves a policy without a project, which
        // registering removes.
        PinnedPolicy::remove(&self.context.home, name)?;
        Ok((removed, usage))
    }
}

fn address_value(address: &str) -> Value {
    json!(without_password(address))
}

/// A word of a setting, or nothing for the word that means it.
fn word(word: &str) -> Value {
    match word {
        "default" => Value::Null,
        word => json!(word),
    }
}

fn hosts(hosts: &[HostPort]) -> Value {
    match hosts {
        [] => Value::Null,
        hosts => json!(hosts),
    }
}

/// The keys to change in `projects.json`, and their new values.
fn changes(settings: &ProjectSettings) -> Vec<(&'static str, Value)> {
    // The user accepts both addresses of a remote together, so a new remote resets the push
    // address.
    let push_remote = settings.push_remote.as_deref().filter(|it| !it.is_empty());
    let push_remote = match (push_remote, &settings.remote, &settings.push_remote) {
        (Some(push), _, _) => Some(address_value(push)),
        (None, None, None) => None,
        (None, _, _) => Some(Value::Null),
    };
    let all = [
        ("path", settings.path.as_ref().map(|it| json!(it))),
        (
            "default_branch",
            settings.default_branch.as_ref().map(|it| json!(it)),
        ),
        ("workflow", settings.workflow.as_ref().map(|it| json!(it))),
        ("harness", settings.harness.as_ref().map(|it| json!(it))),
        (
            "review_harness",
            settings.review_harness.as_ref().map(|it| json!(it)),
        ),
        ("pool_size", settings.pool_size.map(|it| json!(it))),
        (
            "merge_strategy",
            settings.merge_strategy.map(|it| json!(it.as_str())),
        ),
        (
            "merge_verify",
            settings.merge_verify.as_ref().map(|it| json!(it)),
        ),
        ("push", settings.push.map(|it| json!(it))),
        ("remote", settings.remote.as_deref().map(address_value)),
        ("push_remote", push_remote),
        ("delete_branch", settings.delete_branch.map(|it| json!(it))),
        ("setup", settings.setup.as_ref().map(|it| json!(it))),
        ("setup_timeout", settings.setup_timeout.map(|it| json!(it))),
        ("teardown", settings.teardown.as_ref().map(|it| json!(it))),
        (
            "teardown_timeout",
            settings.teardown_timeout.map(|it| json!(it)),
        ),
        ("sandbox_mode", settings.sandbox_mode.as_deref().map(word)),
        (
            "sandbox_network",
            settings.sandbox_network.as_deref().map(word),
        ),
        (
            "sandbox_hosts",
            settings.sandbox_hosts.as_deref().map(hosts),
        ),
    ];
    let changed = all.into_iter();
    changed
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}
