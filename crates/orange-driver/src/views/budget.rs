//! What agents used, and what is left of the budgets.

use std::collections::BTreeSet;

use orange_config::clock;
use orange_engine::attention::Item;
use orange_engine::budget::{Budget, Scope, ScopeUse, utc_day};
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::role::Role;
use orange_engine::schedule::{SchedulePlace, ScheduledTask, Starter, Wait};
use orange_store::{RowFilter, Store, StoreError};

use crate::DriverError;
use crate::views::Views;

/// What was used, and what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetReport {
    /// The current UTC day.
    pub day: String,
    /// The day, then projects, jobs, and tasks that have not ended.
    pub uses: Vec<ScopeUse>,
    /// The limits and what agents report.
    pub budget: Budget,
}

impl Views {
    /// What was used so far, and what is left of each limit.
    pub fn budget(&self) -> Result<BudgetReport, DriverError> {
        let now = clock::now();
        let mut budget = self.steps.limits(&Role::Engine)?.budget;
        let open = match Store::open_read_only(&self.context.home) {
            // Without a database nothing was used.
            Err(StoreError::Missing { .. }) => BTreeSet::new(),
            opened => {
                let store = opened?;
                budget.spent = store.spent(now)?;
                open_tasks(&store)?
            }
        };
        let mut uses = budget.uses();
        uses.retain(|it| match &it.scope {
            Scope::Task(task) => open.contains(task),
            Scope::Day | Scope::Project(_) | Scope::Job(_) => true,
        });
        Ok(BudgetReport {
            day: utc_day(now),
            uses,
            budget,
        })
    }

    /// The budgets that need the user, and the tasks that wait because a budget cannot be checked.
    pub(super) fn budget_items(
        &self,
        store: &Store,
        project: Option<&ProjectName>,
    ) -> Result<Vec<Item>, DriverError> {
        // Invalid settings are reported by the commands that need them.
        let Ok(limits) = self.steps.current_limits(store) else {
            return Ok(Vec::new());
        };
        let budget = limits.budget;
        if budget.is_empty() {
            return Ok(Vec::new());
        }
        let day = utc_day(clock::now());
        let standings = store.standings()?;
        let is_open = |task: &TaskId| {
            let mut own = standings.iter().filter(|it| it.task == *task);
            own.any(|it| !matches!(it.place, SchedulePlace::Ended { .. }))
        };
        let uses = budget.uses().into_iter();
        let limits = uses.filter(|it| match &it.scope {
            Scope::Task(task) => is_open(task),
            Scope::Day | Scope::Project(_) | Scope::Job(_) => true,
        });
        let items = limits.filter_map(|it| Item::from_limit(it.limit.as_ref()?, &day));
        let mut items: Vec<Item> = items.collect();
        let waiting = standings
            .iter()
            .filter(|it| is_ready(it) && project.is_none_or(|project| it.project == *project));
        for standing in waiting {
            let waits = Wait::from_budget(&budget, &standing.start());
            let unpriced = waits
                .iter()
                .filter(|it| matches!(it, Wait::Unpriced { .. }));
            items.extend(unpriced.map(|wait| Item::from_unpriced(&standing.task, wait, &day)));
        }
        Ok(items)
    }
}

/// Whether a task waits in a queue for nothing but its turn.
fn is_ready(standing: &ScheduledTask) -> bool {
    matches!(&standing.place, SchedulePlace::Queued(queued) if queued.starter == Starter::Engine)
}

fn open_tasks(store: &Store) -> Result<BTreeSet<TaskId>, DriverError> {
    let listed = store.rows(&RowFilter {
        project: None,
        status: None,
        without_ended: true,
        extra_tasks: BTreeSet::new(),
    })?;
    Ok(listed.rows.into_iter().map(|row| row.id).collect())
}
