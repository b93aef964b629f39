//! What the runs of a job came to.

use orange_config::{Job, clock};
use orange_effects::process::{Liveness, ProcessIdentity};
use orange_engine::attention::{Need, need};
use orange_engine::job::JobState;
use orange_engine::language::load;
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;
use orange_store::{JobProgress, JobRun, JobRunState, Store};
use serde::Serialize;

use crate::DriverError;
use crate::request::Requests;

/// How many runs are considered.
const RUNS: u32 = 50;

/// How soon another process is started for a command whose process has not begun, in seconds.
const RESTART_AFTER: u64 = 60;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobRunOutcome {
    /// Its task or command is at work.
    Active,
    /// Its task waits for the user.
    Waiting,
    Succeeded,
    Failed,
    /// Its task was cancelled or deleted.
    Cancelled,
}

impl Requests {
    pub(super) fn job_state(
        &self,
        store: &Store,
        job: &Job,
        progress: &JobProgress,
    ) -> Result<JobState, DriverError> {
        let mut state = JobState {
            reached: progress.reached,
            active: Vec::new(),
            is_command_running: false,
            failures: 0,
        };
        let mut is_failing = true;
        for run in store.job_runs(&job.name, RUNS)? {
            let counts = progress.resumed.is_none_or(|it| run.instant >= it);
            match outcome(store, &run)? {
                JobRunOutcome::Active => match run.task {
                    Some(task) => state.active.insert(0, task),
                    None => state.is_command_running = true,
                },
                JobRunOutcome::Failed if is_failing && counts => state.failures += 1,
                JobRunOutcome::Succeeded => is_failing = false,
                JobRunOutcome::Failed | JobRunOutcome::Waiting | JobRunOutcome::Cancelled => {}
            }
        }
        Ok(state)
    }

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

pub(super) fn outcome(store: &Store, run: &JobRun) -> Result<JobRunOutcome, DriverError> {
    Ok(match (run.state, &run.task) {
        (JobRunState::Succeeded, _) => JobRunOutcome::Succeeded,
        (JobRunState::Begun | JobRunState::Running, _) => JobRunOutcome::Active,
        (JobRunState::Task, Some(task)) => task_outcome(store, task)?,
        (JobRunState::Task, None) | (JobRunState::Failed, _) => JobRunOutcome::Failed,
    })
}

fn task_outcome(store: &Store, task: &TaskId) -> Result<JobRunOutcome, DriverError> {
    let Some(stored) = store.load(task)? else {
        return Ok(JobRunOutcome::Cancelled);
    };
    let workflow = load(&stored.workflow_text).workflow;
    let status = &stored.task.status;
    let Some((workflow, state)) = workflow
        .as_ref()
        .and_then(|it| Some((it, it.state(status)?)))
    else {
        return Ok(JobRunOutcome::Waiting);
    };
    Ok(match state.kind {
        Kind::Terminal if workflow.is_cancelled(status) => JobRunOutcome::Cancelled,
        Kind::Terminal => JobRunOutcome::Succeeded,
        Kind::Human => match need(workflow, state) {
            Some(Need::Stuck | Need::Decision) => JobRunOutcome::Failed,
            Some(Need::Question | Need::Review) | None => JobRunOutcome::Waiting,
        },
        _ => JobRunOutcome::Active,
    })
}

/// Whether the process of a command has provably ended.
fn is_gone(run: &JobRun) -> bool {
    let process = run.process.as_deref();
    let process = process.and_then(|it| serde_json::from_str::<ProcessIdentity>(it).ok());
    process.is_some_and(|it| it.liveness() == Liveness::Gone)
}
