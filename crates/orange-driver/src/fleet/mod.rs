//! Works on tasks of a fleet, whose server keeps their log.
//!
//! The link in the store is the only state: every answer changes it in one transaction, and what
//! follows from it is done afterwards and can be repeated. So the process can be killed at any
//! moment, and the next one continues. Four threads share nothing but the store: one keeps the
//! lease, one waits for work, one saves uncommitted work, and one ships commits and removes what was
//! taken away.

mod arrive;
mod ask;
mod beat;
mod calls;
pub(crate) mod error;
mod freeze;
mod give_back;
pub(crate) mod join;
mod mail;
mod remove;
mod save_work;
mod ship;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use orange_config::{LogLevel, clock};
use orange_fleet::ids::TaskId as FleetTaskId;
use orange_fleet::link::Registration;
use orange_fleet::time::{Period, Timestamp};
use orange_store::{Membership, Store};
use serde_json::json;

pub use error::FleetError;
pub use join::{JoinRequest, RunnerStatus};

use crate::context::runner_lock::RunnerLock;
use crate::{Driver, DriverError, GatherPolicy};
use calls::Server;

/// How often a thread checks whether to stop, and the store for new commits.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a thread waits after a failure before it tries again.
const RETRY: Duration = Duration::from_secs(1);

/// Lets another thread end a runner.
#[derive(Clone, Debug, Default)]
pub struct RunnerStopper(Arc<AtomicBool>);

impl RunnerStopper {
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn must_stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The process that works for a fleet. There is one per home.
#[derive(Debug)]
pub struct Runner {
    driver: Driver,
    server: Server,
    /// How many tasks it holds at most.
    room: u32,
    /// How often uncommitted work is saved at the server.
    save_every: Duration,
    stopper: RunnerStopper,
    /// Held while tasks come or go, so that none is given back between its claim and its mail.
    moving: Mutex<()>,
    _lock: RunnerLock,
}

impl Runner {
    /// Takes the place of this home's runner; fails if another process has it.
    pub fn new(driver: Driver, room: u32, save_every: Duration) -> Result<Runner, DriverError> {
        let lock = driver.context.take_runner()?;
        let mut store = driver.context.store()?;
        let known = store.membership()?.ok_or(FleetError::NotJoined)?;
        let token = join::read_token(&driver.context)?;
        let server = Server::new(&driver.context, &known.server, &known.runner, &token);
        let boot = clock::boot_id().map(str::to_owned);
        if known.boot != boot {
            // No agent is left, and the clock of the lease began anew.
            store.update_membership(|known| {
                known.link.rebooted();
                known.boot = boot;
            })?;
        }
        // A gate command may take minutes; mail that needs it stays open meanwhile.
        let driver = driver.with_gathering(GatherPolicy::Detached(Duration::ZERO));
        Ok(Runner {
            driver,
            server,
            room,
            save_every,
            stopper: RunnerStopper::default(),
            moving: Mutex::new(()),
            _lock: lock,
        })
    }

    pub fn stopper(&self) -> RunnerStopper {
        self.stopper.clone()
    }

    /// Works until it is stopped, or until another home is registered in place of this one. Agents
    /// and what the link knows stay: the next runner continues.
    pub fn run(self) -> Result<(), DriverError> {
        self.driver.context.start_freezer()?;
        thread::scope(|scope| {
            scope.spawn(|| self.repeat("beat", Self::keep_lease));
            scope.spawn(|| self.repeat("work", Self::wait_for_work));
            scope.spawn(|| self.repeat("save", Self::save_work));
            self.repeat("ship", Self::sync);
        });
        let known = self.membership()?;
        if *known.link.registration() == Registration::Replaced {
            let runner = known.runner.to_string();
            return Err(FleetError::Replaced { runner }.into());
        }
        Ok(())
    }

    /// Repeats one job of the runner. A failure of any kind is logged and the job tried again: the
    /// server may be away, and another process may have the database.
    fn repeat(&self, job: &'static str, step: impl Fn(&Self) -> Result<Duration, DriverError>) {
        while !self.stopper.must_stop() {
            let pause = step(self).unwrap_or_else(|error| {
                let more = json!({ "job": job, "error": error.to_string() });
                let context = &self.driver.context;
                context.log_for_all(LogLevel::Warn, "fleet.failed", more);
                RETRY
            });
            let over = clock::Deadline::after(pause);
            while !self.stopper.must_stop() && !over.has_passed() {
                thread::sleep(PAUSE.min(over.remaining()));
            }
        }
    }

    /// Everything that follows from the store and not from a wait.
    fn sync(&self) -> Result<Duration, DriverError> {
        let mut store = self.store()?;
        // An older loss comes first: its agents may still run.
        self.remove_dropped(&mut store)?;
        self.stop_halted(&mut store)?;
        self.ship(&mut store)?;
        let _moving = self.lock_moves();
        self.adopt(&mut store)?;
        self.continue_arrivals(&mut store)?;
        self.give_back(&mut store)?;
        Ok(PAUSE)
    }

    /// A thread that panicked has left nothing half done: the store has all of it.
    fn lock_moves(&self) -> MutexGuard<'_, ()> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> Result<Store, DriverError> {
        self.driver.context.store()
    }

    fn membership(&self) -> Result<Membership, DriverError> {
        let known = self.store()?.membership()?;
        Ok(known.ok_or(FleetError::NotJoined)?)
    }
}

/// The clock of the lease.
fn now() -> Timestamp {
    Timestamp(u64::try_from(clock::since_boot().as_millis()).unwrap_or(u64::MAX))
}

/// A task as the engine names it.
fn engine_task(task: &FleetTaskId) -> orange_engine::names::TaskId {
    orange_engine::names::TaskId::new(task.as_str())
}

/// A task as the protocol names it.
fn fleet_task(task: &orange_engine::names::TaskId) -> FleetTaskId {
    FleetTaskId::new(task.as_str())
}

fn duration(period: Period) -> Duration {
    Duration::from_millis(period.0)
}
