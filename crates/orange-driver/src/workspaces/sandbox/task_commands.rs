//! The sandbox around commands of a project or a workflow.
//!
//! Setup, gates and the like run what agents wrote. They see what an agent would see, without a
//! login and without a way to call orange.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use orange_config::{Project, SandboxSettings};
use orange_effects::command::Invocation;
use orange_effects::git::{Git, GitError};
use orange_effects::private_file;
use orange_effects::sandbox::{DescribeRequest, Level, Mount, Network, describe, start_proxy};
use orange_engine::Task;
use orange_store::{TaskDirectory, WorkspaceRecord};

use super::choice::ChosenSandbox;
use super::program::ProgramSandbox;
use crate::DriverError;
use crate::workspaces::Workspaces;
use crate::workspaces::private_repository::{RepositoryMounts, RepositoryUser, commands_folder};

/// The socket of a command's proxy, in the folder of the task's commands.
const PROXY: &str = "proxy";

/// A command of a project or a workflow.
pub(crate) struct TaskCommand<'a> {
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [String],
    pub(crate) directory: &'a Path,
    pub(crate) variables: BTreeMap<OsString, OsString>,
}

impl Workspaces {
    /// Runs a command in the workspace of a task, in a sandbox if its agents have one.
    pub(crate) fn command_in_workspace(
        &self,
        task: &Task,
        project: &Project,
        workspace: &WorkspaceRecord,
        command: TaskCommand<'_>,
    ) -> Result<Invocation, DriverError> {
        self.confined(task, project, command, |level| {
            let user = RepositoryUser::Commands;
            match self.prepare_repository(task, project, workspace, user, level)? {
                RepositoryMounts::Private(mounts) | RepositoryMounts::Parts(mounts) => Ok(mounts),
                RepositoryMounts::Shared { directory, .. } => Ok(vec![Mount::Writable {
                    path: directory.into(),
                }]),
            }
        })
    }

    /// Runs a command in a worktree for verifications, in a sandbox if the agents have one. The
    /// repository is visible without the addresses and the programs of its configuration.
    pub(crate) fn command_in_verification(
        &self,
        task: &Task,
        project: &Project,
        git: &Git,
        command: TaskCommand<'_>,
    ) -> Result<Invocation, DriverError> {
        let directory = command.directory;
        // Without namespaces the real configuration is read-only at its place.
        self.confined(task, project, command, |_| {
            let plain = git.worktree(directory)?.configuration_for_sandbox()?;
            let folder = TaskDirectory::new(&self.context.home, &task.project, &task.id)?;
            let file = commands_folder(&folder).join("config");
            private_file::write_unsynced(&file, plain.as_bytes()).map_err(GitError::from)?;
            let repository = git.shared_directory();
            Ok(vec![
                Mount::ReadOnly {
                    path: repository.into(),
                },
                Mount::Other {
                    source: file.into(),
                    path: repository.join("config").into(),
                    is_read_only: true,
                },
            ])
        })
    }

    fn confined(
        &self,
        task: &Task,
        project: &Project,
        command: TaskCommand<'_>,
        repository: impl FnOnce(Level) -> Result<Vec<Mount>, DriverError>,
    ) -> Result<Invocation, DriverError> {
        let Some(ChosenSandbox { bwrap, settings }) = self.choose_sandbox(task, project)? else {
            return Ok(Invocation::new(command.program, command.variables)
                .arguments(command.arguments)
                .directory(command.directory));
        };
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id)?;
        let home = commands_folder(&directory).join("home");
        fs::create_dir_all(&home).map_err(|error| DriverError::NoSandbox {
            reason: format!("cannot create `{}`: {error}", home.display()),
            fix: String::from("correct that, then run the command again"),
        })?;
        let bwrap = bwrap.as_deref();
        let repository = repository(Level::made_with(bwrap))?;
        let network = self.network_of(task, &settings, &[])?;
        self.sandbox_for_command(bwrap, &settings, &home, repository, network, &command)
    }

    fn sandbox_for_command(
        &self,
        bwrap: Option<&Path>,
        settings: &SandboxSettings,
        private_home: &Path,
        repository: Vec<Mount>,
        network: Network,
        command: &TaskCommand<'_>,
    ) -> Result<Invocation, DriverError> {
        let proxy = match &network {
            Network::List(hosts) if !hosts.is_empty() => {
                let folder = private_home.parent().unwrap_or(private_home);
                let proxy = start_proxy(folder, PROXY, hosts, Level::made_with(bwrap));
                Some(proxy.map_err(|error| DriverError::NoSandbox {
                    reason: format!("cannot start its proxy: {error}"),
                    fix: String::from("correct that, then run the command again"),
                })?)
            }
            _ => None,
        };
        let environment = &self.context.environment;
        let home = environment.home.as_deref();
        let home = home.ok_or_else(DriverError::home_not_set)?;
        let program = Some(PathBuf::from(command.program));
        let program = program.filter(|path| path.is_absolute());
        let description = describe(&DescribeRequest {
            bwrap,
            orange: &self.context.orange,
            user_home: home,
            orange_home: self.context.home.path(),
            private_home: Some(private_home),
            temporary: Some(&private_home.with_file_name("temporary")),
            program: program.as_deref().unwrap_or(Path::new("/bin/sh")),
            path: environment.variable("PATH"),
            read: settings.readable(),
            own: Vec::new(),
            given: Vec::new(),
            copy: Vec::new(),
            share: Vec::new(),
            writable: vec![command.directory.to_owned()],
            worktree: Some(command.directory),
            others: repository,
            network,
            login: None,
        })?;
        let sandbox = ProgramSandbox {
            description,
            variables: command.variables.clone(),
            directory: command.directory.to_owned(),
            proxy,
        };
        Ok(sandbox.command(command.program.as_ref(), command.arguments))
    }
}
