//! Decides which sandbox a run starts in, if any.

use std::fs;

use orange_config::{Environment, Harness, LogLevel, SandboxMode};
use orange_effects::run::given_files;
use orange_effects::sandbox::{Capabilities, DescribeRequest, Description, Network, describe};
use orange_engine::Task;
use orange_engine::context_file::CONTEXT_FILE;
use orange_engine::effect::Spawn;
use orange_store::{TaskDirectory, WorkspaceRecord};
use serde_json::json;

use crate::context::run_location::report_folder;
use crate::context::run_sandbox::RunSandbox;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::workspaces::private_repository::RepositoryMounts;

impl Performer {
    /// The sandbox of a run; `None` if the user did not turn it on, or if this machine has none and
    /// the user does not require one. `environment` is that of the agent.
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
        let settings = self.context.settings(Some(project));
        let settings = settings.map_err(Failure::permanent)?.sandbox;
        if settings.mode == SandboxMode::Off {
            return Ok(None);
        }
        let home = &self.context.home;
        let worktrees = home.workspaces();
        let capabilities = Capabilities::find(&self.context.environment, &[&worktrees]);
        let Some(bwrap) = capabilities.startable_bwrap() else {
            return self.do_without_sandbox(task, spawn, settings.mode, &capabilities);
        };
        let Some(user_home) = environment.home.as_deref() else {
            return Err(Failure::permanent(
                "cannot start in a sandbox: HOME is not set, so your home directory cannot be hidden",
            ));
        };
        let directory = TaskDirectory::new(home, &task.project, &task.id);
        let directory = directory.map_err(Failure::permanent)?;
        let private_home = directory.path().join(format!("home.{}", harness.name));
        let program = harness.locate(environment.variable("PATH"));
        let program = program.map_err(Failure::permanent)?;
        let run = directory.run(&spawn.run).map_err(Failure::permanent)?;
        let mut writable = vec![report_folder(&run)];
        let (mut others, mut shared) = (Vec::new(), None);
        // Feedback may arrive while the agent runs.
        fs::create_dir_all(directory.feedback()).map_err(Failure::temporary)?;
        let mut read = settings.read;
        read.extend(harness.sandbox.read(environment));
        // What prompts and messages name.
        read.extend([run.join(CONTEXT_FILE), directory.issue_file()]);
        read.extend([directory.feedback(), home.skills()]);
        let [prompt, folder] = given_files(&run.join("launch"));
        let has_files = !harness.run_files.is_empty();
        let given = [prompt].into_iter().chain(has_files.then_some(folder));
        if let Some(workspace) = workspace {
            writable.push(workspace.path.clone());
            let mounts = self.workspaces.prepare_private_repository(
                task,
                project,
                workspace,
                &spawn.role,
                &spawn.run,
            );
            match mounts.map_err(Failure::temporary)? {
                RepositoryMounts::Private(mounts) => others = mounts,
                RepositoryMounts::Shared { directory, reason } => {
                    let more = json!({ "run": spawn.run, "reason": reason });
                    let context = &self.context;
                    context.log(LogLevel::Warn, &task.id, "repository shared", more);
                    shared = Some(reason);
                    writable.push(directory);
                }
            }
        } else {
            read.push(project.path.clone());
            writable.push(directory.own_directory());
        }
        let description = describe(&DescribeRequest {
            bwrap,
            orange: &self.context.orange,
            user_home,
            private_home: Some(&private_home),
            program: &program,
            path: environment.variable("PATH"),
            read,
            given: given.collect(),
            copy: harness.sandbox.copy(environment),
            share: harness.sandbox.share(environment),
            writable,
            worktree: workspace.map(|it| it.path.as_path()),
            others,
            network: Network::Open,
        });
        let description = description.map_err(Failure::permanent)?;
        let sandbox = RunSandbox {
            level: String::from("full"),
            shared_repository: shared,
            user_home: user_home.to_owned(),
            private_home,
        };
        sandbox.save(&run).map_err(Failure::temporary)?;
        Ok(Some(description))
    }

    /// Starts without a sandbox, unless the user requires one.
    fn do_without_sandbox(
        &self,
        task: &Task,
        spawn: &Spawn,
        mode: SandboxMode,
        capabilities: &Capabilities,
    ) -> Result<Option<Description>, Failure> {
        let gap = capabilities.obstacle();
        let reason = gap.map_or("this machine has none", |gap| &gap.reason);
        let fix = gap.map_or("use another machine", |gap| &gap.fix);
        if mode == SandboxMode::Required {
            return Err(Failure::permanent(format!(
                "cannot start in a sandbox: {reason}. To fix it: {fix}. To start without a \
                 sandbox, set `sandbox.mode` to \"auto\" or \"off\""
            )));
        }
        let more = json!({ "run": spawn.run, "reason": reason, "fix": fix });
        let context = &self.context;
        context.log(LogLevel::Warn, &task.id, "started without a sandbox", more);
        Ok(None)
    }
}
