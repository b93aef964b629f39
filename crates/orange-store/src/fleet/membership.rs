//! What a home knows about the fleet it belongs to.

use std::collections::BTreeMap;

use orange_config::clock;
use orange_engine::names::TaskId;
use orange_fleet::ids::{Epoch, RunnerId, TaskId as FleetTaskId};
use orange_fleet::link::{Phase, RunnerLink};
use orange_fleet::time::{Period, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::error::{StoreError, failed};
use crate::tables::tasks;

/// The home's standing with the server of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The server's address.
    pub server: String,
    pub runner: RunnerId,
    /// The boot from which the lease is counted. After another one the lease is void.
    pub boot: Option<String>,
    pub link: RunnerLink,
    /// After how long without a beat the server may give the tasks to others; the server may grant
    /// less.
    pub lost_after: Period,
    /// Tasks that were taken away and are still to be removed here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<FleetTaskId, Epoch>,
    /// Whether the runner takes no more tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_draining: bool,
}

impl Membership {
    /// What agents may do now.
    pub fn phase(&self) -> Phase {
        if self.boot.as_deref() == clock::boot_id() {
            self.link.lease().phase(fleet_now())
        } else {
            Phase::Frozen
        }
    }
}

/// The clock of leases: milliseconds since the boot, sleep included.
pub(super) fn fleet_now() -> Timestamp {
    Timestamp(u64::try_from(clock::since_boot().as_millis()).unwrap_or(u64::MAX))
}

/// A task as the protocol names it.
pub(super) fn fleet_task(task: &TaskId) -> FleetTaskId {
    FleetTaskId::new(task.as_str())
}

impl Store {
    /// The home's standing; `None` when it belongs to no fleet.
    pub fn membership(&self) -> Result<Option<Membership>, StoreError> {
        find(&self.connection)
    }

    /// Makes the home a runner. Fails if it belongs to a fleet or has tasks that have not ended,
    /// because the server knows none of them.
    pub fn join_fleet(&mut self, membership: &Membership) -> Result<(), StoreError> {
        let writing = self.write("join a fleet")?;
        let connection = &writing.transaction;
        if let Some(known) = find(connection)? {
            let reason = format!("this home works for `{}`", known.server);
            return Err(StoreError::CannotJoin { reason });
        }
        if let Some(task) = open_task(connection)? {
            let reason = format!("task `{task}` of this home has not ended");
            return Err(StoreError::CannotJoin { reason });
        }
        write(connection, membership)?;
        connection
            .execute("UPDATE sequence SET is_joined = 1", [])
            .map_err(failed("join a fleet"))?;
        writing.commit()?;
        Ok(())
    }

    /// Changes the home's standing in one transaction. What the change leads to happens after it,
    /// so a process that is killed in between finds out what is left to do.
    ///
    /// A power loss may undo it: it also ends the lease, and the server is asked again.
    pub fn update_membership<T>(
        &mut self,
        change: impl FnOnce(&mut Membership) -> T,
    ) -> Result<T, StoreError> {
        let attempt = "record what the fleet's server answered";
        let writing = self.write_lazily(attempt)?;
        let connection = &writing.transaction;
        let before = find(connection)?.ok_or(StoreError::NotJoined { attempt })?;
        let mut after = before.clone();
        let result = change(&mut after);
        if after != before {
            write(connection, &after)?;
            writing.commit()?;
        }
        Ok(result)
    }

    /// Makes the home independent again. Fails while it holds a task.
    pub fn leave_fleet(&mut self) -> Result<(), StoreError> {
        let attempt = "leave the fleet";
        let writing = self.write(attempt)?;
        let connection = &writing.transaction;
        let known = find(connection)?.ok_or(StoreError::NotJoined { attempt })?;
        let mut left = known.link.tasks().keys().chain(known.dropped.keys());
        if let Some(task) = left.next() {
            return Err(StoreError::NotGivenBack {
                task: TaskId::new(task.as_str()),
            });
        }
        for sql in [
            "DELETE FROM membership",
            "UPDATE sequence SET is_joined = 0",
        ] {
            connection.execute(sql, []).map_err(failed(attempt))?;
        }
        writing.commit()?;
        Ok(())
    }
}

/// Fails in a home that belongs to a fleet.
pub(crate) fn require_unjoined(connection: &Connection) -> Result<(), StoreError> {
    match find(connection)? {
        Some(known) => Err(StoreError::Joined {
            server: known.server,
        }),
        None => Ok(()),
    }
}

pub(super) fn find(connection: &Connection) -> Result<Option<Membership>, StoreError> {
    let json: Option<String> = connection
        .query_row("SELECT json FROM membership", [], |row| row.get(0))
        .optional()
        .map_err(failed("read the home's standing in the fleet"))?;
    let parse = |json: String| {
        serde_json::from_str(&json).map_err(|error| StoreError::MembershipUnreadable {
            reason: error.to_string(),
        })
    };
    json.map(parse).transpose()
}

pub(super) fn write(connection: &Connection, membership: &Membership) -> Result<(), StoreError> {
    let json =
        serde_json::to_string(membership).map_err(|error| StoreError::MembershipUnreadable {
            reason: error.to_string(),
        })?;
    connection
        .execute(
            "INSERT INTO membership (only, json) VALUES (1, ?1)
             ON CONFLICT (only) DO UPDATE SET json = excluded.json",
            params![json],
        )
        .map_err(failed("write the home's standing in the fleet"))?;
    Ok(())
}

/// A task of this home that has not ended.
fn open_task(connection: &Connection) -> Result<Option<TaskId>, StoreError> {
    let attempt = "find tasks that have not ended";
    let sql = "SELECT task FROM task_rows";
    let mut statement = connection.prepare(sql).map_err(failed(attempt))?;
    let ids = statement
        .query_map([], |row| row.get::<_, String>(0))
        .map_err(failed(attempt))?;
    for id in ids {
        let id = TaskId::new(id.map_err(failed(attempt))?);
        if !tasks::is_ended(connection, &id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
