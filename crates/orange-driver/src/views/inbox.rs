//! What waits for an agent to be read.

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::InboxEntry;

use crate::DriverError;
use crate::views::Views;

impl Views {
    /// The messages for a role that it has not read.
    pub fn unread(&self, task: &TaskId, role: &Role) -> Result<Vec<InboxEntry>, DriverError> {
        let unread = self.inbox(task)?.into_iter();
        let unread = unread.filter(|entry| entry.to == *role && entry.read_at.is_none());
        Ok(unread.collect())
    }

    /// Notes that a role has read its messages up to this one; asked for once they were handed over.
    pub fn mark_read(&self, task: &TaskId, role: &Role, last: u64) -> Result<(), DriverError> {
        let mut store = self.context.store()?;
        store.mark_read(task, role, last, clock::now())?;
        // A status that was written by hand is followed, not overwritten.
        self.steps.sync_files(&mut store, task)
    }
}
