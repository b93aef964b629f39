//! Begins to give a task back.

use orange_engine::names::TaskId;
use orange_fleet::message::{GiveBack, Rest};

use super::commits;
use super::membership::{self, fleet_task};
use crate::Store;
use crate::error::StoreError;

impl Store {
    /// Begins to give a task back: from then on nothing is recorded for it here. `None` while the
    /// log lacks a commit; that is checked in the same transaction, so no commit can be left behind.
    pub fn begin_give_back(
        &mut self,
        task: &TaskId,
        rest: Rest,
    ) -> Result<Option<GiveBack>, StoreError> {
        let attempt = "give a task back";
        let writing = self.write_lazily(attempt)?;
        let connection = &writing.transaction;
        let mut known = membership::find(connection)?.ok_or(StoreError::NotJoined { attempt })?;
        let local = commits::all(connection, task)?;
        let call = known.link.give_back(&fleet_task(task), rest, &local);
        if call.is_some() {
            membership::write(connection, &known)?;
            writing.commit()?;
        }
        Ok(call)
    }
}
