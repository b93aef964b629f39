//! Unfinished tasks, and what was seen of their pull requests.
//!
//! Only tasks that changed are read again: reading a workflow for each of many tasks after every
//! commit would take seconds.

use std::collections::BTreeMap;

use orange_engine::language::load;
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;
use orange_engine::{Task, Workflow};
use orange_store::{Store, TaskFilter};

use crate::DriverError;
use crate::forge::snapshot::{PullRequestSnapshot, StoredFacts};

#[derive(Debug, Default)]
pub(super) struct OpenTasks {
    /// For each task, the last commit that was read, and the task itself if it is open.
    known: BTreeMap<TaskId, (u64, Option<Task>)>,
    snapshots: BTreeMap<TaskId, PullRequestSnapshot>,
    is_loaded: bool,
}

impl OpenTasks {
    pub(super) fn update(&mut self, store: &Store) -> Result<(), DriverError> {
        if !self.is_loaded {
            for (task, record) in store.pull_requests()? {
                // An unreadable row is as good as none.
                if let Ok(facts) = serde_json::from_str::<StoredFacts>(&record.facts) {
                    self.snapshots.insert(task, facts.snapshot);
                }
            }
            self.is_loaded = true;
        }
        let mut workflows: BTreeMap<String, Option<Workflow>> = BTreeMap::new();
        let mut known = BTreeMap::new();
        for listed in store.list(&TaskFilter::default())?.tasks {
            let id = listed.task.id.clone();
            if let Some(before) = self.known.remove(&id)
                && before.0 == listed.sequence
            {
                known.insert(id, before);
                continue;
            }
            let stored = store.require(&id)?;
            let workflow = workflows
                .entry(stored.workflow_text)
                .or_insert_with_key(|text| load(text).workflow);
            let state = workflow
                .as_ref()
                .and_then(|it| it.state(&stored.task.status));
            let is_open = match state.map(|it| it.kind) {
                Some(Kind::Terminal) => false,
                // A queued task has no branch yet, unless it is for an existing pull request.
                Some(Kind::Queued) => stored.task.pull_request.is_some(),
                _ => true,
            };
            let task = Some(stored.task).filter(|it| is_open && !it.is_deleted);
            known.insert(id, (stored.sequence, task));
        }
        self.known = known;
        let known = &self.known;
        self.snapshots.retain(|id, _| known.contains_key(id));
        Ok(())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Task> {
        self.known.values().filter_map(|(_, task)| task.as_ref())
    }

    pub(super) fn has(&self, id: &TaskId) -> bool {
        self.known.get(id).is_some_and(|(_, task)| task.is_some())
    }

    /// What was last seen of a task's pull request.
    pub(super) fn snapshot(&self, id: &TaskId) -> Option<&PullRequestSnapshot> {
        self.snapshots.get(id)
    }

    pub(super) fn set_snapshot(&mut self, id: &TaskId, seen: Option<PullRequestSnapshot>) {
        if let Some(seen) = seen {
            self.snapshots.insert(id.clone(), seen);
        }
    }
}
