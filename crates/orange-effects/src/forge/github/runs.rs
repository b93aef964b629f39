//! GitHub Actions: runs, jobs, failed steps, logs and reruns.

use orange_engine::names::CommitId;
use serde::Deserialize;
use ureq::http::Method;

use super::wire::{check_outcome, list, or_default, whole};
use super::{List, MAX_PAGES, PER_PAGE, Repository};
use crate::forge::client::{LogTail, encode};
use crate::forge::error::ForgeError;
use orange_engine::forge::checks::CheckOutcome;

/// A run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRun {
    pub id: u64,
    pub name: String,
    pub commit: CommitId,
    pub outcome: CheckOutcome,
    /// Counts from 1; more means that it was run again.
    pub attempt: u64,
}

/// A job of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: u64,
    pub name: String,
    pub outcome: CheckOutcome,
    /// The steps that failed, in order.
    pub failed_steps: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct RunsPage {
    workflow_runs: Vec<RunAnswer>,
}

#[derive(Deserialize)]
pub(super) struct RunAnswer {
    id: u64,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    head_sha: CommitId,
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    run_attempt: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct JobsPage {
    jobs: Vec<JobAnswer>,
}

#[derive(Deserialize)]
pub(super) struct JobAnswer {
    id: u64,
    name: String,
    status: String,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    steps: Vec<StepAnswer>,
}

#[derive(Deserialize)]
struct StepAnswer {
    name: String,
    status: String,
    #[serde(default)]
    conclusion: Option<String>,
}

impl RunAnswer {
    pub(super) fn into_facts(self) -> WorkflowRun {
        WorkflowRun {
            id: self.id,
            name: self.name,
            commit: self.head_sha,
            outcome: check_outcome(&self.status, self.conclusion.as_deref()),
            attempt: self.run_attempt.unwrap_or(1),
        }
    }
}

impl JobAnswer {
    pub(super) fn into_facts(self) -> Job {
        let is_failed = |it: &StepAnswer| {
            let outcome = check_outcome(&it.status, it.conclusion.as_deref());
            outcome == CheckOutcome::Failed
        };
        let failed = self.steps.into_iter().filter(is_failed);
        Job {
            id: self.id,
            name: self.name,
            outcome: check_outcome(&self.status, self.conclusion.as_deref()),
            failed_steps: failed.map(|it| it.name).collect(),
        }
    }
}

impl RunsPage {
    pub(super) fn into_runs(self) -> Vec<WorkflowRun> {
        let runs = self.workflow_runs.into_iter();
        runs.map(RunAnswer::into_facts).collect()
    }
}

impl JobsPage {
    pub(super) fn into_jobs(self) -> Vec<Job> {
        let jobs = self.jobs.into_iter();
        jobs.map(JobAnswer::into_facts).collect()
    }
}

impl Repository<'_> {
    /// The runs of a commit; runs of other commits in the answer are left out.
    pub fn fetch_runs(&mut self, commit: &CommitId) -> Result<List<WorkflowRun>, ForgeError> {
        let head = encode(commit.as_str());
        let path = self.path(&format!(
            "/actions/runs?head_sha={head}&per_page={PER_PAGE}"
        ));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        let mut runs = whole(list(pages, RunsPage::into_runs, |it| it));
        runs.items.retain(|it| it.commit == *commit);
        Ok(runs)
    }

    /// The jobs of the last attempt of a run.
    pub fn fetch_jobs(&mut self, run: u64) -> Result<List<Job>, ForgeError> {
        let path = self.path(&format!(
            "/actions/runs/{run}/jobs?filter=latest&per_page={PER_PAGE}"
        ));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        Ok(whole(list(pages, JobsPage::into_jobs, |it| it)))
    }

    /// The end of the log of a job.
    pub fn fetch_job_log(&mut self, job: u64) -> Result<LogTail, ForgeError> {
        let path = self.path(&format!("/actions/jobs/{job}/logs"));
        self.client.fetch_log(&path)
    }

    /// Runs the failed jobs of a run again. If it was done, the run's `attempt` is higher than
    /// before.
    pub fn rerun_failed_jobs(&mut self, run: u64) -> Result<(), ForgeError> {
        let path = self.path(&format!("/actions/runs/{run}/rerun-failed-jobs"));
        self.client.write_silent(Method::POST, &path, None::<&()>)
    }
}
