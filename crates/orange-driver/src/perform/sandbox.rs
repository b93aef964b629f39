//! Decides which sandbox a run starts in, if any.

use orange_config::{Environment, Harness, LogLevel, SandboxMode};
use orange_effects::git::Git;
use orange_effects::sandbox::{Capabilities, DescribeRequest, Description, describe};
use orange_engine::Task;
use orange_engine::effect::Spawn;
use orange_store::{TaskDirectory, WorkspaceRecord};
use serde_json::json;

use crate::failure::Failure;
use crate::perform::Performer;

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
        // Until the broker exists, the agent's own calls of `orange` and git need orange's home and
        // the repository. So it can still write the database, other worktrees and the refs.
        let mut writable = vec![home.path().to_owned()];
        let mut read = settings.read;
        read.extend(harness.sandbox.read(environment));
        if let Some(workspace) = workspace {
            let git = Git::open_checkout("git", &project.path, &self.context.environment);
            let git = git.map_err(Failure::temporary)?;
            writable.push(git.shared_directory().to_owned());
            writable.push(workspace.path.clone());
        } else {
            read.push(project.path.clone());
        }
        let description = describe(&DescribeRequest {
            bwrap,
            orange: &self.context.orange,
            user_home,
            private_home: &private_home,
            program: &program,
            path: environment.variable("PATH"),
            read,
            copy: harness.sandbox.copy(environment),
            share: harness.sandbox.share(environment),
            writable,
            worktree: workspace.map(|it| it.path.as_path()),
        });
        description.map(Some).map_err(Failure::permanent)
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
