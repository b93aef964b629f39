//! Registration, beats, and what happens when they stop.

use crate::capability::Capabilities;
use crate::ids::{HomeId, Incarnation, RunnerId};
use crate::ledger::{Ledger, TaskRecord};
use crate::message::{Beat, BeatAnswer, HeldTask, OwnedTask, Register, RegisterAnswer, Want};
use crate::time::{Period, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunnerRecord {
    pub home: HomeId,
    pub incarnation: Incarnation,
    /// Whether the incarnation is registered and not lost.
    pub online: bool,
    pub lost_after: Period,
    /// Until when the current incarnation may run agents.
    pub expires_at: Timestamp,
    /// Until when an older incarnation may run agents.
    pub old_until: Timestamp,
    pub capabilities: Capabilities,
    pub want: Want,
}

/// Since when the server could be reached without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hearing {
    pub up_since: Timestamp,
    pub last_mark: Timestamp,
}

impl Hearing {
    pub fn begin(&mut self, now: Timestamp) {
        self.up_since = now;
        self.last_mark = now;
    }
}

impl Ledger {
    /// Register a home by compare-and-swap on the incarnation that it has seen.
    pub fn register(&mut self, now: Timestamp, call: &Register) -> RegisterAnswer {
        let lost_after = call.lost_after.min(self.terms.longest_lost_after);
        let Some(record) = self.runners.get_mut(&call.runner) else {
            if call.seen != Incarnation::default() {
                return RegisterAnswer::Taken {
                    incarnation: Incarnation::default(),
                    replaced: false,
                };
            }
            let record = RunnerRecord {
                home: call.home.clone(),
                incarnation: call.seen.next(),
                online: true,
                lost_after,
                expires_at: now + lost_after,
                old_until: now,
                capabilities: call.capabilities.clone(),
                want: Want::Hold,
            };
            let incarnation = record.incarnation;
            self.runners.insert(call.runner.clone(), record);
            return RegisterAnswer::Registered {
                incarnation,
                lost_after,
            };
        };
        if call.seen == record.incarnation {
            record.old_until = record.old_until.max(record.expires_at);
            record.incarnation = record.incarnation.next();
            record.home = call.home.clone();
            record.online = true;
        } else if !record.repeats(call) {
            return RegisterAnswer::Taken {
                incarnation: record.incarnation,
                replaced: record.home != call.home,
            };
        }
        record.lost_after = lost_after;
        record.expires_at = record.expires_at.max(now + lost_after);
        record.capabilities = call.capabilities.clone();
        RegisterAnswer::Registered {
            incarnation: record.incarnation,
            lost_after,
        }
    }

    /// Extend the lease, and name the differences between what is held and what is owned.
    pub fn beat(&mut self, now: Timestamp, runner: &RunnerId, call: &Beat) -> BeatAnswer {
        let Some(record) = self.runners.get_mut(runner) else {
            return BeatAnswer::Stale {
                incarnation: Incarnation::default(),
                replaced: false,
            };
        };
        if call.incarnation != record.incarnation || !record.online {
            return BeatAnswer::Stale {
                incarnation: record.incarnation,
                replaced: record.home != call.home,
            };
        }
        record.expires_at = record.expires_at.max(now + record.lost_after);
        let (lost_after, want) = (record.lost_after, record.want);
        let lost = call.held.iter().filter(|held| {
            let task = self.tasks.get(&held.task);
            !task.is_some_and(|it| {
                it.agrees(runner, call.incarnation, held) || self.forgot(runner, it, held.epoch)
            })
        });
        let lost = lost.map(|held| OwnedTask {
            task: held.task.clone(),
            epoch: held.epoch,
        });
        let yours = self.tasks.iter().filter(|(id, task)| {
            let held = call.held.iter().find(|it| it.task == **id);
            match held {
                Some(held) => self.forgot(runner, task, held.epoch),
                None => task.is_owned_by(runner, call.incarnation),
            }
        });
        let yours = yours.map(|(id, task)| OwnedTask {
            task: id.clone(),
            epoch: task.epoch,
        });
        BeatAnswer::Alive {
            lost_after,
            now,
            lost: lost.collect(),
            yours: yours.collect(),
            want,
        }
    }

    /// The coordinator's mark: a long gap before it means that beats could not arrive, so the time
    /// before it counts against no runner.
    pub fn mark(&mut self, now: Timestamp) {
        if now - self.hearing.last_mark > self.terms.longest_gap {
            self.hearing.up_since = now;
        }
        self.hearing.last_mark = now;
    }

    /// Give up runners whose lease has passed, then release what no current incarnation owns.
    pub fn reap(&mut self, now: Timestamp) {
        let up = now - self.hearing.up_since;
        for record in self.runners.values_mut() {
            if record.online && up >= record.lost_after && record.expires_at < now {
                record.online = false;
                record.old_until = record.old_until.max(record.expires_at);
                record.incarnation = record.incarnation.next();
            }
        }
        for task in self.tasks.values_mut() {
            let over = task.owner.as_ref().is_some_and(|owner| {
                let record = self.runners.get(&owner.runner);
                record.is_none_or(|it| it.incarnation != owner.incarnation && it.old_until < now)
            });
            if over {
                task.release(now);
            }
        }
    }
}

impl RunnerRecord {
    /// Whether this is another copy of the registration that made the current incarnation.
    fn repeats(&self, call: &Register) -> bool {
        self.online && call.seen.next() == self.incarnation && call.home == self.home
    }

    pub fn is_alive(&self, incarnation: Incarnation) -> bool {
        self.online && self.incarnation == incarnation
    }
}

impl TaskRecord {
    fn agrees(&self, runner: &RunnerId, incarnation: Incarnation, held: &HeldTask) -> bool {
        self.epoch == held.epoch && self.is_owned_by(runner, incarnation)
    }
}
