//! Parked harnesses, and how the user unparks them.

use std::path::PathBuf;

use orange_config::clock;
use orange_engine::names::{HarnessName, TaskId};
use orange_engine::parking::Parking;
use orange_store::{Store, TaskFilter};

use crate::DriverError;
use crate::due::is_waiting;
use crate::schedule::Scheduler;

/// A harness that has a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownHarness {
    pub name: String,
    /// The program, or the error in the definition.
    pub binary: Result<String, String>,
    /// The program's path, or why it cannot be run.
    pub program: Result<PathBuf, String>,
    /// Why nothing is started on the harness, if it is parked.
    pub parked: Option<Parking>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnparkResult {
    /// Why the harness was parked; `None` when it was not.
    pub parking: Option<Parking>,
    /// The tasks that continue now; queued ones follow in their order.
    pub tasks: Vec<TaskId>,
}

impl Scheduler {
    /// Every harness on which nothing is started now: why, since when, until when, and the agent's
    /// output line that led to it.
    pub fn parked_harnesses(&self) -> Result<Vec<Parking>, DriverError> {
        if !self.context.home.database().exists() {
            return Ok(Vec::new());
        }
        let store = Store::open_read_only(&self.context.home)?;
        Ok(store.parkings(clock::now())?)
    }

    /// Every harness that has a definition.
    pub fn known_harnesses(&self) -> Result<Vec<KnownHarness>, DriverError> {
        let mut parked = self.parked_harnesses()?;
        let harnesses = self.context.harnesses()?;
        let path = self.context.environment.variable("PATH");
        let mut known = Vec::new();
        for (name, harness) in harnesses.all() {
            let index = parked.iter().position(|it| it.harness.as_str() == name);
            known.push(KnownHarness {
                name: name.to_owned(),
                binary: match harness {
                    Ok(harness) => Ok(harness.binary.clone()),
                    Err(error) => Err(error.to_string()),
                },
                program: match harness {
                    Ok(harness) => harness.locate(path).map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                },
                parked: index.map(|index| parked.remove(index)),
            });
        }
        // A harness whose definition was removed can still be parked.
        let gone = || String::from("its definition was removed");
        known.extend(parked.into_iter().map(|parking| KnownHarness {
            name: parking.harness.to_string(),
            binary: Err(gone()),
            program: Err(gone()),
            parked: Some(parking),
        }));
        Ok(known)
    }

    /// Allows starts on a harness again; tasks that wait for it continue.
    pub fn unpark(&self, harness: &HarnessName) -> Result<UnparkResult, DriverError> {
        self.callers.require_user("unpark a harness")?;
        let mut store = self.context.store()?;
        let parked = store.parkings(clock::now())?;
        if parked.iter().all(|it| it.harness != *harness) {
            // An unknown harness is a mistake; one that is not parked is fine.
            self.context.harnesses()?.require(harness)?;
        }
        self.context.save_variables()?;
        let parking = store.unpark(harness, clock::now())?;
        let mut tasks = Vec::new();
        if parking.is_some() {
            // If this process is killed here, the next command about the task or the next
            // supervisor performs the starts that are left.
            for summary in store.list(&TaskFilter::default())?.tasks {
                let id = summary.task.id;
                if store.pending(&id)?.iter().any(is_waiting) {
                    self.context.leave_to_performer(&store, &id)?;
                    tasks.push(id);
                }
            }
        }
        Ok(UnparkResult { parking, tasks })
    }
}
