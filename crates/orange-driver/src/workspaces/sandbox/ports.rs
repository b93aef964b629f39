//! Ports inside the sandbox of a task's agent, opened for the user.

use std::path::PathBuf;

use orange_effects::sandbox::{Level, Network, PortForward, forward_port, has_server};
use orange_engine::names::TaskId;
use orange_store::Store;

use super::explain::live_run;
use crate::DriverError;
use crate::context::run_sandbox::RunSandbox;
use crate::workspaces::Workspaces;

/// A port of this machine that leads into a sandbox.
#[derive(Debug)]
pub struct SandboxPort {
    forward: PortForward,
    folder: PathBuf,
    port: u16,
}

impl Workspaces {
    /// Opens a port that leads to one inside the sandbox of a task's live agent. Without `listen`,
    /// it has the same number if that is free.
    pub fn open_sandbox_port(
        &self,
        task: &TaskId,
        port: u16,
        listen: Option<u16>,
    ) -> Result<SandboxPort, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let stored = store.require(task)?;
        let missing = |what| DriverError::NoSandboxedRun {
            task: task.clone(),
            what,
        };
        let run = live_run(&store, &stored.task)?;
        let run = run.ok_or_else(|| missing("is running"))?;
        let project = &stored.task.project;
        let directory = self.context.run_directory(project, task, &run.id)?;
        let sandbox = RunSandbox::load(&directory);
        let sandbox = sandbox.ok_or_else(|| missing("runs in a sandbox"))?;
        if sandbox.description.network == Network::Open {
            return Err(DriverError::SharedNetwork {
                task: task.clone(),
                port,
            });
        }
        if sandbox.level != Level::Full {
            return Err(DriverError::PortNotOpened {
                port,
                reason: String::from(
                    "in a partial sandbox with a limited network, programs cannot open ports",
                ),
            });
        }
        let forward = PortForward::listen(port, listen.unwrap_or(port), listen.is_none());
        let forward = forward.map_err(|error| DriverError::PortNotOpened {
            port: listen.unwrap_or(port),
            reason: error.to_string(),
        })?;
        Ok(SandboxPort {
            forward,
            folder: self.context.launch_directory(project, task, &run.id)?,
            port,
        })
    }
}

impl SandboxPort {
    /// The port of this machine.
    pub fn local(&self) -> u16 {
        self.forward.address().map_or(0, |address| address.port())
    }

    /// Whether a server listens inside now.
    pub fn has_server(&self) -> bool {
        has_server(&self.folder, self.port).unwrap_or(false)
    }

    /// Passes connections on until this process ends.
    pub fn serve(self) {
        forward_port(&self.folder, self.forward);
    }
}
