//! How far each job was followed, and its runs.
//!
//! A run is written in the transaction that creates its task, or before its command starts:
//! however many processes follow a job, an instant has one run.

use orange_engine::Task;
use orange_engine::names::{JobName, TaskId};
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// How many runs without a task are kept of each job.
const KEPT_COMMANDS: u32 = 100;

/// How far a job's schedule was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// The schedule that was followed.
    pub schedule: String,
    /// Every instant up to this one is decided.
    pub reached: Timestamp,
    /// Failures before this instant do not count.
    pub resumed: Option<Timestamp>,
}

/// One run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRun {
    pub instant: Timestamp,
    pub state: JobRunState,
    pub task: Option<TaskId>,
    /// The process that runs the command, as JSON.
    pub process: Option<String>,
    /// Why it failed, or the end of the command's output.
    pub detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRunState {
    /// The task tells.
    Task,
    /// The command is to be started.
    Begun,
    /// A process has started the command.
    Running,
    Succeeded,
    Failed,
}

impl JobRunState {
    fn as_str(self) -> &'static str {
        match self {
            JobRunState::Task => "task",
            JobRunState::Begun => "begun",
            JobRunState::Running => "running",
            JobRunState::Succeeded => "succeeded",
            JobRunState::Failed => "failed",
        }
    }

    fn from_text(text: &str) -> JobRunState {
        match text {
            "task" => JobRunState::Task,
            "begun" => JobRunState::Begun,
            "running" => JobRunState::Running,
            "succeeded" => JobRunState::Succeeded,
            _ => JobRunState::Failed,
        }
    }
}

impl Store {
    /// How far a job was followed; `None` if it was never seen.
    pub fn job_progress(&self, job: &JobName) -> Result<Option<JobProgress>, StoreError> {
        let sql = "SELECT schedule, reached, resumed,
                       (SELECT max(instant) FROM job_runs WHERE job = ?1)
                   FROM jobs WHERE name = ?1";
        let progress = self.connection.query_row(sql, [job.as_str()], |row| {
            // A process may have been killed after it began a run.
            let reached = instant(row, 1)?.max(instant(row, 3)?);
            Ok(JobProgress {
                schedule: row.get(0)?,
                reached: reached.unwrap_or_default(),
                resumed: instant(row, 2)?,
            })
        });
        progress.optional().map_err(failed("read a job"))
    }

    /// Records how far a job was followed.
    pub fn record_job_progress(
        &mut self,
        job: &JobName,
        progress: &JobProgress,
    ) -> Result<(), StoreError> {
        let writing = self.write("record a job")?;
        writing
            .transaction
            .execute(
                "INSERT OR REPLACE INTO jobs (name, schedule, reached, resumed)
                 VALUES (?1, ?2, ?3, ?4)",
                params![
                    job.as_str(),
                    progress.schedule,
                    progress.reached.to_string(),
                    progress.resumed.map(|it| it.to_string()),
                ],
            )
            .map_err(failed("record a job"))?;
        writing.commit()?;
        Ok(())
    }

    /// Forgets how far jobs were followed that the user has removed; their runs stay.
    pub fn forget_other_jobs(&mut self, known: &[JobName]) -> Result<(), StoreError> {
        let attempt = || failed("forget a job");
        let names = {
            let mut statement = self
                .connection
                .prepare("SELECT name FROM jobs")
                .map_err(attempt())?;
            let names = statement.query_map([], |row| row.get::<_, String>(0));
            let names: Result<Vec<String>, _> = names.map_err(attempt())?.collect();
            names.map_err(attempt())?
        };
        let is_known = |name: &String| known.iter().any(|it| it.as_str() == name);
        if names.iter().all(is_known) {
            return Ok(());
        }
        let writing = self.write("forget a job")?;
        for name in names.iter().filter(|it| !is_known(it)) {
            writing
                .transaction
                .execute("DELETE FROM jobs WHERE name = ?1", [name])
                .map_err(attempt())?;
        }
        writing.commit()?;
        Ok(())
    }

    /// The latest runs of a job, the newest first.
    pub fn job_runs(&self, job: &JobName, limit: u32) -> Result<Vec<JobRun>, StoreError> {
        let attempt = || failed("read the runs of a job");
        let sql = "SELECT instant, state, task, process, detail FROM job_runs
                   WHERE job = ?1 ORDER BY instant DESC LIMIT ?2";
        let mut statement = self.connection.prepare(sql).map_err(attempt())?;
        let found = statement.query_map(params![job.as_str(), limit], read);
        let found: Result<Vec<_>, _> = found.map_err(attempt())?.collect();
        found.map_err(attempt())
    }

    pub fn job_run(&self, job: &JobName, instant: Timestamp) -> Result<Option<JobRun>, StoreError> {
        let sql = "SELECT instant, state, task, process, detail FROM job_runs
                   WHERE job = ?1 AND instant = ?2";
        let key = params![job.as_str(), instant.to_string()];
        let run = self.connection.query_row(sql, key, read);
        run.optional().map_err(failed("read a run of a job"))
    }

    /// Writes a run without a task: a command that is to be started, or a task that could not be
    /// created. Returns false if the instant has a run.
    pub fn begin_job_run(
        &mut self,
        job: &JobName,
        instant: Timestamp,
        state: JobRunState,
        detail: Option<&str>,
    ) -> Result<bool, StoreError> {
        let attempt = || failed("begin a run of a job");
        let writing = self.write("begin a run of a job")?;
        let connection = &writing.transaction;
        let written = connection
            .execute(
                "INSERT OR IGNORE INTO job_runs (job, instant, state, detail)
                 VALUES (?1, ?2, ?3, ?4)",
                params![job.as_str(), instant.to_string(), state.as_str(), detail],
            )
            .map_err(attempt())?;
        connection
            .execute(
                "DELETE FROM job_runs WHERE job = ?1 AND task IS NULL AND instant < (
                     SELECT min(instant) FROM (
                         SELECT instant FROM job_runs WHERE job = ?1 AND task IS NULL
                         ORDER BY instant DESC LIMIT ?2))",
                params![job.as_str(), KEPT_COMMANDS],
            )
            .map_err(attempt())?;
        writing.commit()?;
        Ok(written == 1)
    }

    /// Lets a process start the command of a run; returns false if another one has.
    pub fn claim_job_run(
        &mut self,
        job: &JobName,
        instant: Timestamp,
        process: &str,
    ) -> Result<bool, StoreError> {
        let writing = self.write("start a command of a job")?;
        let claimed = writing
            .transaction
            .execute(
                "UPDATE job_runs SET state = 'running', process = ?3
                 WHERE job = ?1 AND instant = ?2 AND state = 'begun'",
                params![job.as_str(), instant.to_string(), process],
            )
            .map_err(failed("start a command of a job"))?;
        writing.commit()?;
        Ok(claimed == 1)
    }

    /// Records the end of a command; one that has ended stays as it is.
    pub fn end_job_run(
        &mut self,
        job: &JobName,
        instant: Timestamp,
        state: JobRunState,
        detail: &str,
    ) -> Result<(), StoreError> {
        let writing = self.write("record the end of a command")?;
        writing
            .transaction
            .execute(
                "UPDATE job_runs SET state = ?3, detail = ?4
                 WHERE job = ?1 AND instant = ?2 AND state IN ('begun', 'running')",
                params![job.as_str(), instant.to_string(), state.as_str(), detail],
            )
            .map_err(failed("record the end of a command"))?;
        writing.commit()?;
        Ok(())
    }
}

/// Writes the run of a new task, if it is for a job. Returns false if its instant has a run.
pub(crate) fn insert(connection: &Connection, task: &Task) -> Result<bool, StoreError> {
    let Some(link) = &task.job else {
        return Ok(true);
    };
    let written = connection
        .execute(
            "INSERT OR IGNORE INTO job_runs (job, instant, state, task) VALUES (?1, ?2, ?3, ?4)",
            params![
                link.name.as_str(),
                link.instant.to_string(),
                JobRunState::Task.as_str(),
                task.id.as_str(),
            ],
        )
        .map_err(failed("record the job of a task"))?;
    Ok(written == 1)
}

fn read(row: &Row<'_>) -> rusqlite::Result<JobRun> {
    Ok(JobRun {
        instant: instant(row, 0)?.unwrap_or_default(),
        state: JobRunState::from_text(&row.get::<_, String>(1)?),
        task: row.get::<_, Option<String>>(2)?.map(TaskId::new),
        process: row.get(3)?,
        detail: row.get(4)?,
    })
}

fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|it| Timestamp::parse(&it).ok()))
}
