//! Reads which issues of a project changed, and creates tasks.

use orange_config::{LogLevel, Project};
use orange_effects::forge::client::Conditional;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::forge::issue::Issue;
use orange_engine::names::{ProjectName, TaskId};
use orange_store::{IssueCursor, Store, StoreError, StoredIssue};
use serde_json::json;

use super::issues::{IssueOutcome, IssueVerdict, has_label, record_issue_verdict, request_of};
use crate::DriverError;
use crate::forge::issues::IssueFacts;
use crate::request::Requests;
use crate::steps::Steps;
use crate::steps::create::CreateResult;

/// How many pages of changes one sync reads at most; the next one continues.
const MAX_PAGES: usize = 100;

impl Requests {
    /// Reads which issues of a project changed, and creates a task for each issue that has consent;
    /// returns the tasks. With `retries`, also tries again the issues that could not be judged, or
    /// whose task could not be created. `steps` creates the tasks, with the user's latest
    /// variables.
    pub(crate) fn sync_issues(
        &self,
        project: &Project,
        retries: bool,
        steps: &Steps,
    ) -> Result<Vec<TaskId>, DriverError> {
        let settings = self.context.settings(Some(project))?.forge.issues;
        let (Some(label), Some(address)) = (settings.label, self.forge.repository(project)?) else {
            return Ok(Vec::new());
        };
        let mut store = self.context.store()?;
        self.read_changes(&mut store, project, &address)?;
        let mut created = Vec::new();
        let mut result = Ok(());
        for issue in store.issues(&project.name)? {
            let is_approved = issue.approved.as_ref() == Some(&issue.revision);
            let is_candidate = issue.is_open && (is_approved || has_label(&issue, &label));
            if !is_candidate || !needs_judging(&store, &project.name, &issue, retries)? {
                continue;
            }
            // One issue that cannot be read does not keep the others waiting.
            match self.consider(&mut store, project, issue.number, steps) {
                Ok(task) => created.extend(task),
                Err(error) => result = Err(error),
            }
        }
        result.map(|()| created)
    }

    /// Records the issues that changed, and moves the cursor to the last change that was read. If
    /// nothing changed, writes nothing and uses no quota.
    pub(super) fn read_changes(
        &self,
        store: &mut Store,
        project: &Project,
        address: &RepositoryAddress,
    ) -> Result<(), DriverError> {
        let repository = address.to_string();
        let mut pages = 1;
        for _ in 0..MAX_PAGES {
            let cursor = store.issue_cursor(&project.name)?;
            let cursor = cursor.filter(|it| it.repository == repository);
            let since = cursor.as_ref().and_then(|it| it.since);
            let etag = cursor.and_then(|it| it.etag);
            let page = self
                .forge
                .read_issue_pages(address, since, etag.as_deref(), pages)
                .map_err(|failure| failure.into_issues_error(&project.name))?;
            let Conditional::Changed(page) = page else {
                return Ok(());
            };
            let last = page.items.iter().map(|it| it.updated).max();
            let reached = last.max(since);
            // An `ETag` belongs to one query, so it cannot be used once the cursor has moved.
            let is_complete = page.is_complete;
            let etag = page.etag.filter(|_| reached == since && is_complete);
            let cursor = IssueCursor {
                repository: repository.clone(),
                since: reached,
                etag,
            };
            let issues = page.items.into_iter().filter(|it| !it.is_pull_request);
            let issues: Vec<Issue> = issues.collect();
            store.record_issues(&project.name, &issues, &cursor)?;
            if reached == since && (is_complete || pages > 1) {
                return Ok(());
            }
            // More issues than fit on one page changed in the same second, so read more pages of
            // this query.
            pages = if reached == since { MAX_PAGES } else { 1 };
        }
        Ok(())
    }

    /// Judges one issue, and creates a task if there is consent.
    fn consider(
        &self,
        store: &mut Store,
        project: &Project,
        number: u64,
        steps: &Steps,
    ) -> Result<Option<TaskId>, DriverError> {
        let facts = self.read_issue(project, number)?;
        let mut verdict = self.judge_issue(store, project, &facts)?;
        let mut created = None;
        if verdict.outcome == IssueOutcome::Consent {
            match self.create_for_issue(project, &facts, steps) {
                Ok(task) => {
                    verdict = started(&task);
                    created = Some(task);
                }
                Err(DriverError::Store(StoreError::IssueTaken { task, .. })) => {
                    verdict = started(&task);
                }
                Err(error) => {
                    verdict.outcome = IssueOutcome::Failed;
                    verdict.reason = error.to_string();
                }
            }
        }
        let is_new = record_issue_verdict(store, project, &facts.issue, &verdict)?;
        if is_new && verdict.outcome != IssueOutcome::Started {
            let more = json!({
                "project": project.name,
                "issue": number,
                "outcome": verdict.outcome,
                "reason": verdict.reason,
            });
            self.context
                .log_for_all(LogLevel::Info, "issue.judged", more);
        }
        Ok(created)
    }

    fn create_for_issue(
        &self,
        project: &Project,
        facts: &IssueFacts,
        steps: &Steps,
    ) -> Result<TaskId, DriverError> {
        let request = self.fill_from_issue(&request_of(&project.name), project, facts)?;
        let result = steps.create(&request.new)?;
        let recorded = match result.created {
            CreateResult::Recorded(recorded) => recorded,
            CreateResult::Refused(refusal) => {
                let number = facts.issue.number;
                let reason = refusal.to_string();
                return Err(DriverError::IssueUnusable { number, reason });
            }
        };
        for problem in &request.problems {
            let more = json!({ "problem": problem });
            self.context
                .log(LogLevel::Warn, &recorded.task, "issue.label", more);
        }
        // If this process dies here, the task exists already, and the scheduler starts it.
        self.context
            .leave_to_performer(&result.store, &recorded.task)?;
        Ok(recorded.task)
    }
}

/// Whether an issue has to be judged: it is new or has changed; it could not be judged before; or
/// its tasks were for an earlier text and have all ended.
fn needs_judging(
    store: &Store,
    project: &ProjectName,
    issue: &StoredIssue,
    retries: bool,
) -> Result<bool, DriverError> {
    let verdict = issue.verdict.as_deref();
    let verdict = verdict.and_then(|it| serde_json::from_str::<IssueVerdict>(it).ok());
    match verdict.map(|it| it.outcome) {
        None | Some(IssueOutcome::Consent) => return Ok(true),
        Some(IssueOutcome::Unknown | IssueOutcome::Failed) => return Ok(retries),
        Some(IssueOutcome::Refused) => return Ok(false),
        Some(IssueOutcome::Started) => {}
    }
    for earlier in store.tasks_of_issue(project, &issue.id)? {
        if earlier.revision == issue.revision || !store.require(&earlier.task)?.has_ended() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn started(task: &TaskId) -> IssueVerdict {
    IssueVerdict {
        outcome: IssueOutcome::Started,
        reason: format!("task {task} is for it"),
        task: Some(task.clone()),
    }
}
