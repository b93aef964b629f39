//! What runs used, by UTC day, for budgets.
//!
//! A run reports totals. What it used on a day is its total without what earlier days have, so a
//! run that lasts over midnight counts on both days. Rows describe files of runs, not decisions, so
//! a rebuild drops them and the driver counts them again.

use std::collections::BTreeMap;

use orange_engine::budget::{AgentChoice, Amount, Money, ProjectAmount, RunCost, Spent, utc_day};
use orange_engine::names::{HarnessName, JobName, ProjectName, RunId, TaskId};
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// The largest number that is kept for a run and a day, so that sums of many fit into an
/// integer of SQL: a million dollars, or a trillion tokens.
const MOST: u64 = 1_000_000_000_000;

/// What a run has used so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSpend {
    pub task: TaskId,
    pub run: RunId,
    pub harness: HarnessName,
    /// The model that the task sets.
    pub model: Option<String>,
    pub tokens: Option<u64>,
    pub cost: RunCost,
    /// When it was counted; the day counts.
    pub at: Timestamp,
}

impl Store {
    /// Records what a run has used so far; returns whether that is new.
    pub fn record_spend(&mut self, spend: &RunSpend) -> Result<bool, StoreError> {
        let attempt = || failed("record what a run used");
        let day = utc_day(spend.at);
        let key = params![spend.task.as_str(), spend.run.as_str(), day];
        let money = match &spend.cost {
            RunCost::Known(money) => Some(money.0),
            RunCost::Unpriced { .. } | RunCost::Unknown => None,
        };
        let unpriced_model = match &spend.cost {
            RunCost::Unpriced { model } => Some(model),
            RunCost::Known(_) | RunCost::Unknown => None,
        };
        let writing = self.write_lazily("record what a run used")?;
        let connection = &writing.transaction;
        let earlier: (i64, i64) = connection
            .query_row(
                "SELECT coalesce(sum(tokens), 0), coalesce(sum(money), 0) FROM spend
                 WHERE task = ?1 AND run = ?2 AND day <> ?3",
                key,
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(attempt())?;
        let of_day = |total: Option<u64>, earlier: i64| {
            let total = i64::try_from(total?.min(MOST)).unwrap_or_default();
            Some(total.saturating_sub(earlier).max(0))
        };
        let (tokens, money) = (of_day(spend.tokens, earlier.0), of_day(money, earlier.1));
        let known: Option<(Option<i64>, Option<i64>, bool)> = connection
            .query_row(
                "SELECT tokens, money, is_unpriced FROM spend
                 WHERE task = ?1 AND run = ?2 AND day = ?3",
                key,
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()
            .map_err(attempt())?;
        if known == Some((tokens, money, unpriced_model.is_some())) {
            return Ok(false);
        }
        connection
            .execute(
                "INSERT OR REPLACE INTO spend (task, run, day, harness, model, tokens, money,
                     is_unpriced, unpriced_model, counted_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    spend.task.as_str(),
                    spend.run.as_str(),
                    day,
                    spend.harness.as_str(),
                    spend.model,
                    tokens,
                    money,
                    unpriced_model.is_some(),
                    unpriced_model.cloned().flatten(),
                    spend.at.to_string(),
                ],
            )
            .map_err(attempt())?;
        writing.commit()?;
        Ok(true)
    }

    /// What was used so far.
    pub fn spent(&self, now: Timestamp) -> Result<Spent, StoreError> {
        spent(&self.connection, now)
    }
}

/// What was used so far, as this transaction sees it.
pub(crate) fn spent(connection: &Connection, now: Timestamp) -> Result<Spent, StoreError> {
    let mut spent = Spent {
        unpriced: unpriced(connection)?,
        ..Spent::default()
    };
    for row in rows(connection, &utc_day(now))? {
        let add = |before: Option<Amount>| before.unwrap_or_default().plus(row.amount);
        let part = |before: Option<&ProjectAmount>| ProjectAmount {
            project: row.project.clone(),
            amount: add(before.map(|it| it.amount)),
        };
        let task = part(spent.tasks.get(&row.task));
        spent.tasks.insert(row.task.clone(), task);
        if let Some(job) = &row.job {
            let of_job = part(spent.jobs.get(job));
            spent.jobs.insert(job.clone(), of_job);
        }
        let of_project = add(spent.projects.get(&row.project).copied());
        spent.projects.insert(row.project.clone(), of_project);
        if row.is_today {
            spent.today = add(Some(spent.today));
        }
    }
    Ok(spent)
}

/// What a task used today, or before.
struct SpendRow {
    task: TaskId,
    project: ProjectName,
    job: Option<JobName>,
    is_today: bool,
    amount: Amount,
}

fn rows(connection: &Connection, today: &str) -> Result<Vec<SpendRow>, StoreError> {
    let attempt = || failed("read what runs used");
    let sql = "SELECT spend.task, tasks.project,
                   (SELECT min(job) FROM job_runs WHERE job_runs.task = spend.task),
                   spend.day = ?1 AS is_today, coalesce(sum(tokens), 0), coalesce(sum(money), 0),
                   sum(tokens IS NULL), sum(money IS NULL)
               FROM spend JOIN tasks ON tasks.id = spend.task
               GROUP BY spend.task, is_today";
    let mut statement = connection.prepare(sql).map_err(attempt())?;
    let found = statement.query_map([today], |row| {
        let number = |column: usize| -> rusqlite::Result<u64> {
            Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or_default())
        };
        Ok(SpendRow {
            task: TaskId::new(row.get::<_, String>(0)?),
            project: ProjectName::new(row.get::<_, String>(1)?),
            job: row.get::<_, Option<String>>(2)?.map(JobName::new),
            is_today: row.get(3)?,
            amount: Amount {
                tokens: number(4)?,
                money: Money(number(5)?),
                unknown_tokens: number(6)?,
                unknown_money: number(7)?,
            },
        })
    });
    let found: Result<Vec<SpendRow>, _> = found.map_err(attempt())?.collect();
    found.map_err(attempt())
}

/// The agents whose last counted run used a model without a price.
fn unpriced(connection: &Connection) -> Result<BTreeMap<AgentChoice, Option<String>>, StoreError> {
    let attempt = || failed("read what runs used");
    // SQLite takes the other columns from the row with the greatest `counted_at`.
    let sql = "SELECT harness, model, is_unpriced, unpriced_model, max(counted_at) FROM spend
               WHERE tokens IS NOT NULL OR money IS NOT NULL GROUP BY harness, model";
    let mut statement = connection.prepare(sql).map_err(attempt())?;
    let found = statement.query_map([], |row| {
        let choice = (HarnessName::new(row.get::<_, String>(0)?), row.get(1)?);
        Ok((choice, row.get::<_, bool>(2)?, row.get(3)?))
    });
    let mut unpriced = BTreeMap::new();
    for row in found.map_err(attempt())? {
        let (choice, is_unpriced, model) = row.map_err(attempt())?;
        if is_unpriced {
            unpriced.insert(choice, model);
        }
    }
    Ok(unpriced)
}
