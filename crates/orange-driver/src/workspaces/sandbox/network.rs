//! What a task's programs reach over the network.

use orange_config::{HostPort, NetworkMode, SandboxSettings};
use orange_effects::sandbox::Network;
use orange_engine::Task;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// How many parents of a task are looked at; there are never as many.
const MAX_PARENTS: usize = 100;

impl Workspaces {
    /// The network of a task's programs; `own` are the hosts of a harness.
    pub(crate) fn network_of(
        &self,
        task: &Task,
        settings: &SandboxSettings,
        own: &[HostPort],
    ) -> Result<Network, DriverError> {
        let mode = match settings.network {
            NetworkMode::Open if self.has_outside_text(task)? => NetworkMode::List,
            mode => mode,
        };
        let listed = match mode {
            NetworkMode::Open => return Ok(Network::Open),
            NetworkMode::List => settings.hosts.as_slice(),
            NetworkMode::None => &[],
        };
        Ok(Network::List([own, listed].concat()))
    }

    /// Whether agents of a task read text that anyone may have written. With an open network, such
    /// a text could make an agent send away what it sees.
    pub(crate) fn has_outside_text(&self, task: &Task) -> Result<bool, DriverError> {
        if is_from_outside(task) {
            return Ok(true);
        }
        let Some(mut parent) = task.queueing.parent.clone() else {
            return Ok(false);
        };
        let store = self.context.read_store()?;
        for _ in 0..MAX_PARENTS {
            let Some(stored) = store.load(&parent)? else {
                return Ok(false);
            };
            if is_from_outside(&stored.task) {
                return Ok(true);
            }
            match stored.task.queueing.parent {
                Some(next) => parent = next,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

fn is_from_outside(task: &Task) -> bool {
    task.issue.is_some() || task.pull_request.is_some()
}
