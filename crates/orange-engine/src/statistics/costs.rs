//! What agents used, by task, agent and model.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Records, SpendRecord};
use crate::budget::Money;
use crate::names::{HarnessName, ProjectName, RunId, TaskId};
use crate::usage::cents;

/// How many tasks are named.
const MOST_TASKS: usize = 10;

/// The billionths of a US dollar in a millionth.
const BILLIONTHS: u64 = 1000;

/// What a group of runs used. What a run did not report is unknown, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostLine {
    /// How many runs were counted.
    pub runs: u64,
    /// The tokens that were used; `null` if no run reported them.
    pub tokens: Option<u64>,
    /// The cost in US dollars, as a decimal number; `null` if it is unknown for every run.
    #[serde(serialize_with = "serialize_money")]
    #[schemars(with = "Option<String>")]
    pub cost_usd: Option<Money>,
    /// How many runs have not reported all of their tokens, so that `tokens` is a minimum.
    pub runs_without_tokens: u64,
    /// How many runs have no known cost, so that `cost_usd` is a minimum.
    pub runs_without_cost: u64,
}

impl CostLine {
    /// The cost in words, rounded down to a cent.
    pub fn cost_text(&self) -> String {
        let Some(money) = self.cost_usd else {
            let text = if self.runs == 0 { "none" } else { "unknown" };
            return text.to_owned();
        };
        let dollars = cents(money.0.saturating_mul(BILLIONTHS));
        let sign = if self.runs_without_cost > 0 {
            "≥ "
        } else {
            ""
        };
        format!("{sign}{dollars} USD")
    }
}

/// What the agents of a task used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskCost {
    pub task: TaskId,
    pub project: ProjectName,
    pub summary: String,
    /// Whether the task was deleted.
    pub deleted: bool,
    #[serde(flatten)]
    pub cost: CostLine,
}

/// What the runs of an agent or of a model used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamedCost<Name> {
    pub name: Name,
    #[serde(flatten)]
    pub cost: CostLine,
}

/// What agents used within the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Costs {
    pub total: CostLine,
    /// The ten most expensive tasks.
    pub tasks: Vec<TaskCost>,
    /// How many other tasks had runs.
    pub other_tasks: usize,
    /// The agents, the most expensive first.
    pub agents: Vec<NamedCost<HarnessName>>,
    /// The models that tasks set, the most expensive first; the name is `null` where a task left
    /// the choice to the agent.
    pub models: Vec<NamedCost<Option<String>>>,
}

/// The records of a group.
#[derive(Default)]
struct Group<'a> {
    runs: BTreeSet<(&'a TaskId, &'a RunId)>,
    without_tokens: BTreeSet<(&'a TaskId, &'a RunId)>,
    without_cost: BTreeSet<(&'a TaskId, &'a RunId)>,
    tokens: Option<u64>,
    money: Option<Money>,
}

impl<'a> Group<'a> {
    fn add(&mut self, record: &'a SpendRecord) {
        let key = (&record.task, &record.run);
        self.runs.insert(key);
        match record.tokens {
            Some(tokens) => self.tokens = Some(self.tokens.unwrap_or(0).saturating_add(tokens)),
            None => drop(self.without_tokens.insert(key)),
        }
        match record.money {
            Some(money) => self.money = Some(self.money.unwrap_or_default().plus(money)),
            None => drop(self.without_cost.insert(key)),
        }
    }

    fn line(&self) -> CostLine {
        let count = |runs: &BTreeSet<_>| u64::try_from(runs.len()).unwrap_or(u64::MAX);
        CostLine {
            runs: count(&self.runs),
            tokens: self.tokens,
            cost_usd: self.money,
            runs_without_tokens: count(&self.without_tokens),
            runs_without_cost: count(&self.without_cost),
        }
    }
}

pub(super) fn add_up(records: &Records) -> Costs {
    let by_task = group(&records.spend, |it| &it.task);
    let all = group(&records.spend, |_| ());
    let total = all.into_iter().next().map(|((), line)| line);
    let mut tasks: Vec<TaskCost> = Vec::new();
    for (task, cost) in by_task.iter().take(MOST_TASKS) {
        let record = records.tasks.iter().find(|it| it.task == **task);
        tasks.extend(record.map(|record| TaskCost {
            task: record.task.clone(),
            project: record.project.clone(),
            summary: record.summary.clone(),
            deleted: record.is_deleted,
            cost: cost.clone(),
        }));
    }
    Costs {
        total: total.unwrap_or_default(),
        other_tasks: by_task.len() - tasks.len(),
        tasks,
        agents: named(group(&records.spend, |it| &it.harness)),
        models: named(group(&records.spend, |it| &it.model)),
    }
}

/// The groups by this key, the most expensive first, then the one with the most tokens.
fn group<'a, Key: Ord + Copy>(
    spend: &'a [SpendRecord],
    key: impl Fn(&'a SpendRecord) -> Key,
) -> Vec<(Key, CostLine)> {
    let mut groups: BTreeMap<Key, Group<'_>> = BTreeMap::new();
    for record in spend {
        groups.entry(key(record)).or_default().add(record);
    }
    let groups = groups.into_iter();
    let mut lines: Vec<(Key, CostLine)> = groups.map(|(key, it)| (key, it.line())).collect();
    lines.sort_by_key(|(key, line)| (Reverse((line.cost_usd, line.tokens)), *key));
    lines
}

fn named<Name: Clone>(lines: Vec<(&Name, CostLine)>) -> Vec<NamedCost<Name>> {
    let lines = lines.into_iter();
    lines
        .map(|(name, cost)| NamedCost {
            name: name.clone(),
            cost,
        })
        .collect()
}

#[expect(clippy::ref_option, reason = "serde passes a field by reference")]
fn serialize_money<S: Serializer>(money: &Option<Money>, serializer: S) -> Result<S::Ok, S::Error> {
    money.map(|money| money.to_string()).serialize(serializer)
}
