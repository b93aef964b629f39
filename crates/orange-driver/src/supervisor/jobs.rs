//! Follows the jobs on a thread of its own.

use std::fs;
use std::time::{Duration, SystemTime};

use orange_config::clock;
use orange_engine::time::Timestamp;

use super::background_thread::BackgroundThread;
use super::scheduling::FailureLog;
use crate::Driver;

/// How often the jobs are looked at although none is due: a run may have ended.
const RECHECK: Duration = Duration::from_mins(1);

/// Starts what is due, on request.
pub(super) fn start_jobs(driver: Driver) -> Result<BackgroundThread, String> {
    let mut failures = FailureLog::new(driver.clone(), "jobs.failed");
    let mut clock = JobClock::new(driver);
    BackgroundThread::new("jobs", move || failures.note(clock.follow()))
}

/// Decides whether the jobs have to be looked at; most of the time they need not.
struct JobClock {
    driver: Driver,
    /// The file when the jobs were looked at: when it was changed, and its size.
    file: Option<(SystemTime, u64)>,
    due: Timestamp,
}

impl JobClock {
    fn new(driver: Driver) -> JobClock {
        JobClock {
            driver,
            file: None,
            due: Timestamp::default(),
        }
    }

    fn follow(&mut self) -> Result<(), crate::DriverError> {
        let metadata = fs::metadata(self.driver.context.home().jobs()).ok();
        let file = metadata.and_then(|it| Some((it.modified().ok()?, it.len())));
        if file == self.file && clock::now() < self.due {
            return Ok(());
        }
        self.file = file;
        self.due = clock::after(RECHECK);
        let steps = self.driver.with_user_variables().steps;
        let next = self.driver.requests.follow_jobs(&steps)?;
        self.due = next.map_or(self.due, |next| next.min(self.due));
        Ok(())
    }
}
