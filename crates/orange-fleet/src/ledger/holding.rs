//! Claims, adoptions and releases: which runner holds a task.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::chain::Commit;
use crate::ids::{Epoch, RunnerId, TaskId};
use crate::ledger::{Ledger, MOST_ATTEMPTS, MOST_CLAIMS, MOST_MAIL, Owner, TaskRecord};
use crate::message::{
    Adopt, AdoptAnswer, Claim, EndedTask, GiveBack, HoldingAnswer, Mail, Rest, Text, Wip,
    WorkAnswer, WorkRequest,
};
use crate::time::Timestamp;

impl Ledger {
    /// Claim tasks for a runner, and collect the open mail of the tasks that it holds.
    pub fn work(&mut self, now: Timestamp, runner: &RunnerId, call: &WorkRequest) -> WorkAnswer {
        let mut answer = WorkAnswer {
            incarnation: call.incarnation,
            ..WorkAnswer::default()
        };
        let alive = self.runners.get(runner);
        if !alive.is_some_and(|it| it.is_alive(call.incarnation)) {
            return answer;
        }
        for _ in 0..call.free.clamp(1, MOST_CLAIMS) {
            let Some(task) = self.best(now, runner, call) else {
                break;
            };
            let owner = Owner {
                runner: runner.clone(),
                incarnation: call.incarnation,
            };
            answer.claims.extend(self.take(&task, owner));
        }
        let open = self.mail.iter().filter(|(_, mail)| {
            let task = self.tasks.get(&mail.task);
            mail.is_open() && task.is_some_and(|it| it.is_owned_by(runner, call.incarnation))
        });
        let open = open.map(|(id, mail)| Mail {
            id: id.clone(),
            task: mail.task.clone(),
            from: mail.from.clone(),
            ask: mail.ask.clone(),
        });
        answer.mail = open.take(MOST_MAIL).collect();
        answer
    }

    /// Give the runner a new epoch of a task that belongs to it.
    pub fn adopt(&mut self, runner: &RunnerId, call: &Adopt) -> AdoptAnswer {
        let alive = self.runners.get(runner);
        let is_alive = alive.is_some_and(|it| it.is_alive(call.incarnation));
        let claim = self.tasks.get(&call.task).is_some_and(|task| {
            let held = call.held.into_iter();
            let is_forgotten = held.clone().any(|it| self.forgot(runner, task, it));
            let is_owned = task.is_owned_by(runner, call.incarnation);
            task.epoch == call.seen && (is_owned || is_forgotten)
        });
        let owner = Owner {
            runner: runner.clone(),
            incarnation: call.incarnation,
        };
        AdoptAnswer {
            task: call.task.clone(),
            incarnation: call.incarnation,
            seen: call.seen,
            claim: (is_alive && claim)
                .then(|| self.take(&call.task, owner))
                .flatten(),
        }
    }

    pub fn give_back(
        &mut self,
        now: Timestamp,
        runner: &RunnerId,
        call: &GiveBack,
    ) -> HoldingAnswer {
        match self.held(runner, &call.task, call.epoch) {
            Some(task) => {
                task.release(now);
                if task.attempts < MOST_ATTEMPTS {
                    task.rest = call.rest;
                }
                HoldingAnswer::Ok
            }
            None => HoldingAnswer::Fenced,
        }
    }

    pub fn save_wip(&mut self, runner: &RunnerId, task: &TaskId, wip: &Wip) -> HoldingAnswer {
        let Some(record) = self.held(runner, task, wip.epoch) else {
            return HoldingAnswer::Fenced;
        };
        let order = |it: &Wip| (it.epoch, it.number);
        if record.wip.as_ref().is_none_or(|it| order(it) < order(wip)) {
            record.wip = Some(wip.clone());
        }
        HoldingAnswer::Ok
    }

    /// A task that a runner holds with an epoch.
    pub(super) fn held(
        &mut self,
        runner: &RunnerId,
        task: &TaskId,
        epoch: Epoch,
    ) -> Option<&mut TaskRecord> {
        let record = self.tasks.get_mut(task)?;
        let is_held = record.is_holding_of(runner, epoch) && record.owner.is_some();
        is_held.then_some(record)
    }

    /// The task that a runner gets next.
    fn best(&self, now: Timestamp, runner: &RunnerId, call: &WorkRequest) -> Option<TaskId> {
        let record = self.runners.get(runner)?;
        if now < self.claims_from {
            return None;
        }
        let fitting = self.tasks.iter().filter(|(id, task)| {
            let is_due = self.has_open_mail(id) || call.free > 0 && self.is_offered(now, task);
            let mut harnesses = task.needs.harnesses.iter();
            let is_parked = harnesses.any(|it| call.parked.contains(it));
            task.owner.is_none() && is_due && !is_parked && record.capabilities.meet(&task.needs)
        });
        let best = fitting.min_by_key(|(id, task)| {
            let order = (Reverse(task.returns), Reverse(task.priority), task.since);
            (order, (*id).clone())
        });
        best.map(|(id, _)| id.clone())
    }

    pub(super) fn is_offered(&self, now: Timestamp, task: &TaskRecord) -> bool {
        let is_awake = match task.rest {
            Rest::Offered => true,
            Rest::Idle => false,
            Rest::Paused { until } => until <= now,
        };
        is_awake && task.owner.is_none() && !task.summary.ended && self.open_before(task).is_empty()
    }

    /// The tasks that still have to end before one is offered.
    pub(super) fn open_before<'a>(&self, task: &'a TaskRecord) -> Vec<&'a TaskId> {
        let open = task.after.iter().filter(|it| {
            let other = self.tasks.get(*it);
            other.is_some_and(|it| !it.summary.ended)
        });
        open.collect()
    }

    /// Every holding has an epoch of its own, an adoption too: calls of the former one are late.
    fn take(&mut self, task: &TaskId, owner: Owner) -> Option<Claim> {
        let first = Epoch::compose(self.timeline, 0);
        let record = self.tasks.get_mut(task)?;
        record.epoch = record.epoch.max(first).next();
        record.holder = Some(owner.runner.clone());
        record.owner = Some(owner);
        record.attempts = record.attempts.saturating_add(1);
        let record = self.tasks.get(task)?;
        let commits: Vec<Commit> = record.log.iter().map(|row| row.commit.clone()).collect();
        let named: BTreeSet<_> = commits.iter().flat_map(|it| &it.texts).collect();
        let texts = named.into_iter().filter_map(|sha| {
            let key = (record.needs.project.clone(), *sha);
            let content = self.texts.get(&key)?.clone();
            Some(Text { sha: *sha, content })
        });
        let texts = texts.collect();
        let before = record.after.iter().filter_map(|it| {
            let status = self.tasks.get(it)?.summary.status.clone();
            let task = it.clone();
            Some(EndedTask { task, status })
        });
        Some(Claim {
            task: task.clone(),
            epoch: record.epoch,
            head: record.head(),
            commits,
            texts,
            wip: record.wip.clone(),
            elsewhere: before.collect(),
        })
    }
}

impl TaskRecord {
    /// The task has no holder any more, and waits for a runner; for a person after too many tries.
    pub(super) fn release(&mut self, now: Timestamp) {
        self.owner = None;
        self.since = now;
        self.returns = self.returns.saturating_add(1);
        self.rest = if self.attempts < MOST_ATTEMPTS {
            Rest::Offered
        } else {
            Rest::Idle
        };
    }
}
