//! Judges issues, and records what you decide about them.

use std::collections::BTreeSet;

use orange_config::Project;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::forge::consent::{Consent, ConsentRule, IssueRecord};
use orange_engine::forge::issue::{Issue, is_same_label};
use orange_engine::forge::issue_claim::claim;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::outside_text::{clean_title, reveal};
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::role::Role;
use orange_engine::task::{AgentSettings, Queueing};
use orange_engine::time::Timestamp;
use orange_store::{IssueDecision, Store, StoredIssue};
use serde::{Deserialize, Serialize};

use super::issue_task::IssueTaskRequest;
use crate::DriverError;
use crate::forge::issues::{IssueFacts, issue_url};
use crate::request::Requests;
use crate::steps::create::NewTaskRequest;

/// What was found out about an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IssueVerdict {
    /// Whether it becomes a task.
    pub outcome: IssueOutcome,
    /// Why, in plain words.
    pub reason: String,
    /// The task that was created for it last.
    pub task: Option<TaskId>,
}

/// Whether an issue becomes a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssueOutcome {
    /// Consent was given: `orange serve` creates a task.
    Consent,
    /// It has a task.
    Started,
    /// It does not become a task by itself.
    Refused,
    /// Something could not be read, so nothing happens.
    Unknown,
    /// The task could not be created.
    Failed,
}

/// An issue, with what was found out about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct IssueReport {
    /// Its number.
    pub number: u64,
    /// Its title, on one line.
    pub title: String,
    /// Where to read it.
    pub url: String,
    /// Whether it is open.
    pub is_open: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// When it last changed.
    pub updated: Timestamp,
    /// Whether it becomes a task, and why.
    pub verdict: IssueVerdict,
}

/// An issue as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct IssueText {
    /// The account that opened it; absent if it was deleted.
    pub author: Option<String>,
    /// The title; characters that take no space are written as `\u{…}`.
    pub title: String,
    /// The text, in the same form: also what GitHub does not show.
    pub body: String,
    /// What its labels set that was left out, and why.
    pub label_problems: Vec<String>,
}

impl Requests {
    /// The repository of a project on the forge, or an error.
    pub(super) fn require_repository(
        &self,
        project: &Project,
    ) -> Result<RepositoryAddress, DriverError> {
        let address = self.forge.repository(project)?;
        address.ok_or_else(|| DriverError::NoForge {
            project: project.name.clone(),
        })
    }

    /// Reads an issue now, and says whether it becomes a task.
    pub fn show_issue(
        &self,
        project: Option<&ProjectName>,
        number: u64,
    ) -> Result<(IssueReport, IssueText), DriverError> {
        self.callers.require_user("read issues")?;
        let project = self.callers.project_for(project)?;
        let facts = self.read_issue(&project, number)?;
        let store = self.context.store()?;
        let verdict = self.judge_issue(&store, &project, &facts)?;
        let request = self.fill_from_issue(&request_of(&project.name), &project, &facts)?;
        let text = IssueText {
            author: facts.issue.author.as_ref().map(ToString::to_string),
            title: reveal(&facts.issue.title),
            body: reveal(&facts.issue.body),
            label_problems: request.problems,
        };
        let address = self.require_repository(&project)?;
        Ok((report(&address, &stored(&facts.issue), verdict), text))
    }

    /// The open issues that have the label, a task, or a decision of the user; all open issues if no
    /// label is set. Reads them now, and starts nothing.
    pub fn list_issues(
        &self,
        project: Option<&ProjectName>,
    ) -> Result<Vec<IssueReport>, DriverError> {
        self.callers.require_user("read issues")?;
        let project = self.callers.project_for(project)?;
        let address = self.require_repository(&project)?;
        let mut store = self.context.store()?;
        self.read_changes(&mut store, &project, &address)?;
        let label = self.context.settings(Some(&project))?.forge.issues.label;
        let mut reports = Vec::new();
        for issue in store.issues(&project.name)? {
            let has_task = !store.tasks_of_issue(&project.name, &issue.id)?.is_empty();
            let is_decided = issue.approved.is_some() || issue.ignored.is_some();
            let is_wanted = label.as_ref().is_none_or(|label| has_label(&issue, label));
            if !issue.is_open || !(has_task || is_decided || is_wanted) {
                continue;
            }
            let known = issue.verdict.as_deref();
            let known = known.and_then(|it| serde_json::from_str::<IssueVerdict>(it).ok());
            let verdict = match known.filter(|it| it.outcome != IssueOutcome::Unknown) {
                Some(verdict) => verdict,
                None => self.judge_again(&mut store, &project, issue.number)?,
            };
            reports.push(report(&address, &issue, verdict));
        }
        Ok(reports)
    }

    fn judge_again(
        &self,
        store: &mut Store,
        project: &Project,
        number: u64,
    ) -> Result<IssueVerdict, DriverError> {
        let facts = self.read_issue(project, number)?;
        let verdict = self.judge_issue(store, project, &facts)?;
        record_issue_verdict(store, project, &facts.issue, &verdict)?;
        Ok(verdict)
    }

    /// Records the user's consent to the present text of an issue, and returns the request for its
    /// task.
    pub fn approve_issue(
        &self,
        project: Option<&ProjectName>,
        number: u64,
    ) -> Result<IssueTaskRequest, DriverError> {
        self.callers.require_user("approve an issue")?;
        let project = self.callers.project_for(project)?;
        let facts = self.read_issue(&project, number)?;
        let mut store = self.context.store()?;
        store.decide_issue(&project.name, &facts.issue, IssueDecision::Approved)?;
        let new = NewTaskRequest {
            by: Role::Human,
            ..request_of(&project.name)
        };
        self.fill_from_issue(&new, &project, &facts)
    }

    /// Records that the user does not want a task for the present text of an issue; returns its
    /// title.
    pub fn ignore_issue(
        &self,
        project: Option<&ProjectName>,
        number: u64,
    ) -> Result<String, DriverError> {
        self.callers.require_user("ignore an issue")?;
        let project = self.callers.project_for(project)?;
        let facts = self.read_issue(&project, number)?;
        let mut store = self.context.store()?;
        store.decide_issue(&project.name, &facts.issue, IssueDecision::Ignored)?;
        Ok(clean_title(&facts.issue.title))
    }

    /// Says whether an issue may become a task without a command of the user.
    pub(super) fn judge_issue(
        &self,
        store: &Store,
        project: &Project,
        facts: &IssueFacts,
    ) -> Result<IssueVerdict, DriverError> {
        let issue = &facts.issue;
        let settings = self.context.settings(Some(project))?.forge.issues;
        let tasks = store.tasks_of_issue(&project.name, &issue.id)?;
        let last = tasks.last().map(|it| it.task.clone());
        let verdict = |outcome, reason: String| IssueVerdict {
            outcome,
            reason,
            task: last.clone(),
        };
        if let Some(task) = &last
            && !store.require(task)?.has_ended()
        {
            let reason = format!("task {task} is for it");
            return Ok(verdict(IssueOutcome::Started, reason));
        }
        let known = store.issue(&project.name, issue.number)?;
        let known = known.filter(|it| it.id == issue.id);
        let record = IssueRecord {
            approved: known.as_ref().and_then(|it| it.approved.clone()),
            ignored: known.and_then(|it| it.ignored),
            started: tasks.iter().map(|it| it.revision.clone()).collect(),
        };
        let rule = ConsentRule {
            // Without a label, only the user's own approval is consent.
            label: settings.label.unwrap_or_default(),
            permission: settings.permission,
        };
        let by = match rule.judge(&facts.reading(), &record) {
            Consent::Given { by, .. } => by,
            Consent::Refused(reason) => {
                return Ok(verdict(IssueOutcome::Refused, reason.to_string()));
            }
            Consent::Unknown(reason) => {
                return Ok(verdict(IssueOutcome::Unknown, reason.to_string()));
            }
        };
        let own: BTreeSet<TaskId> = tasks.iter().map(|it| it.task.clone()).collect();
        let claimed = claim(
            &facts.comments,
            facts.are_comments_complete,
            &own,
            &facts.permissions,
            settings.permission,
        );
        Ok(match claimed {
            Knowledge::Known(account) => {
                let reason = format!("another orange, of {account}, has a task for it");
                verdict(IssueOutcome::Refused, reason)
            }
            Knowledge::Unknown => {
                let reason = String::from("whether another orange has a task for it is unknown");
                verdict(IssueOutcome::Unknown, reason)
            }
            Knowledge::None => {
                let reason = by.map_or_else(
                    || String::from("you approved it"),
                    |by| format!("{by} set the label"),
                );
                verdict(IssueOutcome::Consent, reason)
            }
        })
    }
}

/// Records what was found out about an issue; returns whether that was new.
pub(super) fn record_issue_verdict(
    store: &mut Store,
    project: &Project,
    issue: &Issue,
    verdict: &IssueVerdict,
) -> Result<bool, DriverError> {
    let verdict = serde_json::json!(verdict).to_string();
    Ok(store.record_verdict(&project.name, issue, &verdict)?)
}

/// A request by the engine for a new task; it names only the project.
pub(crate) fn request_of(project: &ProjectName) -> NewTaskRequest {
    NewTaskRequest {
        project: Some(project.clone()),
        by: Role::Engine,
        summary: String::new(),
        context: None,
        branch: None,
        workflow: None,
        harness: None,
        review_harness: None,
        status: None,
        agent_settings: AgentSettings::default(),
        labels: Vec::new(),
        queueing: Queueing {
            starts_automatically: true,
            ..Queueing::default()
        },
        issue: None,
        job: None,
        pull_request: None,
    }
}

pub(super) fn has_label(issue: &StoredIssue, label: &str) -> bool {
    let mut labels = issue.labels.iter();
    labels.any(|it| is_same_label(it, label))
}

fn stored(issue: &Issue) -> StoredIssue {
    StoredIssue {
        id: issue.id.clone(),
        number: issue.number,
        title: issue.title.clone(),
        revision: issue.revision(),
        labels: issue.labels.clone(),
        is_open: issue.is_open,
        updated: issue.updated,
        verdict: None,
        approved: None,
        ignored: None,
    }
}

fn report(address: &RepositoryAddress, issue: &StoredIssue, verdict: IssueVerdict) -> IssueReport {
    IssueReport {
        number: issue.number,
        title: clean_title(&issue.title),
        url: issue_url(address, issue.number),
        is_open: issue.is_open,
        labels: issue.labels.iter().map(|it| clean_title(it)).collect(),
        updated: issue.updated,
        verdict,
    }
}
