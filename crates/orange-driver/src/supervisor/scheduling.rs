//! Supervisor work that is not about a single task.

use orange_config::LogLevel;
use serde_json::json;

use super::background_thread::BackgroundThread;
use crate::Driver;

/// Starts queued tasks on request.
pub(super) fn start_scheduling(driver: Driver) -> Result<BackgroundThread, String> {
    let mut failures = FailureLog::new(driver.clone(), "schedule.failed");
    BackgroundThread::new("schedule", move || {
        // One check covers all commits made meanwhile.
        let driver = driver.with_user_variables();
        let counted = driver.agents.record_live_spend();
        let started = driver.scheduler.schedule();
        failures.note(counted.and(started.map(|_| ())));
    })
}

/// Notifies the user about new items that need them, on request.
pub(super) fn start_notifying(driver: Driver) -> Result<BackgroundThread, String> {
    let mut failures = FailureLog::new(driver.clone(), "notify.failed");
    BackgroundThread::new("notify", move || {
        failures.note(driver.with_user_variables().views.notify_new_items());
    })
}

/// On request, ends what is left of runs that no task needs. Also retries failed releases, until a
/// retry has succeeded once.
pub(super) fn start_cleanup(driver: Driver) -> Result<BackgroundThread, String> {
    let mut failures = FailureLog::new(driver.clone(), "tidy.failed");
    let mut has_retried = false;
    BackgroundThread::new("tidy", move || {
        let mut done = Ok(());
        if !has_retried {
            done = driver.admin.retry_failed_releases().map(|_| ());
            has_retried = done.is_ok();
        }
        failures.note(done.and(driver.agents.end_orphans().map(|_| ())));
    })
}

/// Logs a failure once, however often it repeats; invalid settings, for example, fail every check.
pub(super) struct FailureLog {
    driver: Driver,
    event: &'static str,
    last: Option<String>,
}

impl FailureLog {
    pub(super) fn new(driver: Driver, event: &'static str) -> FailureLog {
        FailureLog {
            driver,
            event,
            last: None,
        }
    }

    pub(super) fn note(&mut self, done: Result<(), impl ToString>) {
        let error = done.err().map(|error| error.to_string());
        if let Some(error) = error.as_ref().filter(|_| error != self.last) {
            let more = json!({ "error": error });
            self.driver
                .context
                .log_for_all(LogLevel::Warn, self.event, more);
        }
        self.last = error;
    }
}
