//! Posts the status of a task to its issue.

use std::collections::BTreeSet;

use orange_config::{IssueComment, LogLevel};
use orange_engine::forge::status_comment::{StatusFacts, refusal_notice};
use orange_engine::language::load;
use orange_engine::names::{ProjectName, TaskId};
use orange_store::{PostRecord, Store, TaskFilter};
use serde_json::json;

use crate::DriverError;
use crate::forge::posts::{COMMENT, PostReport, Posting, name_of_post};
use crate::request::Requests;

/// How often posting begins again because the task has changed meanwhile.
const MAX_CHANGES: usize = 5;

/// The result of an attempt to post.
enum PostAttempt {
    /// There is nothing to show, or nothing left to do.
    Unneeded,
    /// The task changed before its status was posted.
    Outdated,
    Made(PostReport),
}

impl Requests {
    /// The tasks with an issue, of one project or of all, including those that have ended.
    pub fn tasks_with_issue(
        &self,
        project: Option<&ProjectName>,
    ) -> Result<Vec<TaskId>, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let filter = TaskFilter {
            project: project.cloned(),
            ..TaskFilter::default()
        };
        let tasks = store.list(&filter)?.tasks.into_iter().map(|it| it.task);
        let tasks = tasks.filter(|it| it.issue.is_some() && !it.is_deleted);
        Ok(tasks.map(|it| it.id).collect())
    }

    /// Makes the issue of a task show the task's status. Returns `None` if there is nothing to
    /// show, or if the task has ended and its last status is posted. Failed posts are retried when
    /// they are due, or now if `is_urgent`.
    pub fn post_status(
        &self,
        id: &TaskId,
        is_urgent: bool,
    ) -> Result<Option<PostReport>, DriverError> {
        // Agents get no token.
        if self.context.is_called_by_agent() {
            return Ok(None);
        }
        for _ in 0..MAX_CHANGES {
            match self.post_current(id, is_urgent)? {
                PostAttempt::Outdated => {}
                PostAttempt::Unneeded => return Ok(None),
                PostAttempt::Made(report) => return Ok(Some(report)),
            }
        }
        // The task keeps changing; its status is posted after its last change.
        Ok(None)
    }

    /// Posts the status that the task has now.
    fn post_current(&self, id: &TaskId, is_urgent: bool) -> Result<PostAttempt, DriverError> {
        let mut store = self.context.store()?;
        let stored = store.require(id)?;
        let task = &stored.task;
        let projects = self.context.projects()?;
        let (Some(issue), Some(workflow)) = (&task.issue, load(&stored.workflow_text).workflow)
        else {
            return Ok(PostAttempt::Unneeded);
        };
        let Ok(project) = projects.require(&task.project) else {
            return Ok(PostAttempt::Unneeded);
        };
        let settings = self.context.settings(Some(project))?.forge.issues;
        let is_off = settings.comment == IssueComment::None && !settings.close;
        let Some(address) = self.forge.repository(project)? else {
            return Ok(PostAttempt::Unneeded);
        };
        if is_off || task.is_deleted {
            return Ok(PostAttempt::Unneeded);
        }
        let records = store.posts(id)?;
        let comment = records.get(COMMENT).and_then(|it| it.version);
        let is_settled = |it: &PostRecord| it.digest.is_some() && it.refused.is_none();
        if stored.has_ended() && comment == Some(task.version) && records.values().all(is_settled) {
            return Ok(PostAttempt::Unneeded);
        }
        let harnesses = self.context.harnesses().ok();
        let mut runs = store.runs(id)?;
        runs.retain(|run| run.ended_at.is_some());
        let usage = self.agents.usage(harnesses.as_ref(), &task.project, &runs);
        let created = store.created_at(id)?.unwrap_or_default();
        let status = StatusFacts {
            task,
            workflow: &workflow,
            created,
            usage: &usage,
            folders: &self.local_folders(&project.path.display().to_string()),
        };
        let status = status.issue_status();
        let posting = Posting {
            task: id,
            address,
            issue,
            status: &status,
            settings,
            created,
            version: task.version,
            is_urgent,
        };
        let Some(report) = self.forge.post(&mut store, &posting)? else {
            return Ok(PostAttempt::Outdated);
        };
        self.report_refusals(&mut store, &posting)?;
        Ok(PostAttempt::Made(report))
    }

    /// The text without the folders of this machine that orange knows.
    pub(crate) fn without_local_folders(&self, text: &str) -> String {
        let projects = self.context.all_projects().unwrap_or_default();
        let mut folders: Vec<String> = Vec::new();
        for project in projects {
            folders.extend(self.local_folders(&project.path.display().to_string()));
        }
        if folders.is_empty() {
            folders = self.local_folders("");
        }
        folders.sort_by_key(|it| std::cmp::Reverse(it.len()));
        let hide = |text: String, folder: &String| text.replace(folder.as_str(), "…");
        folders.iter().fold(text.to_owned(), hide)
    }

    /// The folders whose paths must not be posted, the longest first.
    fn local_folders(&self, project: &str) -> Vec<String> {
        let home = self.context.environment.variable("HOME");
        let mut folders = vec![
            project.to_owned(),
            self.context.home.workspaces().display().to_string(),
            self.context.home.path().display().to_string(),
        ];
        folders.extend(home.map(|it| it.to_string_lossy().into_owned()));
        folders.retain(|it| it.len() > 1);
        folders.sort_by_key(|it| std::cmp::Reverse(it.len()));
        folders
    }

    /// Tells the user once about each refusal. Marks the record as reported only afterwards: if
    /// this process dies in between, the next one reports the refusal.
    fn report_refusals(&self, store: &mut Store, posting: &Posting<'_>) -> Result<(), DriverError> {
        let id = posting.task;
        let records = store.posts(id)?;
        let new = |it: &PostRecord| it.refused.is_some() && !it.is_reported;
        let new = records.into_iter().filter(|(_, it)| new(it));
        let mut reported = BTreeSet::new();
        for (key, record) in new {
            let reason = record.problem.clone().unwrap_or_default();
            // Several posts are often refused for the same reason, which is reported once.
            if reported.insert(reason.clone()) {
                let notice = refusal_notice(posting.issue, name_of_post(&key), &reason);
                self.context.log(
                    LogLevel::Warn,
                    id,
                    "post.refused",
                    json!({ "problem": notice }),
                );
                self.steps.notice(store, id, notice)?;
            }
            let record = PostRecord {
                is_reported: true,
                ..record
            };
            store.record_post(id, &key, &record)?;
        }
        Ok(())
    }
}
