//! Decides which sandbox a run starts in, if any.

use std::fs;

use orange_config::{Environment, Harness, LogLevel};
use orange_effects::run::given_files;
use orange_effects::sandbox::{DescribeRequest, Description, InjectedLogin, describe};
use orange_engine::Task;
use orange_engine::context_file::CONTEXT_FILE;
use orange_engine::effect::Spawn;
use orange_store::{TaskDirectory, WorkspaceRecord};
use serde_json::json;

use crate::DriverError;
use crate::context::ids;
use crate::context::run_location::report_folder;
use crate::context::run_sandbox::RunSandbox;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::workspaces::private_repository::{RepositoryMounts, RepositoryUser};
use crate::workspaces::sandbox::choice::SandboxChoice;

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
        let choice = self.workspaces.choose_sandbox(project);
        let (bwrap, settings) = match choice.map_err(Failure::permanent)? {
            SandboxChoice::Use { bwrap, settings } => (bwrap, settings),
            SandboxChoice::Off => return Ok(None),
            SandboxChoice::Unavailable { reason, fix } => {
                let more = json!({ "run": spawn.run, "reason": reason, "fix": fix });
                let context = &self.context;
                context.log(LogLevel::Warn, &task.id, "started without a sandbox", more);
                return Ok(None);
            }
        };
        let home = &self.context.home;
        let user_home = environment.home.as_deref();
        let user_home = user_home.ok_or_else(DriverError::home_not_set);
        let user_home = user_home.map_err(Failure::permanent)?;
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
        let network = self
            .workspaces
            .network_of(task, &settings, &harness.sandbox.hosts);
        let network = network.map_err(Failure::temporary)?;
        let login = injected_login(harness, environment).map_err(Failure::temporary)?;
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
                RepositoryUser::Run {
                    role: &spawn.role,
                    run: &spawn.run,
                },
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
            bwrap: &bwrap,
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
            network,
            login,
        });
        let description = description.map_err(DriverError::from);
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
}

/// The first login of a harness that the agent would get in a variable.
fn injected_login(
    harness: &Harness,
    environment: &Environment,
) -> Result<Option<InjectedLogin>, DriverError> {
    let is_set = |name: &str| environment.variable(name).is_some_and(|it| !it.is_empty());
    let mut logins = harness.sandbox.logins.iter();
    let Some(login) = logins.find(|login| is_set(&login.variable)) else {
        return Ok(None);
    };
    let service = environment.variable(&login.address);
    let service = service
        .and_then(|it| it.to_str())
        .filter(|it| !it.is_empty());
    Ok(Some(InjectedLogin {
        variable: login.variable.clone(),
        inside: login
            .inside
            .clone()
            .unwrap_or_else(|| login.variable.clone()),
        placeholder: format!("orange-{}", ids::secret()?),
        header: login.header.clone(),
        prefix: login.prefix.clone(),
        address: login.address.clone(),
        service: service.unwrap_or(&login.service).to_owned(),
        paths: login.paths.clone(),
    }))
}
