//! What waits for an agent to be read.

use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::{Driver, DriverError};
use crate::clock;
use crate::store::InboxEntry;

impl Driver {
    /// The messages for a role that it has not read; reading them here is what marks them.
    pub fn read_inbox(&self, task: &TaskId, role: &Role) -> Result<Vec<InboxEntry>, DriverError> {
        let mut store = self.store()?;
        store.require(task)?;
        let all = store.inbox(task)?;
        let unread = all.into_iter();
        let unread: Vec<InboxEntry> = unread
            .filter(|entry| entry.to == *role && entry.read_at.is_none())
            .collect();
        if let Some(last) = unread.last() {
            store.mark_read(task, role, last.id, clock::now())?;
            // A status that was written by hand is followed, not overwritten.
            self.project_files(&mut store, task)?;
        }
        Ok(unread)
    }
}
