//! Follows the schedules of jobs: starts what is due.

use std::time::Duration;

use orange_config::{Job, JobTask, JobWork, Jobs, LogLevel, clock};
use orange_engine::input::{Request, RequestKind};
use orange_engine::job::{JobLink, JobStep, next_step};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{JobName, TaskId};
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use orange_store::{JobProgress, JobRunState, Store, StoreError};
use serde_json::json;

use crate::DriverError;
use crate::jobs::state_of;
use crate::request::answer::Answer;
use crate::request::ask::TaskRequest;
use crate::request::issues::request_of;
use crate::request::wait::WaitPolicy;
use crate::request::{Requests, Steps};
use crate::steps::create::{CreateResult, NewTaskRequest};

/// How many steps of one job are taken at once; the rest follows at the next look.
const MAX_STEPS: usize = 200;

/// Further back than this, an instant is never in time.
const SHORTEST_WINDOW: u64 = 60;

impl Requests {
    /// Starts what is due of every job. Returns when the next instant of any job is due. A failure
    /// with one job does not stop the others.
    pub(crate) fn follow_jobs(&self, steps: &Steps) -> Result<Option<Timestamp>, DriverError> {
        let now = clock::now();
        let jobs = Jobs::load(&self.context.home, now)?.jobs;
        let enabled: Vec<Job> = jobs.into_iter().filter(|it| it.is_enabled).collect();
        let names: Vec<JobName> = enabled.iter().map(|it| it.name.clone()).collect();
        if names.is_empty() && !self.context.home.database().exists() {
            return Ok(None);
        }
        let mut store = self.context.store()?;
        // A job that is enabled again begins anew: nothing is made up for.
        store.forget_other_jobs(&names)?;
        let mut result = Ok(());
        let mut has_waiting = false;
        for job in &enabled {
            match self.follow_job(&mut store, job, steps) {
                Ok(is_waiting) => has_waiting |= is_waiting,
                Err(error) => result = Err(error),
            }
        }
        result?;
        if has_waiting {
            return Ok(Some(now));
        }
        let next = enabled.iter().filter_map(|it| it.schedule.next_after(now));
        Ok(next.min())
    }

    /// Starts what is due of a job; returns whether an instant waits for the end of a run.
    fn follow_job(&self, store: &mut Store, job: &Job, steps: &Steps) -> Result<bool, DriverError> {
        self.recover_commands(store, job)?;
        for _ in 0..MAX_STEPS {
            let now = clock::now();
            let mut progress = begin_or_continue(store, job, now)?;
            let state = state_of(store, job, &progress)?;
            let window = job.rules.window.max(SHORTEST_WINDOW) + SHORTEST_WINDOW;
            let window = i64::try_from(window)
                .unwrap_or(i64::MAX)
                .saturating_mul(1000);
            let oldest = Timestamp::from_millis(now.millis().saturating_sub(window));
            let instants = job.schedule.between(progress.reached.max(oldest), now);
            match next_step(&job.rules, &state, &instants, now) {
                JobStep::Nothing | JobStep::Paused { .. } => return Ok(false),
                JobStep::Wait => return Ok(true),
                JobStep::Skip { through, reason } => {
                    let more = json!({ "job": job.name, "through": through, "reason": reason });
                    self.context
                        .log_for_all(LogLevel::Info, "job.skipped", more);
                    progress.reached = through;
                }
                JobStep::Start {
                    instant,
                    after,
                    replaced,
                } => {
                    if !self.cancel_replaced(&replaced)? {
                        return Ok(true);
                    }
                    self.start_job(store, job, instant, after, steps)?;
                    progress.reached = instant;
                }
            }
            store.record_job_progress(&job.name, &progress)?;
        }
        Ok(true)
    }

    /// Starts the work of one instant. A task that cannot be created is a failed run.
    pub(super) fn start_job(
        &self,
        store: &mut Store,
        job: &Job,
        instant: Timestamp,
        after: Option<TaskId>,
        steps: &Steps,
    ) -> Result<(), DriverError> {
        let link = JobLink {
            name: job.name.clone(),
            instant,
        };
        let task = match &job.work {
            JobWork::Task(task) => task,
            JobWork::Command { .. } => {
                if store.begin_job_run(&job.name, instant, JobRunState::Begun, None)? {
                    self.start_job_process(&job.name, instant)?;
                }
                return Ok(());
            }
        };
        let created = self.create_for_job(job, task, link, after, steps);
        let problem = match created {
            Ok(Some(refusal)) => refusal,
            Ok(None) | Err(DriverError::Store(StoreError::JobInstantTaken(_))) => return Ok(()),
            // The instant is not used up by a database that is busy.
            Err(error @ DriverError::Store(_)) => return Err(error),
            Err(error) => error.to_string(),
        };
        store.begin_job_run(&job.name, instant, JobRunState::Failed, Some(&problem))?;
        let more = json!({ "job": job.name, "error": problem });
        self.context.log_for_all(LogLevel::Warn, "job.failed", more);
        Ok(())
    }

    /// Creates the task of an instant; returns why it was refused.
    fn create_for_job(
        &self,
        job: &Job,
        task: &JobTask,
        link: JobLink,
        after: Option<TaskId>,
        steps: &Steps,
    ) -> Result<Option<String>, DriverError> {
        let mut new = NewTaskRequest {
            summary: task.summary.clone(),
            context: task.context.clone(),
            workflow: task.workflow.clone(),
            harness: task.harness.clone(),
            agent_settings: task.agent_settings.clone(),
            job: Some(link),
            ..request_of(&job.project)
        };
        new.queueing.priority = task.priority;
        new.queueing.after.extend(after);
        let result = steps.create(&new)?;
        match result.created {
            // A process that dies here has created the task: the scheduler starts it.
            CreateResult::Recorded(recorded) => self
                .context
                .leave_to_performer(&result.store, &recorded.task)
                .map(|()| None),
            CreateResult::Refused(refusal) => Ok(Some(refusal.to_string())),
        }
    }

    /// Cancels the tasks of earlier instants; returns whether all of them are cancelled.
    fn cancel_replaced(&self, tasks: &[TaskId]) -> Result<bool, DriverError> {
        let mut are_cancelled = true;
        for task in tasks {
            let mut request = Request::new(Role::Human, RequestKind::Verb(Verb::Cancel));
            request.is_confirmed = true;
            let answer = self.ask(&TaskRequest {
                task: task.clone(),
                request,
                waiting: WaitPolicy::Detached(Duration::ZERO),
            })?;
            are_cancelled &= !matches!(answer, Answer::Refused(_));
        }
        Ok(are_cancelled)
    }
}

/// How far the job was followed. A job that is new, or has another schedule, begins now.
fn begin_or_continue(
    store: &mut Store,
    job: &Job,
    now: Timestamp,
) -> Result<JobProgress, DriverError> {
    let schedule = job.schedule_key();
    let known = store.job_progress(&job.name)?;
    if let Some(known) = known.clone().filter(|it| it.schedule == schedule) {
        return Ok(known);
    }
    let progress = JobProgress {
        schedule,
        reached: now,
        resumed: known.and_then(|it| it.resumed),
    };
    store.record_job_progress(&job.name, &progress)?;
    Ok(progress)
}
