//! Commands of jobs whose process never began, or is gone.

use orange_config::{Job, clock};
use orange_effects::process::{Liveness, ProcessIdentity};
use orange_store::{JobRun, JobRunState, Store};

use crate::DriverError;
use crate::jobs::RUNS;
use crate::request::Requests;

/// How soon another process is started for a command whose process has not begun, in seconds.
const RESTART_AFTER: u64 = 60;

impl Requests {
    /// Starts a command whose process never began, and ends one whose process is gone.
    pub(super) fn recover_commands(&self, store: &mut Store, job: &Job) -> Result<(), DriverError> {
        let now = clock::now();
        for run in store.job_runs(&job.name, RUNS)? {
            match run.state {
                JobRunState::Begun if now.seconds_since(run.instant) > RESTART_AFTER => {
                    self.start_job_process(&job.name, run.instant)?;
                }
                JobRunState::Running if is_gone(&run) => {
                    let detail = "its process ended without a result; it is not run again";
                    store.end_job_run(&job.name, run.instant, JobRunState::Failed, detail)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether the process of a command has provably ended.
fn is_gone(run: &JobRun) -> bool {
    let process = run.process.as_deref();
    let process = process.and_then(|it| serde_json::from_str::<ProcessIdentity>(it).ok());
    process.is_some_and(|it| it.liveness() == Liveness::Gone)
}
