//! Check runs, commit statuses, workflow runs and their jobs.

use super::World;
use super::repository::Repository;

/// A workflow that runs for every new head of a pull request.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub id: u64,
    pub name: String,
    pub jobs: Vec<String>,
}

/// A check run. A job of a workflow is one too, with the same id.
#[derive(Clone, Debug)]
pub struct Check {
    pub id: u64,
    pub sha: String,
    pub name: String,
    /// The status as REST names it: `queued`, `in_progress`, `completed`.
    pub status: String,
    pub conclusion: Option<String>,
    pub started_at: i64,
    pub completed_at: Option<i64>,
    pub run: Option<u64>,
    pub attempt: u32,
    pub log: String,
    /// The step that failed.
    pub failed_step: Option<String>,
}

/// A commit status, the older form of a check.
#[derive(Clone, Debug)]
pub struct Status {
    pub id: u64,
    pub sha: String,
    pub context: String,
    /// `pending`, `success`, `failure` or `error`.
    pub state: String,
    pub description: Option<String>,
    pub at: i64,
    pub creator: String,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub id: u64,
    pub number: u64,
    pub workflow: Workflow,
    pub sha: String,
    pub branch: String,
    pub head_repository: u64,
    pub attempt: u32,
    pub created_at: i64,
    pub updated_at: i64,
}

impl Check {
    /// Whether the check succeeded; a skipped or neutral job counts as success.
    pub fn passes(&self) -> bool {
        let good = ["success", "skipped", "neutral"];
        self.conclusion
            .as_deref()
            .is_some_and(|it| good.contains(&it))
    }
}

impl Repository {
    /// The newest check run of each name for a commit.
    pub fn latest_checks(&self, sha: &str) -> Vec<&Check> {
        let mut found: Vec<&Check> = Vec::new();
        for check in self.checks.iter().filter(|it| it.sha == sha) {
            found.retain(|it| it.name != check.name || it.run.is_some() != check.run.is_some());
            found.push(check);
        }
        found
    }

    /// The newest status of each context for a commit.
    pub fn latest_statuses(&self, sha: &str) -> Vec<&Status> {
        let mut found: Vec<&Status> = Vec::new();
        for status in self.statuses.iter().filter(|it| it.sha == sha) {
            found.retain(|it| it.context != status.context);
            found.push(status);
        }
        found
    }

    /// The checks and statuses of a commit as one of GraphQL's states; `None` when there are none.
    pub fn rollup(&self, sha: &str) -> Option<&'static str> {
        let checks = self.latest_checks(sha);
        let statuses = self.latest_statuses(sha);
        if checks.is_empty() && statuses.is_empty() {
            return None;
        }
        let fails = |it: &&Check| it.conclusion.is_some() && !it.passes();
        let bad = ["failure", "error"];
        if checks.iter().any(fails) || statuses.iter().any(|it| bad.contains(&it.state.as_str())) {
            return Some("FAILURE");
        }
        let runs = |it: &&Check| it.conclusion.is_none();
        if checks.iter().any(runs) || statuses.iter().any(|it| it.state == "pending") {
            return Some("PENDING");
        }
        Some("SUCCESS")
    }

    /// Whether a required check of that name has succeeded; `None` if it is missing or has not
    /// ended yet.
    pub fn required_result(&self, sha: &str, name: &str) -> Option<bool> {
        if let Some(check) = self.latest_checks(sha).iter().find(|it| it.name == name) {
            return check.conclusion.as_ref().map(|_| check.passes());
        }
        let statuses = self.latest_statuses(sha);
        let status = statuses.iter().find(|it| it.context == name)?;
        match status.state.as_str() {
            "success" => Some(true),
            "failure" | "error" => Some(false),
            _ => None,
        }
    }

    pub fn jobs(&self, run: &Run) -> Vec<&Check> {
        let mut found: Vec<&Check> = Vec::new();
        for job in self.checks.iter().filter(|it| it.run == Some(run.id)) {
            found.retain(|it| it.name != job.name);
            found.push(job);
        }
        found
    }

    /// The status and conclusion of a run, which follow from those of its jobs.
    pub fn run_state(&self, run: &Run) -> (&'static str, Option<&'static str>) {
        let jobs = self.jobs(run);
        if jobs.iter().any(|it| it.conclusion.is_none()) {
            let started = jobs.iter().any(|it| it.status != "queued");
            return (if started { "in_progress" } else { "queued" }, None);
        }
        let failed = jobs.iter().any(|it| !it.passes());
        (
            "completed",
            Some(if failed { "failure" } else { "success" }),
        )
    }
}

impl World {
    /// Starts the workflows for the head of a pull request. While it conflicts there is no merge
    /// commit to run them on, and so nothing starts.
    pub fn start_ci(&mut self, repository: u64, number: u64) {
        let Some(found) = self.repository_by_id(repository) else {
            return;
        };
        let Some(pull) = found.issue(number).and_then(|it| it.pull.clone()) else {
            return;
        };
        if !found.pushes_start_ci || found.workflows.is_empty() {
            return;
        }
        if super::merge::merged_tree(&found.path, &pull.base_sha, &pull.head_sha).is_none() {
            return;
        }
        for workflow in found.workflows.clone() {
            let (id, now) = (self.new_id(), self.now());
            let jobs: Vec<Check> = workflow
                .jobs
                .iter()
                .map(|name| Check {
                    run: Some(id),
                    ..queued(self.new_id(), &pull.head_sha, name, now)
                })
                .collect();
            let Some(found) = self.repository_mut(repository) else {
                return;
            };
            found.checks.extend(jobs);
            found.runs.push(Run {
                id,
                number: found.runs.len() as u64 + 1,
                workflow,
                sha: pull.head_sha.clone(),
                branch: pull.head_ref.clone(),
                head_repository: pull.head_repository,
                attempt: 1,
                created_at: now,
                updated_at: now,
            });
        }
    }

    /// Starts the failed jobs of a run again; `false` when none has failed.
    pub fn rerun_failed(&mut self, repository: u64, run: u64) -> bool {
        let now = self.now();
        let Some(found) = self.repository_by_id(repository) else {
            return false;
        };
        let Some(run) = found.runs.iter().find(|it| it.id == run) else {
            return false;
        };
        let failed = |it: &&&Check| it.conclusion.is_some() && !it.passes();
        let jobs: Vec<Check> = found
            .jobs(run)
            .iter()
            .filter(failed)
            .map(|it| (*it).clone())
            .collect();
        let run = run.id;
        if jobs.is_empty() || found.run_state_of(run).0 != "completed" {
            return false;
        }
        for job in jobs {
            let id = self.new_id();
            let again = Check {
                run: Some(run),
                attempt: job.attempt + 1,
                ..queued(id, &job.sha, &job.name, now)
            };
            if let Some(found) = self.repository_mut(repository) {
                found.checks.push(again);
            }
        }
        let found = self.repository_mut(repository);
        if let Some(run) = found.and_then(|it| it.runs.iter_mut().find(|it| it.id == run)) {
            run.attempt += 1;
            run.updated_at = now;
        }
        true
    }
}

impl Repository {
    fn run_state_of(&self, run: u64) -> (&'static str, Option<&'static str>) {
        let found = self.runs.iter().find(|it| it.id == run);
        found.map_or(("queued", None), |it| self.run_state(it))
    }
}

/// A check run that waits for its start.
pub fn queued(id: u64, sha: &str, name: &str, now: i64) -> Check {
    Check {
        id,
        sha: sha.to_owned(),
        name: name.to_owned(),
        status: "queued".to_owned(),
        conclusion: None,
        started_at: now,
        completed_at: None,
        run: None,
        attempt: 1,
        log: String::new(),
        failed_step: None,
    }
}
