//! The run ids that script and gate command processes carry.

use orange_engine::names::{RunId, TaskId};

use super::{Context, ids};

pub(crate) const GATE: &str = "gate";
pub(crate) const ROUTER: &str = "router";
pub(crate) const SETUP: &str = "setup";
pub(crate) const TEARDOWN: &str = "teardown";
pub(crate) const VERIFY: &str = "verify";

impl Context {
    /// The run id of a command with this name that runs for a task.
    pub(crate) fn script_run(&self, name: &str, task: &TaskId) -> RunId {
        RunId::new(format!("{name}-{task}-{}", self.short_hash()))
    }

    /// The run id that the processes of `orange chat` carry. It needs no proof, because it only
    /// takes rights away.
    pub(crate) fn assistant_run(&self) -> RunId {
        RunId::new(format!("assistant-{}", self.short_hash()))
    }

    /// The task that a gate, the router, a setup, a teardown or a verification runs for, from the id that its
    /// processes carry.
    pub(crate) fn task_of_script(&self, run: &RunId) -> Option<TaskId> {
        let names = [GATE, ROUTER, SETUP, TEARDOWN, VERIFY];
        let rest = names
            .iter()
            .find_map(|name| run.as_str().strip_prefix(name)?.strip_prefix('-'))?;
        let task = rest.strip_suffix(&self.short_hash())?.strip_suffix('-')?;
        Some(TaskId::new(task))
    }

    /// Identifies this home, because another one may have a task with the same id.
    fn short_hash(&self) -> String {
        let hash = ids::hash(&self.home.path().to_string_lossy());
        hash.chars().take(12).collect()
    }
}
