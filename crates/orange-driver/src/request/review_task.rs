//! A task that reviews a pull request of others.

use orange_effects::git::Git;
use orange_effects::private_file;
use orange_engine::forge::agent_settings::configures_agents;
use orange_engine::names::{BranchName, CommitId, ProjectName, Status, TaskId};
use orange_store::{Store, StoreError, TaskFilter};

use crate::DriverError;
use crate::forge::outside_request::mention;
use crate::request::Requests;
use crate::steps::create::NewTaskRequest;

/// How many names are tried for the local branch.
const NAMES: u64 = 9;

/// How many files an error names.
const MAX_FILES: usize = 10;

impl Requests {
    /// Turns the request for a new task into one that reviews this pull request. Fetches the
    /// commits into a local branch, and writes the pull request's text into a file for the agent.
    ///
    /// The call can safely be repeated: a call that was killed leaves a branch at the same commit,
    /// and the same file.
    pub fn for_pull_request(
        &self,
        new: &NewTaskRequest,
        number: u64,
        trusts_settings: bool,
    ) -> Result<NewTaskRequest, DriverError> {
        if trusts_settings {
            self.callers.require_user("trust a pull request")?;
        }
        let project = self.callers.project_for(new.project.as_ref())?;
        let Some(address) = self.forge.repository(&project)? else {
            return Err(DriverError::NoForge {
                project: project.name,
            });
        };
        if let Some(task) = self.task_of_pull_request(&project.name, number)? {
            return Err(DriverError::PullRequestTaken { number, task });
        }
        let unusable = |reason: String| DriverError::PullRequestUnusable { number, reason };
        let settings = self.context.settings(Some(&project))?;
        let workflow = new.workflow.clone().unwrap_or(settings.workflow);
        let status = match &new.status {
            Some(status) => status.clone(),
            None => self.review_entry(&project.name, &workflow, number)?,
        };
        let request = self.forge.outside_request(&address, number);
        let request = request.map_err(|failure| unusable(failure.to_string()))?;
        let git = self.workspaces.open_repository(&project)?;
        let base = git.fetch_tip(&request.base)?;
        let base = base.ok_or_else(|| {
            let base = &request.base;
            unusable(format!("the remote has no branch `{base}`, its base"))
        })?;
        let head = git.fetch_pull_request(number)?;
        if !trusts_settings {
            let changed = git.branch_paths(&base, &head)?.into_iter();
            let files: Vec<String> = changed.filter(|it| configures_agents(it)).collect();
            if !files.is_empty() {
                let files = files.into_iter().take(MAX_FILES).collect();
                return Err(DriverError::PullRequestSettings { number, files });
            }
        }
        let branch = local_branch(&git, number, &head)?;
        let branch = branch.ok_or_else(|| {
            unusable(format!(
                "the branches `pr-{number}` to `pr-{number}-{NAMES}` exist at other commits"
            ))
        })?;
        let short: String = head.as_str().chars().take(12).collect();
        let folder = self
            .context
            .home
            .pull_requests()
            .join(project.name.as_str());
        let path = folder.join(format!("{number}-{short}.md"));
        let written = private_file::write(&path, request.text.as_bytes());
        written.map_err(|error| unusable(error.to_string()))?;
        let mention = mention(&request, &path.display().to_string());
        let context = new.context.as_ref().map(|it| format!("{it}\n\n{mention}"));
        Ok(NewTaskRequest {
            project: Some(project.name),
            summary: request.summary,
            context: Some(context.unwrap_or(mention)),
            branch: Some(branch),
            workflow: Some(workflow),
            status: Some(status),
            pull_request: Some(request.link),
            ..new.clone()
        })
    }

    /// The unfinished task of a pull request, if there is one.
    fn task_of_pull_request(
        &self,
        project: &ProjectName,
        number: u64,
    ) -> Result<Option<TaskId>, DriverError> {
        let store = match Store::open_read_only(&self.context.home) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            store => store?,
        };
        let filter = TaskFilter {
            project: Some(project.clone()),
            ..TaskFilter::default()
        };
        for listed in store.list(&filter)?.tasks {
            let link = listed.task.pull_request.as_ref();
            if link.is_some_and(|it| it.number == number)
                && !store.require(&listed.task.id)?.has_ended()
            {
                return Ok(Some(listed.task.id));
            }
        }
        Ok(None)
    }

    /// The status in which this workflow begins a task with a review by an agent.
    fn review_entry(
        &self,
        project: &ProjectName,
        workflow: &str,
        number: u64,
    ) -> Result<Status, DriverError> {
        let (found, _) = self.context.safe_workflow(Some(project), workflow)?;
        if let Some(status) = found.review_entry() {
            return Ok(status.clone());
        }
        let names = self.context.catalog(Some(project))?.names().into_iter();
        let names = names.filter(|name| {
            let other = self.context.safe_workflow(Some(project), name);
            other.is_ok_and(|(other, _)| other.review_entry().is_some())
        });
        Err(DriverError::NoReviewEntry {
            number,
            workflow: workflow.to_owned(),
            names: names.collect(),
        })
    }
}

/// A local branch at this commit; creates it if needed. `None` if all names are in use at other
/// commits.
fn local_branch(
    git: &Git,
    number: u64,
    head: &CommitId,
) -> Result<Option<BranchName>, DriverError> {
    for attempt in 1..=NAMES {
        let name = match attempt {
            1 => format!("pr-{number}"),
            attempt => format!("pr-{number}-{attempt}"),
        };
        let branch = BranchName::new(name);
        if git.create_branch_at(&branch, head)? {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}
