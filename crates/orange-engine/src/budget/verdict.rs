//! How far each limit is used, and what that means for starts.

use std::fmt;

use serde::Serialize;

use super::{Amount, Budget, BudgetLimits, Limit, ProjectAmount};
use crate::names::{HarnessName, JobName, ProjectName, TaskId};

/// The percentage of a limit at which the user is warned.
const WARN_PERCENT: u128 = 80;

/// What a limit is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "scope", content = "name")]
pub enum Scope {
    /// All projects, on the current UTC day.
    Day,
    /// A project.
    Project(ProjectName),
    /// The tasks of a job.
    Job(JobName),
    /// A task.
    Task(TaskId),
}

impl Scope {
    /// The key of its limit in the table `[budget]`.
    pub fn key(&self) -> &'static str {
        match self {
            Scope::Day => "day",
            Scope::Project(_) => "project",
            Scope::Job(_) => "job",
            Scope::Task(_) => "task",
        }
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Scope::Day => None,
            Scope::Project(project) => Some(project.as_str()),
            Scope::Job(job) => Some(job.as_str()),
            Scope::Task(task) => Some(task.as_str()),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            None => formatter.write_str("today (UTC)"),
            Some(name) => write!(formatter, "{} `{name}`", self.key()),
        }
    }
}

/// How far a limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BudgetLevel")]
pub enum Level {
    /// Less than 80 % is used.
    Free,
    /// At least 80 % is used.
    Warn,
    /// Nothing is left, so nothing is started.
    Reached,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Free => "free",
            Level::Warn => "warn",
            Level::Reached => "reached",
        }
    }

    fn of(limit: Limit, used: Limit) -> Level {
        let (limit, used) = (u128::from(limit.number()), u128::from(used.number()));
        if used >= limit {
            Level::Reached
        } else if used * 100 >= limit * WARN_PERCENT {
            Level::Warn
        } else {
            Level::Free
        }
    }
}

/// A limit, and how far it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitState {
    pub scope: Scope,
    pub limit: Limit,
    /// In the unit of the limit.
    pub used: Limit,
    /// How many runs are not counted, because they have not reported this figure.
    pub unknown_runs: u64,
    pub level: Level,
}

impl LimitState {
    fn new(scope: Scope, limit: Limit, amount: Amount) -> LimitState {
        let used = limit.used(amount);
        LimitState {
            scope,
            limit,
            used,
            unknown_runs: limit.unknown_runs(amount),
            level: Level::of(limit, used),
        }
    }

    /// What the user is told about it, if anything.
    pub fn notice(&self) -> Option<String> {
        let LimitState {
            scope, limit, used, ..
        } = self;
        match self.level {
            Level::Free => None,
            Level::Warn => Some(format!(
                "the budget for {scope} is almost used up: {used} of {limit}"
            )),
            Level::Reached => Some(format!(
                "the budget for {scope} is used up: {used} of {limit}; nothing is started"
            )),
        }
    }

    /// What is left of the limit.
    pub fn left(&self) -> Limit {
        let left = self.limit.number().saturating_sub(self.used.number());
        self.limit.of_same_unit(left)
    }
}

/// What was used within a scope, and how far its limit is used, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeUse {
    pub scope: Scope,
    pub amount: Amount,
    pub limit: Option<LimitState>,
}

impl ScopeUse {
    fn new(scope: Scope, amount: Amount, limit: Option<Limit>) -> ScopeUse {
        let limit = limit.map(|limit| LimitState::new(scope.clone(), limit, amount));
        ScopeUse {
            scope,
            amount,
            limit,
        }
    }
}

/// A start that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    pub task: &'a TaskId,
    pub project: &'a ProjectName,
    pub job: Option<&'a JobName>,
    pub harness: &'a HarnessName,
    /// The model that the task sets.
    pub model: Option<&'a str>,
}

impl Budget {
    /// The limits that apply to a start, and how far each is used.
    pub fn limits_of_start(&self, start: &Start<'_>) -> Vec<LimitState> {
        let own = self.limits_of(start.project);
        let spent = &self.spent;
        let amount =
            |found: Option<&ProjectAmount>| found.map_or(Amount::default(), |it| it.amount);
        let job = start.job.map(|job| {
            let scope = Scope::Job(job.clone());
            (own.job, scope, amount(spent.jobs.get(job)))
        });
        let (task, project) = (start.task.clone(), start.project.clone());
        let task_amount = amount(spent.tasks.get(&task));
        let project_amount = spent.projects.get(&project).copied();
        let project_amount = project_amount.unwrap_or_default();
        let rows = [
            Some((self.home.day, Scope::Day, spent.today)),
            Some((own.project, Scope::Project(project), project_amount)),
            job,
            Some((own.task, Scope::Task(task), task_amount)),
        ];
        let limits = rows
            .into_iter()
            .flatten()
            .filter_map(|(limit, scope, amount)| Some(LimitState::new(scope, limit?, amount)));
        limits.collect()
    }

    /// The limits that a start has reached.
    pub fn reached(&self, start: &Start<'_>) -> Vec<LimitState> {
        let mut limits = self.limits_of_start(start);
        limits.retain(|it| it.level == Level::Reached);
        limits
    }

    /// Why a limit cannot be checked for a start, in words; `None` if it can, or if the settings
    /// allow it.
    pub fn unpriced(&self, start: &Start<'_>) -> Option<String> {
        if self.limits_of(start.project).allows_unpriced {
            return None;
        }
        let limits = self.limits_of_start(start);
        let harness = start.harness;
        // The definition of an unknown harness is reported by its start.
        let figures = self.figures.get(harness)?;
        if !figures.tokens && !figures.cost && !limits.is_empty() {
            return Some(format!("`{harness}` reports neither tokens nor cost"));
        }
        if !figures.tokens && limits.iter().any(|it| matches!(it.limit, Limit::Tokens(_))) {
            return Some(format!("`{harness}` does not report tokens"));
        }
        if !limits.iter().any(|it| matches!(it.limit, Limit::Money(_))) {
            return None;
        }
        let choice = (harness.clone(), start.model.map(str::to_owned));
        if let Some(model) = self.spent.unpriced.get(&choice) {
            let model = match model {
                Some(model) => format!("the model `{model}`, which has no known price"),
                None => String::from("a model without a known price"),
            };
            return Some(format!("the last run of `{harness}` used {model}"));
        }
        match start.model {
            _ if figures.cost => None,
            Some(model) if self.prices.price(model).is_none() => {
                Some(format!("the model `{model}` has no known price"))
            }
            None if !figures.model => Some(format!(
                "`{harness}` reports no cost and not which model it uses"
            )),
            _ => None,
        }
    }

    /// What was used, by scope, each with its limit if there is one; the day comes first.
    pub fn uses(&self) -> Vec<ScopeUse> {
        let spent = &self.spent;
        let mut uses = vec![ScopeUse::new(Scope::Day, spent.today, self.home.day)];
        for project in self.all_projects() {
            let amount = spent.projects.get(project).copied().unwrap_or_default();
            let limit = self.limits_of(project).project;
            uses.push(ScopeUse::new(
                Scope::Project(project.clone()),
                amount,
                limit,
            ));
        }
        uses.extend(spent.jobs.iter().map(|(job, used)| {
            let limit = self.limits_of(&used.project).job;
            ScopeUse::new(Scope::Job(job.clone()), used.amount, limit)
        }));
        uses.extend(spent.tasks.iter().map(|(task, used)| {
            let limit = self.limits_of(&used.project).task;
            ScopeUse::new(Scope::Task(task.clone()), used.amount, limit)
        }));
        uses
    }

    /// Whether running agents of a project are stopped when a limit is reached.
    pub fn is_hard(&self, project: &ProjectName) -> bool {
        let BudgetLimits { is_hard, .. } = self.limits_of(project);
        *is_hard
    }
}
