//! The limits that apply to a start.

use orange_config::{LogLevel, WhenFull, clock};
use orange_effects::disk_usage::free_space;
use orange_engine::budget::Budget;
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, RequestKind};
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, Status};
use orange_engine::parking::Parking;
use orange_engine::role::Role;
use orange_engine::schedule::{FullDisk, Limits};
use orange_engine::{Task, Workflow};
use orange_store::Store;
use serde_json::json;

use super::Steps;
use crate::DriverError;

impl Steps {
    /// The limits that apply to a start. If the settings refuse starts in a full pool, the pool
    /// does not limit the user: such a start fails with an error that lists which task has which
    /// workspace.
    pub(crate) fn limits(&self, by: &Role) -> Result<Limits, DriverError> {
        let settings = self.context.settings(None)?;
        let mut limits = settings.limits;
        limits.failover = self.installed(limits.failover)?;
        let (disk, needed) = (self.context.home.workspaces(), settings.free_disk);
        // A disk whose free space is unknown does not hold back starts: the start itself reports
        // the problem.
        let free = free_space(&disk).ok().filter(|free| *free < needed);
        limits.full_disk = free.map(|free| FullDisk { free, needed });
        limits.budget.home = settings.budget;
        let projects = self.context.projects()?;
        for name in projects.names() {
            let project = projects.require(&name)?;
            let settings = self.context.own_settings(project)?;
            limits.budget.projects.insert(name.clone(), settings.budget);
            let pool = settings.pool;
            if *by == Role::Engine || pool.when_full == WhenFull::Queue {
                limits.pools.insert(name, pool.size);
            }
        }
        limits.budget = self.complete_budget(limits.budget)?;
        Ok(limits)
    }

    /// Adds what agents report and the prices to the limits; a budget without limits stays empty.
    fn complete_budget(&self, budget: Budget) -> Result<Budget, DriverError> {
        if budget.is_empty() {
            return Ok(Budget::default());
        }
        let harnesses = self.context.harnesses()?;
        let figures = harnesses.all().filter_map(|(name, harness)| {
            let figures = harness.ok()?.figures();
            Some((HarnessName::new(name), figures))
        });
        Ok(Budget {
            figures: figures.collect(),
            prices: orange_config::prices(),
            ..budget
        })
    }

    /// The limits on starts of the engine, with everything that uses them up now.
    pub(crate) fn current_limits(&self, store: &Store) -> Result<Limits, DriverError> {
        let mut limits = self.limits(&Role::Engine)?;
        limits.parked = store.parkings(clock::now())?;
        if !limits.budget.is_empty() {
            limits.budget.spent = store.spent(clock::now())?;
        }
        Ok(limits)
    }

    /// The harnesses that take over from a parked one, in order.
    pub(crate) fn failover(&self) -> Result<Vec<HarnessName>, DriverError> {
        let settings = self.context.settings(None)?;
        self.installed(settings.limits.failover)
    }

    /// Every harness whose program exists.
    pub(crate) fn installed_harnesses(&self) -> Result<Vec<HarnessName>, DriverError> {
        let harnesses = self.context.harnesses()?;
        let all = harnesses.all();
        let named = all.filter_map(|(_, it)| Some(it.ok()?.name.clone()));
        self.installed(named.collect())
    }

    /// Those of these harnesses whose definition has no mistake and whose program exists.
    fn installed(&self, mut names: Vec<HarnessName>) -> Result<Vec<HarnessName>, DriverError> {
        if names.is_empty() {
            return Ok(names);
        }
        let harnesses = self.context.harnesses()?;
        let path = self.context.environment.variable("PATH");
        names.retain(|name| {
            let harness = harnesses.require(name);
            harness.is_ok_and(|harness| harness.locate(path).is_ok())
        });
        Ok(names)
    }

    /// The limits that apply to a plan, if it starts the work of a task, or continues the work of
    /// one that had ended.
    pub(crate) fn limits_of_start(
        &self,
        workflow: &Workflow,
        events: &[Event],
        cause: &Cause,
    ) -> Result<Option<Limits>, DriverError> {
        let Cause::Request(request) = cause else {
            return Ok(None);
        };
        let kind = |status: &Status| workflow.state(status).map(|state| state.kind);
        let is_start = |event: &Event| match &event.fact {
            Fact::StatusChanged(changed) => {
                matches!(kind(&changed.from), Some(Kind::Queued | Kind::Terminal))
                    && matches!(kind(&changed.to), Some(Kind::Agent | Kind::Human))
            }
            _ => false,
        };
        if events.iter().any(is_start) {
            return self.limits(&request.by).map(Some);
        }
        Ok(None)
    }

    /// Fails if an agent that a restart would end could not be started again, because its harness
    /// or its program is missing.
    pub(crate) fn require_restartable(
        &self,
        events: &[Event],
        cause: &Cause,
    ) -> Result<(), DriverError> {
        let Cause::Request(request) = cause else {
            return Ok(());
        };
        if !matches!(request.kind, RequestKind::Restart { .. }) {
            return Ok(());
        }
        let harnesses = self.context.harnesses()?;
        let path = self.context.environment.variable("PATH");
        for event in events {
            if let Fact::EffectPlanned(planned) = &event.fact
                && let Effect::Spawn(spawn) = &planned.effect
            {
                harnesses.require(&spawn.harness)?.locate(path)?;
            }
        }
        Ok(())
    }

    /// Logs once that a harness is parked.
    pub(crate) fn log_parking(&self, task: &Task, parking: &Parking) {
        let more = json!({
            "harness": parking.harness,
            "reason": parking.reason,
            "until": parking.until,
            "output_line": parking.output_line,
        });
        self.context
            .log(LogLevel::Warn, &task.id, "harness.parked", more);
    }
}
