//! What is known about every open task, read from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use orange_effects::process::ProcessIdentity;
use orange_effects::tmux::{PaneEntry, PaneId, PaneSnapshot, ServerIdentity};
use orange_engine::names::{RunId, TaskId};

use crate::{WatchedRun, WatchedTask};

/// Every task that is unfinished, has agents, or has effects due.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    known: BTreeMap<TaskId, WatchedTask>,
    /// The task of each process, by pid.
    processes: BTreeMap<u32, TaskId>,
    /// Tasks that are checked with every tick until the state of their agents is known.
    doubtful: BTreeSet<TaskId>,
}

impl Tasks {
    /// Stores what was read about a task; returns what was known before.
    pub(super) fn update(&mut self, watched: WatchedTask) -> Option<WatchedTask> {
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
    pub(super) fn task_of(&self, pid: u32) -> Option<TaskId> {
        self.processes.get(&pid).cloned()
    }

    /// Records that the state of a task's agents could not be determined.
    pub(super) fn mark_doubtful(&mut self, task: &TaskId) {
        if self.known.contains_key(task) {
            self.doubtful.insert(task.clone());
        }
    }

    /// Records that the state of a task's agents could be determined.
    pub(super) fn mark_determined(&mut self, task: &TaskId) {
        self.doubtful.remove(task);
    }

    /// Whether there are agents to check.
    pub(super) fn has_runs(&self) -> bool {
        self.known.values().any(|task| !task.runs.is_empty())
    }

    /// Whether an agent is to be started.
    pub(super) fn has_starts(&self) -> bool {
        self.known.values().any(|task| task.next_start.is_some())
    }

    /// Whether the due effects of a task start an agent.
    pub(super) fn is_start(&self, task: &TaskId) -> bool {
        self.known
            .get(task)
            .is_some_and(|it| it.next_start.is_some())
    }

    /// Whether a task's first due effect ends an agent or releases a workspace.
    pub(super) fn is_end(&self, task: &TaskId) -> bool {
        self.known.get(task).is_some_and(|it| it.is_end)
    }

    /// The tasks that come after this one, at most so many; after the last comes the first.
    pub(super) fn next_in_turn(
        &self,
        last: Option<&TaskId>,
        most: usize,
    ) -> impl Iterator<Item = &WatchedTask> {
        let start = last.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.known.range::<TaskId, _>((start, Bound::Unbounded));
        let end = last.map_or(Bound::Unbounded, Bound::Included);
        let earlier = self.known.range::<TaskId, _>((Bound::Unbounded, end));
        let in_turn = later.chain(earlier).map(|(_, watched)| watched);
        in_turn.take(most.min(self.known.len()))
    }

    /// Every task with agents to check.
    pub(super) fn with_runs(&self) -> impl Iterator<Item = &TaskId> {
        let tasks = self.known.values();
        tasks.filter(|it| !it.runs.is_empty()).map(|it| &it.task)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &WatchedTask> {
        self.known.values()
    }

    /// The tasks that need a closer check, because the pane listing does not show all their agents
    /// running, or because their state was unknown before.
    pub(super) fn suspects(&self, snapshot: &PaneSnapshot) -> Vec<TaskId> {
        let panes: BTreeMap<PaneId, &PaneEntry> = snapshot
            .panes
            .iter()
            .map(|pane| (pane.pane, pane))
            .collect();
        let is_suspect = |task: &&WatchedTask| {
            let mut runs = task.runs.iter();
            self.doubtful.contains(&task.task)
                || runs.any(|run| !is_running(run, &snapshot.server, &panes))
        };
        let suspects = self.known.values().filter(is_suspect);
        suspects.map(|task| task.task.clone()).collect()
    }

    /// The tasks that wait for a start which has already happened.
    pub(super) fn started(&self, snapshot: &PaneSnapshot) -> Vec<TaskId> {
        let panes = snapshot.panes.iter();
        let running: BTreeSet<&RunId> = panes.filter_map(|pane| pane.run.as_ref()).collect();
        let waits = |task: &&WatchedTask| {
            task.next_start
                .as_ref()
                .is_some_and(|it| running.contains(it))
        };
        let tasks = self.known.values().filter(waits);
        tasks.map(|task| task.task.clone()).collect()
    }
}

fn processes(task: &WatchedTask) -> impl Iterator<Item = &ProcessIdentity> {
    let panes = task.runs.iter().filter_map(|run| run.pane.as_ref());
    panes.filter_map(|pane| pane.process.as_ref())
}

/// Whether the pane listing shows an agent's process in its recorded pane. This is enough, because
/// the process is watched and its exit would have been noticed.
fn is_running(
    run: &WatchedRun,
    server: &ServerIdentity,
    panes: &BTreeMap<PaneId, &PaneEntry>,
) -> bool {
    let Some(pane) = run.pane.as_ref().filter(|pane| pane.server == *server) else {
        return false;
    };
    let process = pane.process.as_ref();
    panes.get(&pane.pane).is_some_and(|entry| {
        entry.is_running
            && entry.run.as_ref() == Some(&run.run)
            && process.is_some_and(|process| process.pid == entry.pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_task(task: &str) -> WatchedTask {
        WatchedTask {
            task: TaskId::new(task),
            is_over: false,
            runs: Vec::new(),
            worktree: None,
            due: None,
            next_start: None,
            is_end: false,
            is_held: false,
            timeout_at: None,
        }
    }

    #[test]
    fn every_task_has_its_turn() {
        let mut tasks = Tasks::default();
        for task in ["t1", "t2", "t3", "t4", "t5"] {
            tasks.update(open_task(task));
        }
        let mut last: Option<TaskId> = None;
        let mut turn = || {
            let turn: Vec<TaskId> = tasks
                .next_in_turn(last.as_ref(), 2)
                .map(|it| it.task.clone())
                .collect();
            last = turn.last().cloned();
            turn.iter()
                .map(|it| it.as_str().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(turn(), ["t1", "t2"]);
        assert_eq!(turn(), ["t3", "t4"]);
        assert_eq!(turn(), ["t5", "t1"]);
        assert_eq!(turn(), ["t2", "t3"]);
        let all = |last| tasks.next_in_turn(last, 9).count();
        assert_eq!(all(None), 5);
        assert_eq!(all(Some(&TaskId::new("t3"))), 5);
        let last = TaskId::new("t9");
        let gone = tasks.next_in_turn(Some(&last), 2);
        assert_eq!(
            gone.map(|it| it.task.as_str()).collect::<Vec<_>>(),
            ["t1", "t2"]
        );
    }
}
