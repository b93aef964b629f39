//! Runs the user's shell where a task's agent works.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::run::RawText;
use orange_effects::sandbox::{
    AgentExit, Broker, Mount, SandboxError, SandboxedRun, run_in_sandbox,
};
use orange_engine::names::TaskId;
use orange_store::{Store, TaskDirectory};

use crate::DriverError;
use crate::context::run_sandbox::RunSandbox;
use crate::workspaces::Workspaces;

impl Workspaces {
    /// Runs a command in the sandbox of the last agent of a task that had one, in this terminal, and
    /// waits for it; the user's shell if there is none. Must be called on the main thread.
    pub fn run_in_sandbox_of(
        &self,
        task: &TaskId,
        command: &[OsString],
    ) -> Result<AgentExit, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let stored = store.require(task)?;
        let project = &stored.task.project;
        let directory = TaskDirectory::new(&self.context.home, project, task)?;
        let runs = store.runs(task)?.into_iter().rev();
        let mut runs = runs.filter_map(|run| {
            let sandbox = RunSandbox::load(&directory.run(&run.id).ok()?)?;
            Some((run, sandbox))
        });
        let (run, sandbox) = runs.next().ok_or_else(|| DriverError::NoSandboxedRun {
            task: task.clone(),
            what: "has been in a sandbox",
        })?;
        let worktree = self.worktree_path(task)?;
        let mut description = sandbox.description;
        // Files of a run are gone after its end.
        description.mounts.retain(exists);
        let harnesses = self.context.harnesses()?;
        let harness = harnesses.require(&run.harness)?;
        let environment = self.context.with_orange_on_path();
        let mut variables = environment.pane_variables();
        variables.extend(environment.passed_variables(harness.pass.iter().map(String::as_str)));
        let login = description.login.as_ref();
        let secret = login.and_then(|login| variables.remove(OsStr::new(&login.variable)));
        let shell = environment.variable("SHELL").map(OsStr::to_owned);
        let shell = [shell.unwrap_or_else(|| OsString::from("/bin/sh"))];
        let command = if command.is_empty() { &shell } else { command };
        let (program, arguments) = command.split_first().unwrap_or((&shell[0], &[]));
        let arguments: Vec<RawText> = arguments.iter().map(RawText::from).collect();
        let folder = ShellFolder::create(&directory)?;
        description.temporary = Some(folder.0.join("temporary").into());
        let exit = run_in_sandbox(SandboxedRun {
            description: &description,
            program,
            arguments: &arguments,
            directory: &worktree,
            environment: variables,
            secret,
            folder: &folder.0,
            output: None,
            broker: Broker {
                orange: self.context.orange.clone(),
                environment: std::collections::BTreeMap::new(),
                directory: worktree.clone(),
                policy: Box::new(|_| Err(String::from("only an agent's own calls are answered"))),
                secret: None,
            },
        });
        exit.map_err(|error| match error {
            SandboxError::NotStarted { .. } => DriverError::NotStartedInSandbox {
                program: program.to_string_lossy().into_owned(),
                reason: error.to_string(),
            },
            _ => DriverError::NoSandbox {
                reason: error.to_string(),
                fix: String::from("correct that, then run the command again"),
            },
        })
    }
}

/// Whether what a mount shows is still there.
fn exists(mount: &Mount) -> bool {
    match mount {
        Mount::ReadOnly { path }
        | Mount::Writable { path }
        | Mount::Repository { path }
        | Mount::Other { source: path, .. } => {
            Path::new(path.as_os_str()).symlink_metadata().is_ok()
        }
        Mount::Temporary { .. } | Mount::Link { .. } => true,
    }
}

/// A private folder for the sockets of one shell; removed at its end.
struct ShellFolder(PathBuf);

impl ShellFolder {
    fn create(directory: &TaskDirectory) -> Result<Self, DriverError> {
        let name = format!("shell-{}", std::process::id());
        let path = directory.path().join(name);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(DriverError::NoSandbox {
                reason: format!("cannot create `{}`: {error}", path.display()),
                fix: String::from("correct that, then run the command again"),
            }),
        }
    }
}

impl Drop for ShellFolder {
    fn drop(&mut self) {
        // It has sockets, and a folder that what ran inside could write in.
        let _left = fs::remove_dir_all(&self.0);
    }
}
