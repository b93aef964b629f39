//! The limits that apply to a start.

use orange_config::{LogLevel, WhenFull};
use orange_effects::disk_usage::free_space;
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, RequestKind};
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, Status};
use orange_engine::parking::Parking;
use orange_engine::role::Role;
use orange_engine::schedule::{FullDisk, Limits};
use orange_engine::{Task, Workflow};
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
        let projects = self.context.projects()?;
        for name in projects.names() {
            let project = projects.require(&name)?;
            let pool = self.context.settings(Some(project))?.pool;
            if *by == Role::Engine || pool.when_full == WhenFull::Queue {
                limits.pools.insert(name, pool.size);
            }
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
        let all = harnesses.all().iter();
        let named = all.filter_map(|(_, it)| Some(it.as_ref().ok()?.name.clone()));
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
