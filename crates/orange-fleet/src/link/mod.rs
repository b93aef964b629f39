//! The runner's side: what to send next, and what answers mean.
//!
//! The caller sends what is due and reports every answer with what it belonged to. Answers may be
//! late, repeated or out of order: each names its incarnation or epoch, and one that is not
//! current changes nothing. The link is stored in the home at every change, before the change is
//! acted on, so a restart continues with it.

mod lease;
mod registration;
mod task;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use lease::{Lease, LeaseTerms, Phase};
pub use registration::Registration;
pub use task::{BATCH_BYTES, Holding, TaskLink};

use crate::chain::Commit;
use crate::ids::{Epoch, HomeId, Incarnation, MailId, TaskId, Version};
use crate::message::{
    Adopt, AdoptAnswer, BeatAnswer, Claim, GiveBack, HeldTask, HoldingAnswer, RegisterAnswer, Rest,
    TaskResult,
};
use crate::time::Timestamp;

/// What a runner knows about its standing with the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunnerLink {
    home: HomeId,
    registration: Registration,
    lease: Lease,
    tasks: BTreeMap<TaskId, TaskLink>,
    /// The tasks to adopt, as the last beat named them.
    adoptable: BTreeMap<TaskId, Epoch>,
}

/// What the caller must do now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Directive {
    /// Kill the task's agents, save unsaved work as a rescue under this epoch, and move the
    /// task's directory to the trash.
    Drop { task: TaskId, epoch: Epoch },
    /// Kill the task's agents, keep everything, and show that the home and the log disagree.
    Halt { task: TaskId, epoch: Epoch },
}

/// What a claim leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Takeover {
    /// Store the claim's log in place of any local copy, whose agents are killed first.
    Fresh,
    /// The local copy continues the claim's log: keep it, and ship its tail with the new epoch.
    Continued,
    /// Late or for another incarnation: ignore it.
    Stale,
}

/// Whether an effect may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    Open,
    /// The commit that planned it is not in the server's log yet.
    Unacknowledged,
    /// The lease does not last long enough.
    Frozen,
    /// The task is not held.
    NotHeld,
}

/// What mail leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailStep {
    Decide,
    /// A local commit has decided it.
    Decided,
    /// The task is not held.
    NotHeld,
}

impl RunnerLink {
    /// The link of a home that has joined, with the incarnation that the server named.
    pub fn new(home: HomeId, seen: Incarnation, terms: LeaseTerms) -> Self {
        Self {
            home,
            registration: Registration::new(seen),
            lease: Lease::new(terms),
            tasks: BTreeMap::new(),
            adoptable: BTreeMap::new(),
        }
    }

    pub fn home(&self) -> &HomeId {
        &self.home
    }

    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    pub fn task(&self, task: &TaskId) -> Option<&TaskLink> {
        self.tasks.get(task)
    }

    pub fn tasks(&self) -> &BTreeMap<TaskId, TaskLink> {
        &self.tasks
    }

    /// The machine has booted: no agent is left, and the clock of the lease began anew.
    pub fn rebooted(&mut self) {
        self.lease.end();
    }

    /// `seen` is that of the request, and `sent` when it was sent.
    pub fn register_answered(
        &mut self,
        seen: Incarnation,
        sent: Timestamp,
        answer: &RegisterAnswer,
    ) {
        if let Some(lost_after) = self.registration.answered(seen, answer) {
            self.lease.extend(sent, lost_after);
        }
    }

    /// The tasks to name in a beat.
    pub fn held(&self) -> Vec<HeldTask> {
        let held = self.tasks.iter().map(|(task, link)| HeldTask {
            task: task.clone(),
            epoch: link.epoch(),
            acknowledged: link.acknowledged().version,
        });
        held.collect()
    }

    /// `incarnation` is that of the beat, and `sent` when it was sent.
    pub fn beat_answered(
        &mut self,
        incarnation: Incarnation,
        sent: Timestamp,
        answer: &BeatAnswer,
    ) -> Vec<Directive> {
        if self.registration.current() != Some(incarnation) {
            return Vec::new();
        }
        match answer {
            BeatAnswer::Alive {
                lost_after,
                lost,
                yours,
                ..
            } => {
                self.lease.extend(sent, *lost_after);
                let named = yours.iter().map(|it| (it.task.clone(), it.epoch));
                self.adoptable = named.collect();
                let lost = lost.iter();
                let lost = lost.filter_map(|it| self.drop_task(&it.task, it.epoch));
                lost.collect()
            }
            BeatAnswer::Stale {
                incarnation,
                replaced,
            } => {
                self.registration.lost(*incarnation, *replaced);
                self.lease.end();
                self.adoptable.clear();
                let tasks = std::mem::take(&mut self.tasks).into_iter();
                let dropped = tasks.map(|(task, link)| Directive::Drop {
                    task,
                    epoch: link.epoch(),
                });
                dropped.collect()
            }
        }
    }

    /// The adoptions to ask for. A task that is held with the named epoch needs none.
    pub fn adoptions(&self) -> Vec<Adopt> {
        let Some(incarnation) = self.registration.current() else {
            return Vec::new();
        };
        let due = self.adoptable.iter().filter_map(|(task, seen)| {
            let held = self.tasks.get(task).map(TaskLink::epoch);
            (held != Some(*seen)).then(|| Adopt {
                task: task.clone(),
                incarnation,
                seen: *seen,
                held,
            })
        });
        due.collect()
    }

    /// `local` has the commits of the task's local copy, if there is one.
    pub fn adopt_answered(&mut self, answer: &AdoptAnswer, local: &[Commit]) -> Takeover {
        if let Some(claim) = &answer.claim {
            return self.claimed(answer.incarnation, claim, local);
        }
        // Asked again only when another beat names it.
        if self.adoptable.get(&answer.task) == Some(&answer.seen) {
            self.adoptable.remove(&answer.task);
        }
        Takeover::Stale
    }

    /// `local` has the commits of the task's local copy, if there is one.
    pub fn claimed(
        &mut self,
        incarnation: Incarnation,
        claim: &Claim,
        local: &[Commit],
    ) -> Takeover {
        let former = self.tasks.get(&claim.task);
        let is_late = former.is_some_and(|it| it.epoch() >= claim.epoch);
        if self.registration.current() != Some(incarnation) || is_late {
            return Takeover::Stale;
        }
        self.adoptable.remove(&claim.task);
        let continued = former.and_then(|it| it.continued(claim, local));
        let (link, takeover) = match continued {
            Some(link) => (link, Takeover::Continued),
            None => (TaskLink::new(claim.epoch, claim.head), Takeover::Fresh),
        };
        self.tasks.insert(claim.task.clone(), link);
        takeover
    }

    /// What becomes of a task after an append was answered. `local` has all its local commits.
    pub fn append_answered(&mut self, result: &TaskResult, local: &[Commit]) -> Option<Directive> {
        let link = self.tasks.get_mut(&result.task)?;
        if link.epoch() != result.epoch {
            return None;
        }
        match link.answered(&result.result, local) {
            Holding::Kept => None,
            Holding::Halted => Some(Directive::Halt {
                task: result.task.clone(),
                epoch: result.epoch,
            }),
            Holding::Lost => self.drop_task(&result.task, result.epoch),
        }
    }

    /// Whether an effect may start that the commit with this version planned.
    pub fn gate(&self, task: &TaskId, version: Version, now: Timestamp) -> Gate {
        match self.tasks.get(task) {
            Some(link) if link.is_active() => {
                if link.acknowledged().version < version {
                    Gate::Unacknowledged
                } else if self.lease.phase(now) == Phase::Running {
                    Gate::Open
                } else {
                    Gate::Frozen
                }
            }
            _ => Gate::NotHeld,
        }
    }

    /// What to do with mail for a task with these local commits.
    pub fn mail_step(&self, task: &TaskId, mail: &MailId, local: &[Commit]) -> MailStep {
        let is_active = self.tasks.get(task).is_some_and(TaskLink::is_active);
        let mut requests = local.iter().filter_map(|it| it.request.as_ref());
        if !is_active {
            MailStep::NotHeld
        } else if requests.any(|it| it == mail) {
            MailStep::Decided
        } else {
            MailStep::Decide
        }
    }

    /// Begin to give a task back. Possible when the log has all its commits.
    pub fn give_back(&mut self, task: &TaskId, rest: Rest, local: &[Commit]) -> Option<GiveBack> {
        let link = self.tasks.get_mut(task)?;
        link.give_back(local).then(|| GiveBack {
            task: task.clone(),
            epoch: link.epoch(),
            rest,
        })
    }

    /// Either answer means that the task is not held with this epoch.
    pub fn give_back_answered(&mut self, task: &TaskId, epoch: Epoch, answer: HoldingAnswer) {
        let (HoldingAnswer::Ok | HoldingAnswer::Fenced) = answer;
        self.drop_task(task, epoch);
    }

    /// The log has the end of the task, which released it.
    pub fn ended(&mut self, task: &TaskId, epoch: Epoch) {
        self.drop_task(task, epoch);
    }

    fn drop_task(&mut self, task: &TaskId, epoch: Epoch) -> Option<Directive> {
        if self.tasks.get(task)?.epoch() != epoch {
            return None;
        }
        self.tasks.remove(task);
        Some(Directive::Drop {
            task: task.clone(),
            epoch,
        })
    }
}

#[cfg(test)]
mod tests;
