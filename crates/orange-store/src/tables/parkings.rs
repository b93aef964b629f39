//! Harnesses on which nothing may start for now.
//!
//! A row is written in the transaction that records the run's death, and checked in the transaction
//! that begins a start. So a start either comes before the death, or it waits. Rows describe the
//! outside world, not a task, so a rebuild drops them; the next death parks the harness again.

use orange_engine::event::{Event, Fact};
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::parking::{Parking, Reason};
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

impl Store {
    /// Every harness that is parked at this time.
    pub fn parkings(&self, now: Timestamp) -> Result<Vec<Parking>, StoreError> {
        parkings(&self.connection, now)
    }

    /// Unparks a harness and returns its parking, if it was parked. Every task with pending effects
    /// counts as changed, so that watchers check it again.
    pub fn unpark(
        &mut self,
        harness: &HarnessName,
        now: Timestamp,
    ) -> Result<Option<Parking>, StoreError> {
        let attempt = || failed("unpark a harness");
        let writing = self.write("unpark a harness")?;
        let connection = &writing.transaction;
        let Some(parking) = blocking_parking(connection, harness, now)? else {
            return Ok(None);
        };
        connection
            .execute("DELETE FROM parked WHERE harness = ?1", [harness.as_str()])
            .map_err(attempt())?;
        // Effects that were deferred without a failure are due now.
        connection
            .execute(
                "UPDATE pending SET next_attempt_at = NULL WHERE attempts = 0 AND state = 'waiting'",
                [],
            )
            .map_err(attempt())?;
        connection
            .execute(
                "UPDATE tasks SET sequence = ?1 WHERE id IN
                     (SELECT task FROM pending WHERE state = 'waiting')",
                [writing.sequence],
            )
            .map_err(attempt())?;
        writing.commit()?;
        Ok(Some(parking))
    }
}

/// Every harness that is parked at this time.
pub(crate) fn parkings(
    connection: &Connection,
    now: Timestamp,
) -> Result<Vec<Parking>, StoreError> {
    let mut found = all_parkings(connection)?;
    found.retain(|parking| parking.is_active(now));
    Ok(found)
}

/// Every recorded parking, including those that have ended.
fn all_parkings(connection: &Connection) -> Result<Vec<Parking>, StoreError> {
    let attempt = || failed("find parked harnesses");
    let sql = "SELECT harness, reason, since, until, output_line FROM parked ORDER BY harness";
    let mut statement = connection.prepare(sql).map_err(attempt())?;
    let found = statement.query_map([], read).map_err(attempt())?;
    let found: Result<Vec<Parking>, _> = found.collect();
    found.map_err(attempt())
}

fn last_parking(
    connection: &Connection,
    harness: &HarnessName,
) -> Result<Option<Parking>, StoreError> {
    let all = all_parkings(connection)?;
    Ok(all.into_iter().find(|parking| parking.harness == *harness))
}

/// The parking that keeps a harness from being used at this time.
pub(crate) fn blocking_parking(
    connection: &Connection,
    harness: &HarnessName,
    now: Timestamp,
) -> Result<Option<Parking>, StoreError> {
    let all = parkings(connection, now)?;
    Ok(all.into_iter().find(|parking| parking.harness == *harness))
}

/// Parks the harness of a run if the run's death calls for it; returns the parking if it is new.
pub(crate) fn park_after_death(
    connection: &Connection,
    task: &TaskId,
    event: &Event,
) -> Result<Option<Parking>, StoreError> {
    let Fact::RunEnded {
        run,
        evidence,
        output_line,
        ..
    } = &event.fact
    else {
        return Ok(None);
    };
    if !evidence.is_harness_failure() {
        return Ok(None);
    }
    let sql = "SELECT harness FROM runs WHERE task = ?1 AND id = ?2";
    let harness = connection
        .query_row(sql, [task.as_str(), run.as_str()], |row| {
            row.get::<_, String>(0)
        })
        .optional()
        .map_err(failed("park a harness"))?;
    let Some(harness) = harness.map(HarnessName::new) else {
        return Ok(None);
    };
    let last = last_parking(connection, &harness)?;
    let line = output_line.as_ref();
    let Some(new_parking) =
        Parking::from_evidence(&harness, evidence, line, event.at, last.as_ref())
    else {
        return Ok(None);
    };
    let before = last.filter(|parking| parking.is_active(event.at));
    let is_new = before.is_none();
    let parking = match before {
        Some(before) => before.combine(new_parking),
        None => new_parking,
    };
    // A parking that expired before it was recorded holds nothing back.
    if !parking.is_active(event.at) {
        return Ok(None);
    }
    write(connection, &parking)?;
    Ok(is_new.then_some(parking))
}

fn write(connection: &Connection, parking: &Parking) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT OR REPLACE INTO parked (harness, reason, since, until, output_line)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                parking.harness.as_str(),
                parking.reason.as_str(),
                parking.since.to_string(),
                parking.until.map(|until| until.to_string()),
                parking.output_line,
            ],
        )
        .map_err(failed("park a harness"))?;
    Ok(())
}

/// Reads a row. An unknown reason counts as `Login`. If the end is unreadable, the harness stays
/// parked until the user unparks it, so that nothing is started by mistake.
fn read(row: &Row<'_>) -> rusqlite::Result<Parking> {
    let reason: String = row.get(1)?;
    let mut reasons = Reason::ALL.into_iter();
    let instant = |text: &str| Timestamp::parse(text).ok();
    let since: String = row.get(2)?;
    let until: Option<String> = row.get(3)?;
    Ok(Parking {
        harness: HarnessName::new(row.get::<_, String>(0)?),
        reason: reasons
            .find(|it| it.as_str() == reason)
            .unwrap_or(Reason::Login),
        since: instant(&since).unwrap_or_default(),
        until: until.as_deref().and_then(instant),
        output_line: row.get(4)?,
    })
}
