//! The messages that wait for an agent.

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::InboxEntry;

use crate::DriverError;
use crate::views::Views;

impl Views {
    /// The unread messages for a role.
    pub fn unread(&self, task: &TaskId, role: &Role) -> Result<Vec<InboxEntry>, DriverError> {
        let unread = self.inbox(task)?.into_iter();
        let unread = unread.filter(|entry| entry.to == *role && entry.read_at.is_none());
        Ok(unread.collect())
    }

    /// Marks a role's messages up to this one as read; called after they were handed over.
    pub fn mark_read(&self, task: &TaskId, role: &Role, last: u64) -> Result<(), DriverError> {
        let mut store = self.context.store()?;
        store.mark_read(task, role, last, clock::now())?;
        // Syncing follows a status that was written by hand instead of overwriting it.
        self.steps.sync_files(&mut store, task)
    }
}
