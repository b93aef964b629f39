//! Work of a supervisor that is about no single task.

use orange_config::LogLevel;
use serde_json::json;

use super::aside::Aside;
use crate::{Driver, DriverError};

/// Starts what is next whenever it is asked to.
pub(super) fn scheduling(driver: Driver) -> Result<Aside, String> {
    let mut told = Told::new(driver.clone(), "schedule.failed");
    Aside::new("schedule", move || {
        // However many commits there were meanwhile, one look sees them all.
        let started = driver.with_person_variables().scheduler.schedule();
        told.note(started.map(|_| ()));
    })
}

/// Notifies a person of what needs them since the last time, whenever it is asked to.
pub(super) fn notifying(driver: Driver) -> Result<Aside, String> {
    let mut told = Told::new(driver.clone(), "notify.failed");
    Aside::new("notify", move || {
        told.note(driver.with_person_variables().views.notify_of_news());
    })
}

/// Tries releases again that were given up, once, and ends what is left of runs that nobody has a
/// use for, whenever it is asked to.
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

/// Says a failure once, however often it comes again: settings with a mistake fail every look.
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
