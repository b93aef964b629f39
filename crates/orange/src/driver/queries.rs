//! Answers questions; nothing here writes.

use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_engine::why::{Explanation, why};

use super::observe::Seen;
use super::{Driver, DriverError};
use crate::store::{InboxEntry, Pending, RunRecord, Store, StoredTask, WorkspaceRecord};

/// A task with everything there is to show.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The task and what it is pinned to.
    pub stored: StoredTask,
    /// What is to be done, and how far it has come.
    pub pending: Vec<Pending>,
    /// Its runs, in order.
    pub runs: Vec<RunRecord>,
    /// Its workspace.
    pub workspace: Option<WorkspaceRecord>,
    /// Its messages, read ones included.
    pub inbox: Vec<InboxEntry>,
    /// What a look at the agents showed that are believed alive; it changed nothing.
    pub seen: Vec<Seen>,
}

/// Why a task is where it is.
pub type Why = Explanation;

impl Driver {
    /// A task with everything there is to show.
    pub fn show(&self, task: &TaskId) -> Result<Shown, DriverError> {
        let store = Store::open_read_only(&self.home)?;
        let stored = store.require(task)?;
        let runs = store.runs(task)?;
        let seen = self.look_only(&stored.task, &runs)?;
        Ok(Shown {
            stored,
            pending: store.pending(task)?,
            runs,
            seen,
            workspace: store.workspace_of(task)?,
            inbox: store.inbox(task)?,
        })
    }

    /// What happened to a task after a version, in order.
    pub fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Event>, DriverError> {
        let store = Store::open_read_only(&self.home)?;
        store.require(task)?;
        let events = store.events(task, after)?;
        Ok(events.into_iter().map(|recorded| recorded.event).collect())
    }

    /// Why a task is where it is.
    pub fn why(&self, task: &TaskId) -> Result<Option<Why>, DriverError> {
        Ok(why(&self.history(task, 0)?))
    }

    /// The messages of a task, read ones included.
    pub fn inbox(&self, task: &TaskId) -> Result<Vec<InboxEntry>, DriverError> {
        let store = Store::open_read_only(&self.home)?;
        store.require(task)?;
        Ok(store.inbox(task)?)
    }
}
