//! Keeps the lease: registers the home and sends beats.

use std::collections::BTreeSet;
use std::time::Duration;

use orange_config::clock;
use orange_engine::format::FORMAT;
use orange_fleet::capability::Capabilities;
use orange_fleet::ids::{Format, HarnessName, Incarnation, ProjectId};
use orange_fleet::json::Json;
use orange_fleet::link::{Directive, Registration};
use orange_fleet::message::{Beat, BeatAnswer, Register, Want};
use orange_store::{Membership, Store};

use super::{RETRY, Runner, duration, now};
use crate::DriverError;

impl Runner {
    /// Sends one registration or beat; returns when the next one is due.
    pub(super) fn keep_lease(&self) -> Result<Duration, DriverError> {
        let mut store = self.store()?;
        let known = self.membership()?;
        match known.link.registration() {
            Registration::Replaced => {
                self.stopper.stop();
                Ok(Duration::ZERO)
            }
            Registration::Due { seen, .. } => {
                self.register(&mut store, &known, *seen)?;
                Ok(Duration::ZERO)
            }
            Registration::Registered(incarnation) => self.beat(&mut store, &known, *incarnation),
        }
    }

    fn register(
        &self,
        store: &mut Store,
        known: &Membership,
        seen: Incarnation,
    ) -> Result<(), DriverError> {
        let call = Register {
            runner: known.runner.clone(),
            home: known.link.home().clone(),
            seen,
            lost_after: known.lost_after,
            capabilities: self.capabilities()?,
        };
        let sent = now();
        let answer = self.server.register(&call)?;
        store.update_membership(|known| known.link.register_answered(seen, sent, &answer))?;
        Ok(())
    }

    fn beat(
        &self,
        store: &mut Store,
        known: &Membership,
        incarnation: Incarnation,
    ) -> Result<Duration, DriverError> {
        let call = Beat {
            home: known.link.home().clone(),
            incarnation,
            held: known.link.held(),
            free: self.free(known),
            parked: self.parked()?,
            activity: Json::null(),
        };
        // The lease counts from here, because the server counts from when it receives the call.
        let sent = now();
        let answer = self.server.beat(&call)?;
        store.update_membership(|known| {
            let directives = known.link.beat_answered(incarnation, sent, &answer);
            note_drops(known, &directives);
            if let BeatAnswer::Alive { want, .. } = answer {
                known.is_draining |= want == Want::Drain;
            }
        })?;
        Ok(match answer {
            BeatAnswer::Alive { lost_after, .. } => spread(duration(lost_after) / 3),
            BeatAnswer::Stale { .. } => RETRY,
        })
    }

    /// How many more tasks there is room for.
    pub(super) fn free(&self, known: &Membership) -> u32 {
        let held = u32::try_from(known.link.tasks().len()).unwrap_or(u32::MAX);
        if known.is_draining {
            0
        } else {
            self.room.saturating_sub(held)
        }
    }

    pub(super) fn parked(&self) -> Result<BTreeSet<HarnessName>, DriverError> {
        let parked = self.driver.scheduler.parked_harnesses()?;
        Ok(parked
            .iter()
            .map(|it| HarnessName::new(it.harness.as_str()))
            .collect())
    }

    fn capabilities(&self) -> Result<Capabilities, DriverError> {
        let context = &self.driver.context;
        let projects = context.all_projects()?;
        let harnesses = context.installed(&context.harnesses()?);
        Ok(Capabilities {
            format: Format(FORMAT.into()),
            projects: projects
                .iter()
                .map(|it| ProjectId::new(it.name.as_str()))
                .collect(),
            harnesses: harnesses
                .iter()
                .map(|it| HarnessName::new(it.as_str()))
                .collect(),
            labels: BTreeSet::new(),
        })
    }
}

/// Notes what has to be removed, in the transaction that changes the link.
pub(super) fn note_drops(known: &mut Membership, directives: &[Directive]) {
    for directive in directives {
        if let Directive::Drop { task, epoch } = directive {
            known.dropped.insert(task.clone(), *epoch);
        }
    }
}

/// A period ± 20 %, so that the beats of a thousand runners do not arrive together.
fn spread(period: Duration) -> Duration {
    let share = u32::try_from(clock::ticks() % 1000).unwrap_or(0);
    period * 4 / 5 + period * 2 / 5 * share / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_spread_by_a_fifth() {
        let period = Duration::from_secs(30);
        for _ in 0..100 {
            let pause = spread(period);
            assert!(
                pause >= period * 4 / 5 && pause <= period * 6 / 5,
                "{pause:?}"
            );
        }
    }
}
