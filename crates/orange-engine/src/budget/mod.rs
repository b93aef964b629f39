//! Budgets: what runs cost, and which limits hold back starts.
//!
//! Everything is counted in integers: tokens, and millionths of a US dollar. A number that an agent
//! did not report is unknown, never zero. A limit holds back starts; it does not judge work.

mod limit;
mod price;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::names::{HarnessName, JobName, ProjectName, TaskId};
use crate::time::Timestamp;

pub use limit::{Limit, Money};
pub use price::{ModelPrice, PriceTable, RunCost, cost_of_run};
pub use verdict::{Level, LimitState, Scope, ScopeUse, Start};

/// The limits of a project, or of all projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    pub task: Option<Limit>,
    /// All tasks of a job.
    pub job: Option<Limit>,
    pub project: Option<Limit>,
    /// All projects together on one UTC day.
    pub day: Option<Limit>,
    /// Whether a running agent is stopped when a limit is reached.
    pub is_hard: bool,
    /// Whether an agent may start although a limit cannot be checked for it.
    pub allows_unpriced: bool,
}

impl BudgetLimits {
    pub fn is_empty(&self) -> bool {
        let BudgetLimits {
            task,
            job,
            project,
            day,
            ..
        } = self;
        [task, job, project, day].into_iter().all(Option::is_none)
    }
}

/// What was used within a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub tokens: u64,
    pub money: Money,
    /// How many runs have not reported their tokens.
    pub unknown_tokens: u64,
    /// How many runs have no known cost.
    pub unknown_money: u64,
}

impl Amount {
    #[must_use]
    pub fn plus(self, more: Amount) -> Amount {
        Amount {
            tokens: self.tokens.saturating_add(more.tokens),
            money: self.money.plus(more.money),
            unknown_tokens: self.unknown_tokens.saturating_add(more.unknown_tokens),
            unknown_money: self.unknown_money.saturating_add(more.unknown_money),
        }
    }
}

/// What was used by a part of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectAmount {
    pub project: ProjectName,
    pub amount: Amount,
}

/// A harness, and the model that a task sets for it.
pub type AgentChoice = (HarnessName, Option<String>);

/// What was used so far, by scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub tasks: BTreeMap<TaskId, ProjectAmount>,
    pub jobs: BTreeMap<JobName, ProjectAmount>,
    pub projects: BTreeMap<ProjectName, Amount>,
    pub today: Amount,
    /// Agents whose last counted run used a model without a price, with that model if it is known.
    pub unpriced: BTreeMap<AgentChoice, Option<String>>,
}

/// What a harness reports about its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub tokens: bool,
    pub cost: bool,
    /// Whether it names the model that it used.
    pub model: bool,
}

/// Everything that judging a start needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// For projects without limits of their own, and for the day.
    pub home: BudgetLimits,
    pub projects: BTreeMap<ProjectName, BudgetLimits>,
    pub figures: BTreeMap<HarnessName, Figures>,
    pub prices: Arc<PriceTable>,
    pub spent: Spent,
}

impl Budget {
    /// Whether no limit is set at all.
    pub fn is_empty(&self) -> bool {
        let mut own = self.projects.values();
        self.home.is_empty() && own.all(BudgetLimits::is_empty)
    }

    /// The limits of a project.
    pub fn limits_of(&self, project: &ProjectName) -> &BudgetLimits {
        self.projects.get(project).unwrap_or(&self.home)
    }

    /// The projects that have an amount or limits.
    fn all_projects(&self) -> BTreeSet<&ProjectName> {
        let spent = self.spent.projects.keys();
        self.projects.keys().chain(spent).collect()
    }
}

/// The UTC day of an instant, as `2026-11-18`.
pub fn utc_day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests;
