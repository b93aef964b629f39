//! Decides which sandbox a run starts in, if any.

use std::fs;

use orange_config::{Environment, Harness, LogLevel};
use orange_effects::run::given_files;
use orange_effects::sandbox::{Description, Level};
use orange_engine::Task;
use orange_engine::context_file::CONTEXT_FILE;
use orange_engine::effect::Spawn;
use orange_store::{TaskDirectory, WorkspaceRecord};
use serde_json::json;

use crate::DriverError;
use crate::context::run_location::report_folder;
use crate::context::run_sandbox::RunSandbox;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::workspaces::private_repository::{RepositoryMounts, RepositoryUser, WITHOUT_NAMESPACES};
use crate::workspaces::sandbox::agent::{RunPlaces, SandboxedAgent};
use crate::workspaces::sandbox::choice::ChosenSandbox;

impl Performer {
    /// The sandbox of a run; `None` if the user turned it off. `environment` is that of the agent.
    pub(super) fn describe_sandbox(
        &self,
        task: &Task,
        spawn: &Spawn,
        harness: &Harness,
        workspace: Option<&WorkspaceRecord>,
        environment: &Environment,
    ) -> Result<Option<Description>, Failure> {
        let projects = self.context.projects().map_err(Failure::temporary)?;
        let project = projects.require(&task.project);
        let project = project.map_err(Failure::permanent)?;
        let choice = self.workspaces.choose_sandbox(task, project);
        let Some(ChosenSandbox { bwrap, settings }) = choice.map_err(Failure::permanent)? else {
            return Ok(None);
        };
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id);
        let directory = directory.map_err(Failure::permanent)?;
        let run = directory.run(&spawn.run).map_err(Failure::permanent)?;
        // Feedback may arrive while the agent runs.
        fs::create_dir_all(directory.feedback()).map_err(Failure::temporary)?;
        let [prompt, folder] = given_files(&run.join("launch"));
        let has_files = !harness.run_files.is_empty();
        let given = [prompt].into_iter().chain(has_files.then_some(folder));
        let mut places = RunPlaces {
            worktree: workspace.map(|it| it.path.clone()),
            read: Vec::new(),
            own: vec![run.join(CONTEXT_FILE)],
            given: given.collect(),
            writable: vec![report_folder(&run)],
            repository: Vec::new(),
            temporary: Some(run.join("launch/temporary")),
        };
        let mut shared = None;
        if let Some(workspace) = workspace {
            places.writable.push(workspace.path.clone());
            let user = RepositoryUser::of(&spawn.role, &spawn.run);
            let level = Level::made_with(bwrap.as_deref());
            let mounts = self
                .workspaces
                .prepare_repository(task, project, workspace, user, level);
            let mounts = mounts.map_err(|error| match error {
                DriverError::NoSandbox { .. } => Failure::permanent(error),
                _ => Failure::temporary(error),
            })?;
            match mounts {
                RepositoryMounts::Private(mounts) => places.repository = mounts,
                RepositoryMounts::Parts(mounts) => {
                    places.repository = mounts;
                    shared = Some(WITHOUT_NAMESPACES.to_owned());
                }
                RepositoryMounts::Shared { directory, reason } => {
                    let more = json!({ "run": spawn.run, "reason": reason });
                    let context = &self.context;
                    context.log(LogLevel::Warn, &task.id, "repository shared", more);
                    shared = Some(reason);
                    places.writable.push(directory);
                }
            }
        } else {
            places.read.push(project.path.clone());
            places.writable.push(directory.own_directory());
        }
        let agent = SandboxedAgent {
            task,
            harness,
            environment,
            bwrap: bwrap.as_deref(),
            settings,
        };
        let description = self.workspaces.describe_agent(agent, places);
        let description = description.map_err(|error| match error {
            DriverError::NoSandbox { .. } | DriverError::Harness(_) => Failure::permanent(error),
            _ => Failure::temporary(error),
        })?;
        let sandbox = RunSandbox {
            level: description.level(),
            shared_repository: shared,
            description,
        };
        sandbox.save(&run).map_err(Failure::temporary)?;
        Ok(Some(sandbox.description))
    }
}
