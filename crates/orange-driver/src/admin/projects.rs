//! Registered projects: looked at, changed, taken off the list.

use std::path::PathBuf;

use orange_config::{Project, Projects};
use orange_effects::git::without_password;
use orange_engine::names::{BranchName, HarnessName, ProjectName, TaskId, WorkspaceName};
use orange_store::{Store, StoreError, TaskFilter, WorkspaceState};
use serde_json::{Value, json};

use crate::DriverError;
use crate::admin::Admin;
use crate::steps::pinned;

/// What a person may set of a project; what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectSettings {
    /// The branch that work begins from and is merged into.
    pub default_branch: Option<BranchName>,
    /// The workflow of new tasks.
    pub workflow: Option<String>,
    /// What new tasks are done with.
    pub harness: Option<HarnessName>,
    /// What new tasks are reviewed with.
    pub review_harness: Option<HarnessName>,
    /// How many tasks can have a workspace at the same time.
    pub pool_size: Option<u32>,
    /// Whether a merge goes to the remote first.
    pub push: Option<bool>,
    /// Where the remote is; empty for none.
    pub remote: Option<String>,
    /// Where pushes go, if elsewhere; empty for the remote itself.
    pub push_remote: Option<String>,
    /// Whether a branch that was merged is deleted.
    pub delete_branch: Option<bool>,
    /// What is run in a workspace once a task's branch is checked out.
    pub setup: Option<Vec<String>>,
    /// How many seconds that may take.
    pub setup_timeout: Option<u64>,
    /// What is run in a workspace before it is given back.
    pub teardown: Option<Vec<String>>,
    /// How many seconds that may take.
    pub teardown_timeout: Option<u64>,
}

/// What belongs to a project besides its registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belongings {
    /// Its tasks that have not ended.
    pub open: Vec<TaskId>,
    /// How many have.
    pub ended: usize,
    /// Its workspaces that hold a task, or something that nobody has looked at.
    pub held: Vec<WorkspaceName>,
    /// Where its idle workspaces are.
    pub idle: Vec<PathBuf>,
}

impl Admin {
    pub fn registered(&self) -> Result<Vec<Project>, DriverError> {
        Ok(self.context.projects()?.projects)
    }

    /// What belongs to a project.
    pub fn belongings(&self, name: &ProjectName) -> Result<Belongings, DriverError> {
        let store = match Store::open_read_only(&self.context.home) {
            Ok(store) => store,
            Err(StoreError::Missing { .. }) => return Ok(Belongings::default()),
            Err(error) => return Err(error.into()),
        };
        let mut found = Belongings::default();
        let filter = TaskFilter {
            project: Some(name.clone()),
            status: None,
        };
        for summary in store.list(&filter)?.tasks {
            let stored = store.require(&summary.task.id)?;
            // One whose workflow cannot be read may go on.
            if pinned(&stored).is_ok_and(|it| it.is_terminal(&stored.task.status)) {
                found.ended += 1;
            } else {
                found.open.push(stored.task.id);
            }
        }
        for workspace in store.workspaces(name)? {
            match workspace.state {
                WorkspaceState::Free => found.idle.push(workspace.path),
                _ => found.held.push(workspace.name),
            }
        }
        Ok(found)
    }

    /// Changes what a person may set of a project, after the same checks as a new task makes.
    pub fn update_project(
        &self,
        name: &ProjectName,
        settings: &ProjectSettings,
    ) -> Result<Project, DriverError> {
        self.callers.require_person("change a project")?;
        let projects = self.context.projects()?;
        let project = projects.require(name)?;
        self.check_settings(project, settings)?;
        Ok(Projects::update(
            &self.context.home,
            name,
            &changes(settings),
        )?)
    }

    /// Refuses an unsafe workflow, and a workflow, harness or branch that does not exist.
    pub(crate) fn check_settings(
        &self,
        project: &Project,
        settings: &ProjectSettings,
    ) -> Result<(), DriverError> {
        if let Some(workflow) = &settings.workflow {
            self.context.safe_workflow(workflow)?;
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

    /// Takes a project off the list, and deletes nothing; answers with what stays on the disk.
    pub fn remove_project(&self, name: &ProjectName) -> Result<(Project, Belongings), DriverError> {
        self.callers.require_person("remove a project")?;
        self.context.projects()?.require(name)?;
        let found = self.belongings(name)?;
        if !found.open.is_empty() || !found.held.is_empty() {
            return Err(DriverError::ProjectInUse {
                project: name.clone(),
                tasks: found.open,
                workspaces: found.held,
            });
        }
        Ok((Projects::remove(&self.context.home, name)?, found))
    }
}

fn address(typed: &str) -> Value {
    json!(without_password(typed))
}

/// The keys of the file that are to be changed.
fn changes(settings: &ProjectSettings) -> Vec<(&'static str, Value)> {
    // What is accepted is the remote as a whole.
    let push_remote = settings.push_remote.as_deref().filter(|it| !it.is_empty());
    let push_remote = match (push_remote, &settings.remote, &settings.push_remote) {
        (Some(push), _, _) => Some(address(push)),
        (None, None, None) => None,
        (None, _, _) => Some(Value::Null),
    };
    let all = [
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
        ("push", settings.push.map(|it| json!(it))),
        ("remote", settings.remote.as_deref().map(address)),
        ("push_remote", push_remote),
        ("delete_branch", settings.delete_branch.map(|it| json!(it))),
        ("setup", settings.setup.as_ref().map(|it| json!(it))),
        ("setup_timeout", settings.setup_timeout.map(|it| json!(it))),
        ("teardown", settings.teardown.as_ref().map(|it| json!(it))),
        (
            "teardown_timeout",
            settings.teardown_timeout.map(|it| json!(it)),
        ),
    ];
    let changed = all.into_iter();
    changed
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}
