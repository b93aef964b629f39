//! What is known of every open task, read from the store.

use std::collections::{BTreeMap, BTreeSet};

use orange_effects::process::ProcessIdentity;
use orange_effects::tmux::{Called, PaneId, Roll, ServerIdentity};
use orange_engine::names::{RunId, TaskId};

use crate::{Watched, WatchedRun};

/// Every task that is not over, or for which something is to be done.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    known: BTreeMap<TaskId, Watched>,
    /// Whose process has which number.
    processes: BTreeMap<u32, TaskId>,
    /// Looked at with every tick until somebody can tell.
    doubtful: BTreeSet<TaskId>,
}

impl Tasks {
    /// Takes what was read of a task; what was known of it before.
    pub(super) fn update(&mut self, watched: Watched) -> Option<Watched> {
        let task = watched.task.clone();
        let before = self.known.remove(&task);
        for process in before.iter().flat_map(processes) {
            self.processes.remove(&process.pid);
        }
        for process in processes(&watched) {
            self.processes.insert(process.pid, task.clone());
        }
        if watched.runs.is_empty() {
            self.doubtful.remove(&task);
        }
        if !watched.is_over || !watched.runs.is_empty() || watched.due.is_some() {
            self.known.insert(task, watched);
        }
        before
    }

    /// The task of a process.
    pub(super) fn of(&self, pid: u32) -> Option<TaskId> {
        self.processes.get(&pid).cloned()
    }

    /// Notes that it could not be told how the agents of a task are.
    pub(super) fn doubt(&mut self, task: &TaskId) {
        if self.known.contains_key(task) {
            self.doubtful.insert(task.clone());
        }
    }

    /// Notes that it could.
    pub(super) fn trust(&mut self, task: &TaskId) {
        self.doubtful.remove(task);
    }

    /// Whether there is anybody to look at.
    pub(super) fn has_runs(&self) -> bool {
        self.known.values().any(|task| !task.runs.is_empty())
    }

    /// Whether somebody is to be started.
    pub(super) fn has_starts(&self) -> bool {
        self.known.values().any(|task| task.starts.is_some())
    }

    /// Whether what is to be done for a task starts somebody.
    pub(super) fn is_start(&self, task: &TaskId) -> bool {
        self.known.get(task).is_some_and(|it| it.starts.is_some())
    }

    /// Whether what is to be done first for a task ends somebody, or gives a workspace back.
    pub(super) fn is_end(&self, task: &TaskId) -> bool {
        self.known.get(task).is_some_and(|it| it.ends)
    }

    /// Every task with somebody to look at.
    pub(super) fn with_runs(&self) -> impl Iterator<Item = &TaskId> {
        let tasks = self.known.values();
        tasks.filter(|it| !it.runs.is_empty()).map(|it| &it.task)
    }

    /// Every task.
    pub(super) fn all(&self) -> impl Iterator<Item = &Watched> {
        self.known.values()
    }

    /// The tasks that have to be looked at closely, because a roll does not show all their
    /// agents running in their panes, or because nobody could tell before.
    pub(super) fn suspects(&self, roll: &Roll) -> Vec<TaskId> {
        let panes: BTreeMap<PaneId, &Called> =
            roll.panes.iter().map(|pane| (pane.pane, pane)).collect();
        let is_suspect = |task: &&Watched| {
            let mut runs = task.runs.iter();
            self.doubtful.contains(&task.task)
                || runs.any(|run| !is_running(run, &roll.server, &panes))
        };
        let suspects = self.known.values().filter(is_suspect);
        suspects.map(|task| task.task.clone()).collect()
    }

    /// The tasks that wait for a start which has happened already.
    pub(super) fn started(&self, roll: &Roll) -> Vec<TaskId> {
        let panes = roll.panes.iter();
        let running: BTreeSet<&RunId> = panes.filter_map(|pane| pane.run.as_ref()).collect();
        let waits = |task: &&Watched| task.starts.as_ref().is_some_and(|it| running.contains(it));
        let tasks = self.known.values().filter(waits);
        tasks.map(|task| task.task.clone()).collect()
    }
}

fn processes(task: &Watched) -> impl Iterator<Item = &ProcessIdentity> {
    let panes = task.runs.iter().filter_map(|run| run.pane.as_ref());
    panes.filter_map(|pane| pane.process.as_ref())
}

/// Whether a roll shows an agent where it was left: the process in the pane is watched, so that
/// it would be known if it had ended.
fn is_running(
    run: &WatchedRun,
    server: &ServerIdentity,
    panes: &BTreeMap<PaneId, &Called>,
) -> bool {
    let Some(pane) = run.pane.as_ref().filter(|pane| pane.server == *server) else {
        return false;
    };
    let process = pane.process.as_ref();
    panes.get(&pane.pane).is_some_and(|called| {
        called.is_running
            && called.run.as_ref() == Some(&run.run)
            && process.is_some_and(|process| process.pid == called.pid)
    })
}
