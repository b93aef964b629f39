//! What the user asks about jobs: list, add, enable, run, remove.

use orange_config::{Job, JobProblem, JobWork, Jobs, JobsError, NewJob, clock};
use orange_engine::names::{JobName, ProjectName, TaskId};
use orange_engine::time::Timestamp;
use orange_store::{JobProgress, JobRun, Store, StoreError};
use serde::Serialize;

use crate::DriverError;
use crate::jobs::{JobRunOutcome, find_problem, find_unknown_names, has_failed_too_often, outcome};
use crate::request::Requests;

/// How many instants of the future are listed at most.
const MAX_NEXT: usize = 100;

/// A job, its next instant and its last run.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct JobReport {
    /// Its name.
    pub name: JobName,
    /// When it is due: five fields.
    pub schedule: String,
    /// The time zone; absent for that of this machine.
    pub zone: Option<String>,
    /// The project.
    pub project: ProjectName,
    /// The summary of the task that it creates.
    pub summary: Option<String>,
    /// The shell command that it runs instead.
    pub command: Option<String>,
    /// Whether it runs.
    pub state: JobActivity,
    /// What it names that does not exist: its project, its workflow or its harness.
    pub problem: Option<String>,
    /// When it is due next, if it runs.
    pub next: Option<Timestamp>,
    /// Its latest runs, the newest first.
    pub runs: Vec<JobRunReport>,
}

/// Whether a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobActivity {
    Enabled,
    /// The user disabled it.
    Disabled,
    /// Too many runs failed in a row.
    Paused,
}

/// One run of a job.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct JobRunReport {
    /// The instant of the schedule.
    pub instant: Timestamp,
    /// What it came to.
    pub outcome: JobRunOutcome,
    /// The task that it created.
    pub task: Option<TaskId>,
    /// Why it failed, or the end of the command's output.
    pub detail: Option<String>,
}

/// Every job of the file.
#[derive(Clone, Debug, Default)]
pub struct JobReports {
    pub jobs: Vec<JobReport>,
    /// Those that cannot run because of a mistake.
    pub problems: Vec<JobProblem>,
}

impl Requests {
    /// Every job of the file, with its latest runs.
    pub fn list_jobs(&self, runs: u32) -> Result<JobReports, DriverError> {
        let found = Jobs::load(&self.context.home, clock::now())?;
        let store = match Store::open_read_only(&self.context.home) {
            Err(StoreError::Missing { .. }) => None,
            store => Some(store?),
        };
        let jobs = found.jobs.iter();
        let jobs: Result<Vec<JobReport>, DriverError> = jobs
            .map(|job| self.report_job(store.as_ref(), job, runs))
            .collect();
        Ok(JobReports {
            jobs: jobs?,
            problems: found.problems,
        })
    }

    /// The next instants of a job.
    pub fn next_instants(&self, name: &str, count: usize) -> Result<Vec<Timestamp>, DriverError> {
        let now = clock::now();
        let jobs = Jobs::load(&self.context.home, now)?;
        let schedule = &jobs.require(name)?.schedule;
        let first = schedule.next_after(now);
        let all = std::iter::successors(first, |it| schedule.next_after(*it));
        Ok(all.take(count.min(MAX_NEXT)).collect())
    }

    /// The project of a new job: the named one, that of this directory, or the only one.
    pub fn project_of_job(&self, name: Option<&str>) -> Result<ProjectName, DriverError> {
        let name = name.map(ProjectName::new);
        Ok(self.callers.project_for(name.as_ref())?.name)
    }

    /// Adds a job to the user's file.
    pub fn add_job(&self, new: &NewJob) -> Result<JobReport, DriverError> {
        self.callers.require_user("add a job")?;
        let (workflow, harness) = (new.get("workflow"), new.get("harness"));
        let project = ProjectName::new(new.get("project").unwrap_or_default());
        if let Some(reason) = find_unknown_names(&self.context, &project, workflow, harness) {
            return Err(JobsError::NotAJob(reason).into());
        }
        let job = Jobs::add(&self.context.home, new, clock::now())?;
        self.begin_job(&job)
    }

    /// Removes a job from the user's file; its tasks stay.
    pub fn remove_job(&self, name: &str) -> Result<(), DriverError> {
        self.callers.require_user("remove a job")?;
        Ok(Jobs::remove(&self.context.home, name, clock::now())?)
    }

    pub fn disable_job(&self, name: &str) -> Result<JobReport, DriverError> {
        self.callers.require_user("disable a job")?;
        let job = Jobs::set_enabled(&self.context.home, name, false, clock::now())?;
        self.report_job(Some(&self.context.store()?), &job, 1)
    }

    /// Enables a job, also one that is paused because of failures. Nothing is made up for.
    pub fn enable_job(&self, name: &str) -> Result<JobReport, DriverError> {
        self.callers.require_user("enable a job")?;
        let job = Jobs::set_enabled(&self.context.home, name, true, clock::now())?;
        self.begin_job(&job)
    }

    /// Runs a job now, whatever its schedule says, and also if it is disabled.
    pub fn run_job(&self, name: &str) -> Result<JobReport, DriverError> {
        self.callers.require_user("run a job")?;
        let now = clock::now();
        let jobs = Jobs::load(&self.context.home, now)?;
        let job = jobs.require(name)?;
        let mut store = self.context.store()?;
        self.start_job(&mut store, job, now, None, &self.steps)?;
        self.report_job(Some(&store), job, 1)
    }

    /// Instants before now are decided, and failures before now do not count.
    fn begin_job(&self, job: &Job) -> Result<JobReport, DriverError> {
        let now = clock::now();
        let mut store = self.context.store()?;
        let progress = JobProgress {
            schedule: job.schedule_key(),
            reached: now,
            resumed: Some(now),
        };
        store.record_job_progress(&job.name, &progress)?;
        self.report_job(Some(&store), job, 1)
    }

    fn report_job(
        &self,
        store: Option<&Store>,
        job: &Job,
        count: u32,
    ) -> Result<JobReport, DriverError> {
        let mut is_paused = false;
        let mut runs = Vec::new();
        if let Some(store) = store {
            is_paused = has_failed_too_often(store, job)?;
            for run in store.job_runs(&job.name, count)? {
                runs.push(report_run(store, run)?);
            }
        }
        let activity = match (job.is_enabled, is_paused) {
            (false, _) => JobActivity::Disabled,
            (true, true) => JobActivity::Paused,
            (true, false) => JobActivity::Enabled,
        };
        let (summary, command) = match &job.work {
            JobWork::Task(task) => (Some(task.summary.clone()), None),
            JobWork::Command { command, .. } => (None, Some(command.clone())),
        };
        let next = job.schedule.next_after(clock::now());
        Ok(JobReport {
            name: job.name.clone(),
            schedule: job.schedule.text().to_owned(),
            zone: job.schedule.zone_name().map(str::to_owned),
            project: job.project.clone(),
            summary,
            command,
            state: activity,
            problem: find_problem(&self.context, job),
            next: next.filter(|_| activity == JobActivity::Enabled),
            runs,
        })
    }
}

fn report_run(store: &Store, run: JobRun) -> Result<JobRunReport, DriverError> {
    Ok(JobRunReport {
        outcome: outcome(store, &run)?,
        instant: run.instant,
        task: run.task,
        detail: run.detail,
    })
}
