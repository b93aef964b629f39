//! Checks, statuses, workflow runs and jobs as REST shows them.

use serde_json::{Value, json};

use super::render::Render;
use crate::world::check::{Check, Run, Status};
use crate::world::commit::commit_info;
use crate::world::node::node_id;
use crate::world::repository::Repository;
use crate::world::stamp;

impl Render<'_> {
    pub fn check(&self, repository: &Repository, check: &Check) -> Value {
        let url = format!(
            "{}/repos/{}/check-runs/{}",
            self.base,
            repository.full_name(),
            check.id
        );
        let web = Self::job_page(repository, check);
        json!({
            "id": check.id, "node_id": node_id("CR", check.id), "name": check.name,
            "head_sha": check.sha, "external_id": check.id.to_string(), "url": url, "html_url": web,
            "details_url": web, "status": check.status, "conclusion": check.conclusion,
            "started_at": stamp(check.started_at), "completed_at": check.completed_at.map(stamp),
            "output": {
                "title": check.failed_step, "summary": null, "text": null, "annotations_count": 0,
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": check.run.map(|it| json!({ "id": it })), "app": null,
            "pull_requests": [],
        })
    }

    fn job_page(repository: &Repository, check: &Check) -> String {
        let web = format!("https://github.com/{}", repository.full_name());
        match check.run {
            Some(run) => format!("{web}/actions/runs/{run}/job/{}", check.id),
            None => format!("{web}/runs/{}", check.id),
        }
    }

    pub fn status(&self, repository: &Repository, status: &Status) -> Value {
        let url = format!(
            "{}/repos/{}/statuses/{}",
            self.base,
            repository.full_name(),
            status.sha
        );
        json!({
            "id": status.id, "node_id": node_id("SC", status.id), "url": url, "avatar_url": null,
            "state": status.state, "context": status.context, "description": status.description,
            "target_url": null, "created_at": stamp(status.at), "updated_at": stamp(status.at),
        })
    }

    pub fn combined_status(&self, repository: &Repository, sha: &str) -> Value {
        let statuses = repository.latest_statuses(sha);
        let has = |state: &str| statuses.iter().any(|it| it.state == state);
        // Without any status, GitHub's combined state is `pending` too; it does not mean that CI is
        // running.
        let state = match statuses.is_empty() {
            false if has("failure") || has("error") => "failure",
            false if !has("pending") => "success",
            _ => "pending",
        };
        let url = format!(
            "{}/repos/{}/commits/{sha}",
            self.base,
            repository.full_name()
        );
        let shown: Vec<Value> = statuses
            .iter()
            .map(|it| self.status(repository, it))
            .collect();
        json!({
            "state": state, "sha": sha, "total_count": statuses.len(), "statuses": shown,
            "repository": self.repository(repository), "commit_url": url,
            "url": format!("{url}/status"),
        })
    }

    pub fn run(&self, repository: &Repository, run: &Run) -> Value {
        let api = format!("{}/repos/{}", self.base, repository.full_name());
        let url = format!("{api}/actions/runs/{}", run.id);
        let (status, conclusion) = repository.run_state(run);
        let info = commit_info(&repository.path, &run.sha);
        let person = json!({ "name": "Scripted Forge", "email": "forge@example.invalid" });
        let commit = info.as_ref().map(|it| {
            json!({
                "id": it.sha, "tree_id": it.tree, "message": it.subject, "timestamp": stamp(it.at),
                "author": person, "committer": person,
            })
        });
        let head = self
            .world
            .repository_by_id(run.head_repository)
            .unwrap_or(repository);
        json!({
            "id": run.id, "node_id": node_id("WFR", run.id), "name": run.workflow.name,
            "head_branch": run.branch, "head_sha": run.sha, "run_number": run.number,
            "run_attempt": run.attempt, "event": "pull_request", "status": status,
            "display_title": info.map(|it| it.subject).unwrap_or_default(),
            "conclusion": conclusion, "workflow_id": run.workflow.id, "check_suite_id": run.id,
            "path": format!(".github/workflows/{}.yml", run.workflow.name), "url": url,
            "html_url": format!("https://github.com/{}/actions/runs/{}", repository.full_name(), run.id),
            "pull_requests": [], "created_at": stamp(run.created_at),
            "updated_at": stamp(run.updated_at), "run_started_at": stamp(run.updated_at),
            "jobs_url": format!("{url}/jobs"), "logs_url": format!("{url}/logs"),
            "check_suite_url": format!("{api}/check-suites/{}", run.id),
            "artifacts_url": format!("{url}/artifacts"), "cancel_url": format!("{url}/cancel"),
            "rerun_url": format!("{url}/rerun"),
            "workflow_url": format!("{api}/actions/workflows/{}", run.workflow.id),
            "head_commit": commit, "repository": self.repository(repository),
            "head_repository": self.repository(head),
        })
    }

    pub fn job(&self, repository: &Repository, run: &Run, job: &Check) -> Value {
        let api = format!("{}/repos/{}", self.base, repository.full_name());
        let steps: Vec<Value> = job
            .failed_step
            .iter()
            .map(|name| {
                json!({
                    "name": name, "status": job.status, "conclusion": job.conclusion, "number": 1,
                    "started_at": stamp(job.started_at), "completed_at": job.completed_at.map(stamp),
                })
            })
            .collect();
        json!({
            "id": job.id, "node_id": node_id("CR", job.id), "run_id": run.id,
            "run_url": format!("{api}/actions/runs/{}", run.id), "run_attempt": job.attempt,
            "head_sha": job.sha, "workflow_name": run.workflow.name, "head_branch": run.branch,
            "name": job.name, "url": format!("{api}/actions/jobs/{}", job.id),
            "html_url": Self::job_page(repository, job), "status": job.status,
            "conclusion": job.conclusion, "created_at": stamp(job.started_at),
            "started_at": stamp(job.started_at), "completed_at": job.completed_at.map(stamp),
            "check_run_url": format!("{api}/check-runs/{}", job.id), "labels": ["ubuntu-latest"],
            "runner_id": null, "runner_name": null, "runner_group_id": null,
            "runner_group_name": null, "steps": steps,
        })
    }
}
