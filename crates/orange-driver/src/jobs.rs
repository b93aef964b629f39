//! What is known about a job: its mistakes, its runs, its failures.

use orange_config::{Job, JobWork};
use orange_engine::attention::{Need, need};
use orange_engine::job::JobState;
use orange_engine::language::load;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{HarnessName, ProjectName, TaskId};
use orange_store::{JobProgress, JobRun, JobRunState, Store};
use serde::Serialize;

use crate::DriverError;
use crate::context::Context;

/// How many runs are considered.
pub(crate) const RUNS: u32 = 50;

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

/// What the job names that does not exist: its project, its workflow or its harness.
pub(crate) fn find_problem(context: &Context, job: &Job) -> Option<String> {
    let project = context.projects();
    let project = project.and_then(|it| Ok(it.require(&job.project)?.clone()));
    if let Err(error) = project {
        return Some(error.to_string());
    }
    let JobWork::Task(task) = &job.work else {
        return None;
    };
    find_unknown_names(
        context,
        &job.project,
        task.workflow.as_deref(),
        task.harness.as_ref().map(HarnessName::as_str),
    )
}

/// What does not exist of a workflow and a harness.
pub(crate) fn find_unknown_names(
    context: &Context,
    project: &ProjectName,
    workflow: Option<&str>,
    harness: Option<&str>,
) -> Option<String> {
    if let Some(Err(error)) = workflow.map(|it| context.safe_workflow(Some(project), it)) {
        return Some(error.to_string());
    }
    let harness = harness.map(HarnessName::new)?;
    let known = context.harnesses();
    let known = known.and_then(|it| Ok(it.require(&harness).map(drop)?));
    known.err().map(|it| it.to_string())
}

/// Whether so many of the latest runs failed that the job is paused.
pub(crate) fn has_failed_too_often(store: &Store, job: &Job) -> Result<bool, DriverError> {
    let Some(progress) = store.job_progress(&job.name)? else {
        return Ok(false);
    };
    let limit = job.rules.pause_after;
    Ok(limit > 0 && state_of(store, job, &progress)?.failures >= limit)
}

pub(crate) fn state_of(
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

pub(crate) fn outcome(store: &Store, run: &JobRun) -> Result<JobRunOutcome, DriverError> {
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
