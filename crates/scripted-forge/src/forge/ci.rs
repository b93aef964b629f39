//! CI as a test drives it: workflows, jobs, checks, statuses.

use super::Forge;
use crate::stop::stop;
use crate::world::World;
use crate::world::check::{Check, Status, Workflow, queued};

impl Forge {
    /// Adds a workflow whose jobs run for every new head of a pull request.
    pub fn workflow(&self, name: &str, workflow: &str, jobs: &[&str]) {
        let id = self.id(name);
        self.change(|world| {
            let workflow = Workflow {
                id: world.new_id(),
                name: workflow.to_owned(),
                jobs: jobs.iter().map(|it| (*it).to_owned()).collect(),
            };
            world
                .repository_mut(id)
                .map(|it| it.workflows.push(workflow))
        });
    }

    /// Ends the newest job of that name on the head of a pull request, with a conclusion in
    /// GitHub's spelling and a log.
    pub fn finish_job(&self, name: &str, number: u64, job: &str, conclusion: &str, log: &str) {
        let sha = self.head(name, number);
        let now = self.now();
        let mut found = false;
        self.configure(name, |it| {
            let mut jobs = it.checks.iter_mut().rev();
            let Some(check) = jobs.find(|it| it.sha == sha && it.name == job && it.run.is_some())
            else {
                return;
            };
            found = true;
            complete(check, conclusion, now);
            log.clone_into(&mut check.log);
            let is_bad = conclusion == "failure";
            check.failed_step = is_bad.then(|| format!("Run {job}"));
            let run = check.run;
            for run in it.runs.iter_mut().filter(|it| Some(it.id) == run) {
                run.updated_at = now;
            }
        });
        if !found {
            stop(&format!("#{number} has no job `{job}` on its head"));
        }
    }

    /// Marks the newest job of that name as running.
    pub fn start_job(&self, name: &str, number: u64, job: &str) {
        let sha = self.head(name, number);
        self.configure(name, |it| {
            let mut jobs = it.checks.iter_mut().rev();
            if let Some(check) = jobs.find(|it| it.sha == sha && it.name == job) {
                "in_progress".clone_into(&mut check.status);
            }
        });
    }

    /// Reports a check run of another app on the head; without a conclusion it is running.
    pub fn check(&self, name: &str, number: u64, check: &str, conclusion: Option<&str>) {
        let (sha, now) = (self.head(name, number), self.now());
        let id = self.change(World::new_id);
        self.configure(name, |it| {
            let mut made: Check = queued(id, &sha, check, now);
            "in_progress".clone_into(&mut made.status);
            if let Some(conclusion) = conclusion {
                complete(&mut made, conclusion, now);
            }
            it.checks.push(made);
        });
    }

    /// Sets a commit status on the head: `pending`, `success`, `failure` or `error`.
    pub fn status(&self, name: &str, number: u64, context: &str, state: &str, by: &str) {
        let (sha, at) = (self.head(name, number), self.now());
        let id = self.change(World::new_id);
        self.configure(name, |it| {
            it.statuses.push(Status {
                id,
                sha,
                context: context.to_owned(),
                state: state.to_owned(),
                description: None,
                at,
                creator: by.to_owned(),
            });
        });
    }

    /// The head commit of a pull request.
    pub fn head(&self, name: &str, number: u64) -> String {
        let pull = self.get(name, number).pull;
        pull.map_or_else(
            || stop(&format!("#{number} is no pull request")),
            |it| it.head_sha,
        )
    }
}

fn complete(check: &mut Check, conclusion: &str, now: i64) {
    "completed".clone_into(&mut check.status);
    check.conclusion = Some(conclusion.to_owned());
    check.completed_at = Some(now);
}
