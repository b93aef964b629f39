//! Supervisor work that is not about a single task.

use orange_config::LogLevel;
use serde_json::json;

use super::aside::Aside;
use crate::{Driver, DriverError};

/// Starts queued tasks on request.
pub(super) fn scheduling(driver: Driver) -> Result<Aside, String> {
    let mut told = Told::new(driver.clone(), "schedule.failed");
    Aside::new("schedule", move || {
        // One check covers all commits made meanwhile.
        let started = driver.with_person_variables().scheduler.schedule();
        told.note(started.map(|_| ()));
    })
}

/// Notifies the user about what newly needs them, on request.
pub(super) fn notifying(driver: Driver) -> Result<Aside, String> {
    let mut told = Told::new(driver.clone(), "notify.failed");
    Aside::new("notify", move || {
        told.note(driver.with_person_variables().views.notify_of_news());
    })
}

/// Retries failed releases, once, and ends what is left of runs that no task needs, on request.
pub(super) fn tidying(driver: Driver) -> Result<Aside, String> {
    let mut told = Told::new(driver.clone(), "tidy.failed");
    let mut has_retried = false;
    Aside::new("tidy", move || {
        let mut done = Ok(());
        if !has_retried {
            done = driver.admin.retry_given_up_releases().map(|_| ());
            has_retried = done.is_ok();
        }
        told.note(done.and(driver.agents.end_orphans().map(|_| ())));
    })
}

/// Logs a failure once, however often it repeats: invalid settings fail every check.
struct Told {
    driver: Driver,
    what: &'static str,
    last: Option<String>,
}

impl Told {
    fn new(driver: Driver, what: &'static str) -> Told {
        Told {
            driver,
            what,
            last: None,
        }
    }

    fn note(&mut self, done: Result<(), DriverError>) {
        let error = done.err().map(|error| error.to_string());
        if let Some(error) = error.as_ref().filter(|_| error != self.last) {
            let more = json!({ "error": error });
            self.driver
                .context
                .log_for_all(LogLevel::Warn, self.what, more);
        }
        self.last = error;
    }
}
