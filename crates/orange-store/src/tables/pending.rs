//! Effects that are not done, with the performers' notes.
//!
//! Whether an effect waits, failed or was stopped follows from the events. That it was started, how
//! often it was tried and when to retry are notes: losing them means only that the world is
//! checked again, except for an effect of the class *at most once*, which is marked before it
//! starts.

use std::collections::BTreeMap;

use orange_engine::Task;
use orange_engine::effect::{Effect, EffectClass, EffectId, PlannedEffect};
use orange_engine::event::{Event, Fact};
use orange_engine::language::hooks::OnError;
use orange_engine::names::TaskId;
use orange_engine::parking::Parking;
use orange_engine::task::PendingState;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::parkings;
use crate::Store;
use crate::error::{StoreError, failed};
use crate::fleet::{self, EffectGate};
use crate::steps::is_switched_off;

/// An effect that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub task: TaskId,
    pub planned: PlannedEffect,
    pub mark: PendingProgress,
    /// How often it failed since it was planned or retried.
    pub attempts: u32,
    /// The earliest time of the next try.
    pub next_attempt_at: Option<Timestamp>,
    /// The latest error.
    pub error: Option<String>,
}

impl Pending {
    /// Whether it waits for the server of a fleet.
    pub fn is_gated(&self) -> bool {
        let error = self.error.as_deref();
        self.attempts == 0 && error.is_some_and(EffectGate::is_reason)
    }
}

/// The progress of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingProgress {
    /// It waits for its turn.
    Waiting,
    /// A performer started it.
    Started {
        /// The performer, as it identifies itself.
        by: String,
        at: Timestamp,
    },
    /// It failed for good.
    Failed,
    /// An earlier effect of its plan failed.
    Stopped,
}

/// The answer to a performer that wants to start an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartAnswer {
    Go,
    /// It was started before with an unknown result; it must happen at most once, so report it.
    Interrupted {
        /// The performer that started it.
        by: String,
        at: Timestamp,
    },
    /// It starts an agent on a harness that is parked.
    Parked(Parking),
    /// The server of the fleet does not allow it yet.
    Gated(EffectGate),
    /// It is done, cancelled, failed or stopped: there is nothing to perform.
    NotWaiting,
}

/// After how many milliseconds an effect asks again whether the fleet's server allows it. The
/// runner releases it as soon as the server does; this is for a runner that was killed before.
const GATE_PAUSE_MILLIS: i64 = 5000;

const COLUMNS: &str =
    "task, planned, state, attempts, next_attempt_at, started_at, started_by, error";

impl Store {
    /// The effects of a task that are not done, in order.
    pub fn pending(&self, task: &TaskId) -> Result<Vec<Pending>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM pending WHERE task = ?1 ORDER BY effect");
        select(&self.connection, &sql, &[&task.as_str()])
    }

    /// The effects of all tasks that can be performed now, in order within each task.
    ///
    /// An effect that waits for its next try holds back the later ones of its task, unless its
    /// failure would not stop them either.
    pub fn due_effects(&self, now: Timestamp) -> Result<Vec<Pending>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM pending WHERE state IN ('waiting', 'started')
             ORDER BY task, effect"
        );
        let all = select(&self.connection, &sql, &[])?;
        let mut held_back: Option<TaskId> = None;
        let mut due = Vec::new();
        for pending in all {
            if held_back.as_ref() == Some(&pending.task) {
                continue;
            }
            if pending.next_attempt_at.is_none_or(|next| next <= now) {
                due.push(pending);
            } else if pending.planned.on_error == OnError::Stop {
                held_back = Some(pending.task);
            }
        }
        Ok(due)
    }

    /// Records that a performer starts an effect; `by` identifies the performer.
    pub fn start_effect(
        &mut self,
        task: &TaskId,
        effect: EffectId,
        by: &str,
        now: Timestamp,
    ) -> Result<StartAnswer, StoreError> {
        let attempt = "record that an effect begins";
        let home = self.home.clone();
        let found = pending_effect(&self.connection, task, effect)?;
        let is_repeatable =
            found.is_some_and(|it| it.planned.effect.class() == EffectClass::Convergent);
        let writing = if is_repeatable {
            self.write_lazily(attempt)?
        } else {
            self.write(attempt)?
        };
        let connection = &writing.transaction;
        let Some(pending) = pending_effect(connection, task, effect)? else {
            return Ok(StartAnswer::NotWaiting);
        };
        if writing.is_joined
            && !is_switched_off("gate", &home)
            && let Some(gate) = fleet::wait_of(connection, task, effect, &pending.planned.effect)?
        {
            hold(connection, &pending, gate, now)?;
            writing.commit()?;
            return Ok(StartAnswer::Gated(gate));
        }
        match pending.mark {
            PendingProgress::Failed | PendingProgress::Stopped => {
                return Ok(StartAnswer::NotWaiting);
            }
            PendingProgress::Started { by, at }
                if pending.planned.effect.class() == EffectClass::AtMostOnce =>
            {
                return Ok(StartAnswer::Interrupted { by, at });
            }
            PendingProgress::Waiting | PendingProgress::Started { .. } => {}
        }
        // If the start was begun before, the agent may already run, so the performer has to check
        // that even if the harness is parked.
        if let (Effect::Spawn(spawn), PendingProgress::Waiting) =
            (&pending.planned.effect, &pending.mark)
            && let Some(parking) = parkings::blocking_parking(connection, &spawn.harness, now)?
        {
            return Ok(StartAnswer::Parked(parking));
        }
        connection
            .execute(
                "UPDATE pending SET state = 'started', started_at = ?3, started_by = ?4
                 WHERE task = ?1 AND effect = ?2",
                params![task.as_str(), effect.0, now.to_string(), by],
            )
            .map_err(failed(attempt))?;
        writing.commit()?;
        Ok(StartAnswer::Go)
    }

    /// Lets the effects of a task that wait for the fleet's server be tried again at once.
    pub fn release_gated_effects(&mut self, task: &TaskId) -> Result<(), StoreError> {
        let attempt = "release the effects that wait for the fleet's server";
        let gated = self.pending(task)?.into_iter().filter(Pending::is_gated);
        let gated: Vec<EffectId> = gated.map(|it| it.planned.id).collect();
        if gated.is_empty() {
            return Ok(());
        }
        let writing = self.write_lazily(attempt)?;
        for effect in gated {
            writing
                .transaction
                .execute(
                    "UPDATE pending SET error = NULL, next_attempt_at = NULL
                     WHERE task = ?1 AND effect = ?2",
                    params![task.as_str(), effect.0],
                )
                .map_err(failed(attempt))?;
        }
        // The supervisor looks at tasks that changed.
        writing
            .transaction
            .execute(
                "UPDATE tasks SET sequence = ?2 WHERE id = ?1",
                params![task.as_str(), writing.sequence],
            )
            .map_err(failed(attempt))?;
        writing.commit()?;
        Ok(())
    }

    /// Defers an effect that has not failed.
    pub fn postpone_effect(
        &mut self,
        task: &TaskId,
        effect: EffectId,
        reason: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let writing = self.write_lazily("postpone an effect")?;
        writing
            .transaction
            .execute(
                "UPDATE pending SET state = 'waiting', error = ?3, next_attempt_at = ?4,
                     started_at = NULL, started_by = NULL
                 WHERE task = ?1 AND effect = ?2 AND state IN ('waiting', 'started')",
                params![task.as_str(), effect.0, reason, until.to_string()],
            )
            .map_err(failed("postpone an effect"))?;
        writing.commit()?;
        Ok(())
    }

    /// Records a failed try and the time of the next one; returns how many have failed.
    ///
    /// `None` when the effect no longer waits.
    pub fn record_failed_attempt(
        &mut self,
        task: &TaskId,
        effect: EffectId,
        error: &str,
        next_attempt_at: Timestamp,
    ) -> Result<Option<u32>, StoreError> {
        let writing = self.write("record a failed attempt")?;
        let attempts = writing
            .transaction
            .query_row(
                "UPDATE pending SET state = 'waiting', attempts = attempts + 1, error = ?3,
                     next_attempt_at = ?4, started_at = NULL, started_by = NULL
                 WHERE task = ?1 AND effect = ?2 AND state IN ('waiting', 'started')
                 RETURNING attempts",
                params![task.as_str(), effect.0, error, next_attempt_at.to_string()],
                |row| row.get(0),
            )
            .optional()
            .map_err(failed("record a failed attempt"))?;
        writing.commit()?;
        Ok(attempts)
    }
}

/// Defers an effect that waits for the fleet's server. Unlike a postponed one it keeps its mark: one
/// of the class *at most once* may have been started before.
fn hold(
    connection: &Connection,
    pending: &Pending,
    gate: EffectGate,
    now: Timestamp,
) -> Result<(), StoreError> {
    let until = Timestamp::from_millis(now.millis().saturating_add(GATE_PAUSE_MILLIS));
    connection
        .execute(
            "UPDATE pending SET error = ?3, next_attempt_at = ?4 WHERE task = ?1 AND effect = ?2",
            params![
                pending.task.as_str(),
                pending.planned.id.0,
                gate.reason(),
                until.to_string()
            ],
        )
        .map_err(failed("defer an effect"))?;
    Ok(())
}

/// The pending effects of a task, by id.
pub(crate) fn planned(
    connection: &Connection,
    task: &TaskId,
) -> Result<BTreeMap<EffectId, PlannedEffect>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM pending WHERE task = ?1 ORDER BY effect");
    let all = select(connection, &sql, &[&task.as_str()])?;
    Ok(all
        .into_iter()
        .map(|pending| (pending.planned.id, pending.planned))
        .collect())
}

/// Updates the rows of a task to match its events.
pub(crate) fn keep(
    connection: &Connection,
    task: &Task,
    events: &[Event],
) -> Result<(), StoreError> {
    let retried: Vec<EffectId> = events
        .iter()
        .filter_map(|event| match event.fact {
            Fact::EffectRetried { effect } => Some(effect),
            _ => None,
        })
        .collect();
    for effect in planned(connection, &task.id)?.into_keys() {
        if task.pending_effect(effect).is_none() || retried.contains(&effect) {
            connection
                .execute(
                    "DELETE FROM pending WHERE task = ?1 AND effect = ?2",
                    params![task.id.as_str(), effect.0],
                )
                .map_err(failed("delete an effect"))?;
        }
    }
    for pending in &task.pending {
        let json = serde_json::to_string(&pending.planned)
            .map_err(|error| StoreError::json("an effect", &task.id, &error))?;
        let (state, error) = match &pending.state {
            PendingState::Waiting => ("waiting", None),
            PendingState::Failed { error } => ("failed", Some(error)),
            PendingState::Stopped => ("stopped", None),
        };
        let class = match pending.planned.effect.class() {
            EffectClass::Convergent => "convergent",
            EffectClass::AtMostOnce => "at_most_once",
        };
        // A performer's mark survives a commit that does not concern the effect.
        connection
            .execute(
                "INSERT INTO pending (task, effect, planned, class, state, error)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (task, effect) DO UPDATE SET
                     state = CASE WHEN excluded.state = 'waiting' AND state = 'started'
                                  THEN 'started' ELSE excluded.state END,
                     error = coalesce(excluded.error, error)",
                params![
                    task.id.as_str(),
                    pending.planned.id.0,
                    json,
                    class,
                    state,
                    error
                ],
            )
            .map_err(failed("write an effect"))?;
    }
    Ok(())
}

/// Marks effects that must not happen twice as started by `by`: only a database that is not here
/// knows whether they were.
pub(crate) fn mark_as_started(
    connection: &Connection,
    task: &TaskId,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    connection
        .execute(
            "UPDATE pending SET state = 'started', started_at = ?2, started_by = ?3
             WHERE task = ?1 AND class = 'at_most_once' AND state = 'waiting'",
            params![task.as_str(), now.to_string(), by],
        )
        .map_err(failed("restore pending effects"))?;
    Ok(())
}

fn pending_effect(
    connection: &Connection,
    task: &TaskId,
    effect: EffectId,
) -> Result<Option<Pending>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM pending WHERE task = ?1 AND effect = ?2");
    Ok(select(connection, &sql, &[&task.as_str(), &effect.0])?.pop())
}

fn select(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Pending>, StoreError> {
    let attempt = "read pending effects";
    let mut statement = connection.prepare(sql).map_err(failed(attempt))?;
    let rows = statement
        .query_map(parameters, RawPending::read)
        .map_err(failed(attempt))?;
    rows.map(|row| row.map_err(failed(attempt))?.pending())
        .collect()
}

struct RawPending {
    task: String,
    planned: String,
    state: String,
    attempts: u32,
    next_attempt_at: Option<String>,
    started_at: Option<String>,
    started_by: Option<String>,
    error: Option<String>,
}

impl RawPending {
    fn read(row: &Row<'_>) -> rusqlite::Result<RawPending> {
        Ok(RawPending {
            task: row.get(0)?,
            planned: row.get(1)?,
            state: row.get(2)?,
            attempts: row.get(3)?,
            next_attempt_at: row.get(4)?,
            started_at: row.get(5)?,
            started_by: row.get(6)?,
            error: row.get(7)?,
        })
    }

    fn pending(self) -> Result<Pending, StoreError> {
        let task = TaskId::new(self.task);
        let planned = serde_json::from_str(&self.planned)
            .map_err(|error| StoreError::json("an effect", &task, &error))?;
        let instant = |text: Option<String>| text.and_then(|text| Timestamp::parse(&text).ok());
        let mark = match self.state.as_str() {
            "started" => PendingProgress::Started {
                by: self.started_by.unwrap_or_default(),
                at: instant(self.started_at).unwrap_or_default(),
            },
            "failed" => PendingProgress::Failed,
            "stopped" => PendingProgress::Stopped,
            _ => PendingProgress::Waiting,
        };
        Ok(Pending {
            task,
            planned,
            mark,
            attempts: self.attempts,
            next_attempt_at: instant(self.next_attempt_at),
            error: self.error,
        })
    }
}
