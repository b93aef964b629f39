//! Ends agents that report that they cannot continue, or that never exit.
//!
//! A coding agent in a terminal does not exit when its model has no quota left: it says so and
//! waits. What it says, in an event or in its transcript, counts as its end if every other agent of
//! the harness would hit the same limit. The agent is restarted when the harness can be used again.
//!
//! A headless run exits when its turn is over. One that does not would keep its place among the
//! agents forever.

use std::path::Path;

use orange_config::Harness;
use orange_config::clock;
use orange_engine::Task;
use orange_engine::activity::{Activity, ActivityState, failing_since};
use orange_engine::death::{Judgement, judge_live};
use orange_engine::evidence::Evidence;
use orange_engine::names::{HarnessName, RunId, TaskId};
use orange_engine::task::RunState;
use orange_engine::time::Timestamp;
use orange_store::{RunRecord, Store};

use super::results::read_tail;
use crate::DriverError;
use crate::agents::Agents;

/// How much of the end of a transcript is read; one line may hold a whole turn.
const TAIL_BYTES: u64 = 256 * 1024;

/// How many milliseconds a headless run that reported a failure has to exit on its own.
const EXIT_GRACE_MILLIS: i64 = 5000;

/// How many milliseconds a headless run that has finished its turn has to exit on its own.
const IDLE_GRACE_MILLIS: i64 = 120_000;

impl Agents {
    /// Ends runs that reported they cannot continue.
    pub(crate) fn end_exhausted_runs(
        &self,
        store: &mut Store,
        id: &TaskId,
    ) -> Result<(), DriverError> {
        for (run, judgement) in self.exhausted_runs(store, id)? {
            self.record_end(store, id, &run, judgement)?;
        }
        Ok(())
    }

    /// The live runs that reported they cannot continue, and what each report means.
    pub(crate) fn exhausted_runs(
        &self,
        store: &Store,
        id: &TaskId,
    ) -> Result<Vec<(RunId, Judgement)>, DriverError> {
        let task = store.require(id)?.task;
        let mut found = Vec::new();
        let mut alive = task.runs.values();
        let mut records = None;
        while let Some(run) = alive.find(|run| run.state == RunState::Alive) {
            let records = match &mut records {
                Some(records) => records,
                None => records.insert(store.runs(id)?),
            };
            let record = records.iter().find(|record| record.id == run.id);
            let judgement = record.and_then(|record| self.judge_exhaustion(&task, record));
            found.extend(judgement.map(|judgement| (run.id.clone(), judgement)));
        }
        Ok(found)
    }

    fn judge_exhaustion(&self, task: &Task, record: &RunRecord) -> Option<Judgement> {
        if self.should_have_exited(task, record) {
            return Some(Judgement {
                evidence: Evidence::NoExit,
                output_line: None,
            });
        }
        let text = self.last_failure(task, record)?;
        let rules = self.death_rules(&task.id, record);
        judge_live(&rules, &text, clock::now(), self.clock_offset_for(&rules))
    }

    /// Whether a headless run has been idle for longer than any exit takes.
    fn should_have_exited(&self, task: &Task, record: &RunRecord) -> bool {
        if !record.headless || !self.can_be_headless(&record.harness) {
            return false;
        }
        let events = self.events_of(&task.project, &task.id, &record.id);
        let activity = Activity::from_events(&events);
        let is_over =
            |at: Timestamp| clock::now().millis().saturating_sub(at.millis()) >= IDLE_GRACE_MILLIS;
        activity.state == ActivityState::Idle && activity.evidence.is_some_and(|it| is_over(it.at))
    }

    /// Why the last turn of an agent failed, if it did and the reason was reported.
    fn last_failure(&self, task: &Task, record: &RunRecord) -> Option<String> {
        let events = self.events_of(&task.project, &task.id, &record.id);
        let activity = Activity::from_events(&events);
        // A headless run should print the reason and exit, so it gets a grace period before it is
        // ended.
        let is_headless = record.headless && self.can_be_headless(&record.harness);
        if activity.state == ActivityState::Failed {
            let since = failing_since(&events)?.millis();
            let is_in_grace_period =
                is_headless && clock::now().millis().saturating_sub(since) < EXIT_GRACE_MILLIS;
            return activity.evidence?.message.filter(|_| !is_in_grace_period);
        }
        if is_headless {
            return None;
        }
        let transcript = events
            .iter()
            .rev()
            .find_map(|it| it.transcript.as_deref())?;
        let harnesses = self.context.harnesses().ok()?;
        let harness = harnesses.require(&record.harness).ok()?;
        let error = harness.transcript_error.as_ref()?;
        let started_at = record.setup.as_ref()?.at;
        error.find(&read_tail(Path::new(transcript), TAIL_BYTES)?, started_at)
    }

    fn can_be_headless(&self, harness: &HarnessName) -> bool {
        let harnesses = self.context.harnesses().ok();
        let harness = harnesses.as_ref().and_then(|it| it.require(harness).ok());
        harness.is_some_and(Harness::can_be_headless)
    }
}
