//! The server's side: a reference for what each call does.
//!
//! A ledger is what one organisation has on the server. Every call is one transaction: it compares,
//! changes and answers at once. The fields are public, because the SQL server is tested by
//! comparing its rows with them.

mod holding;
mod log;
mod mail;
mod runners;
mod views;

use std::collections::{BTreeMap, BTreeSet};

pub use log::{Placement, Row};
pub use mail::{MailRecord, MailState, child_end};
pub use runners::{Hearing, RunnerRecord};

use crate::capability::Needs;
use crate::chain::{Head, Sha};
use crate::ids::{Epoch, Incarnation, MailId, OrgId, ProjectId, RunnerId, TaskId, Timeline};
use crate::message::{Rest, Summary, Wip};
use crate::time::{Period, Timestamp};

/// After this many claims without a change of status a task waits for a person.
pub const MOST_ATTEMPTS: u32 = 5;

/// One call claims no more tasks than this, however much room a runner says it has.
pub const MOST_CLAIMS: u32 = 16;

/// One call brings no more mail than this; the rest comes when that is decided.
pub const MOST_MAIL: usize = 200;

/// The server's periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LedgerTerms {
    /// The longest time that a runner may ask for before its tasks are given to others.
    pub longest_lost_after: Period,
    /// A longer gap between two marks of the coordinator means that runners could not be heard.
    pub longest_gap: Period,
}

impl Default for LedgerTerms {
    fn default() -> Self {
        Self {
            longest_lost_after: Period::seconds(15 * 60),
            longest_gap: Period::seconds(15),
        }
    }
}

/// What one organisation has on the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    pub org: OrgId,
    pub terms: LedgerTerms,
    pub timeline: Timeline,
    /// How many rows the feed has.
    pub sequence: u64,
    pub hearing: Hearing,
    /// After a failover nothing is claimed before this: runners first name what they hold.
    pub claims_from: Timestamp,
    pub runners: BTreeMap<RunnerId, RunnerRecord>,
    pub tasks: BTreeMap<TaskId, TaskRecord>,
    pub mail: BTreeMap<MailId, MailRecord>,
    /// By project: who may read a project may read its texts.
    pub texts: BTreeMap<(ProjectId, Sha), String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskRecord {
    pub needs: Needs,
    pub priority: i64,
    /// The tasks that have to end before it is offered.
    pub after: BTreeSet<TaskId>,
    pub parent: Option<TaskId>,
    pub log: Vec<Row>,
    /// The epoch of the last holder. It stays after a release, so that a repeated append of that
    /// holder is recognised.
    pub epoch: Epoch,
    /// The runner that held it last. It stays after a release too: an epoch is not secret, so only
    /// this runner may use it.
    pub holder: Option<RunnerId>,
    pub owner: Option<Owner>,
    /// How it waits while it has no owner.
    pub rest: Rest,
    /// How often it was released; such tasks are claimed first.
    pub returns: u32,
    /// Claims since its status changed.
    pub attempts: u32,
    /// Since when it waits.
    pub since: Timestamp,
    pub summary: Summary,
    pub wip: Option<Wip>,
    /// How much mail it has had.
    pub letters: u64,
}

/// The incarnation that holds a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    pub runner: RunnerId,
    pub incarnation: Incarnation,
}

impl TaskRecord {
    pub fn head(&self) -> Head {
        let last = self.log.last();
        last.map_or_else(Head::default, |row| row.commit.head())
    }

    /// Whether a call names the last holding of the task and comes from its runner.
    pub fn is_holding_of(&self, runner: &RunnerId, epoch: Epoch) -> bool {
        self.epoch == epoch && self.holder.as_ref() == Some(runner)
    }

    pub fn is_owned_by(&self, runner: &RunnerId, incarnation: Incarnation) -> bool {
        let mut owner = self.owner.iter();
        owner.any(|it| it.runner == *runner && it.incarnation == incarnation)
    }
}

impl Ledger {
    pub fn new(org: OrgId, terms: LedgerTerms) -> Self {
        Self {
            org,
            terms,
            timeline: Timeline::default(),
            sequence: 0,
            hearing: Hearing::default(),
            claims_from: Timestamp::default(),
            runners: BTreeMap::new(),
            tasks: BTreeMap::new(),
            mail: BTreeMap::new(),
            texts: BTreeMap::new(),
        }
    }

    /// The database was promoted or restored, and may lack what it had acknowledged.
    pub fn restored(&mut self, now: Timestamp) {
        self.timeline = self.timeline.next();
        self.hearing.begin(now);
        self.claims_from = now + self.terms.longest_lost_after;
    }

    /// Whether a failover has lost the claim with which a runner says that it holds a task.
    ///
    /// Such an epoch is higher than the last known one, and of an earlier history of the database.
    /// The runner must be one that could have claimed the task.
    fn forgot(&self, runner: &RunnerId, task: &TaskRecord, held: Epoch) -> bool {
        let record = self.runners.get(runner);
        task.owner.is_none()
            && held > task.epoch
            && held < Epoch::compose(self.timeline, 0)
            && record.is_some_and(|it| it.capabilities.meet(&task.needs))
    }
}

#[cfg(test)]
mod tests;
