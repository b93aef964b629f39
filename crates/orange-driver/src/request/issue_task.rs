//! Builds the request for a task from an issue.

use orange_config::{IssueSettings, Project};
use orange_engine::forge::issue::IssueLink;
use orange_engine::forge::issue_labels::{LabelSettings, read_labels};
use orange_engine::names::HarnessName;

use crate::DriverError;
use crate::forge::issue_file::{describe_issue, summary};
use crate::forge::issues::{IssueFacts, issue_url};
use crate::request::Requests;
use crate::steps::create::{NewIssue, NewTaskRequest};

/// A request for a task for an issue.
#[derive(Clone, Debug)]
pub struct IssueTaskRequest {
    /// The request, completed with the content of the issue.
    pub new: NewTaskRequest,
    /// Why labels were left out, one sentence each.
    pub problems: Vec<String>,
}

impl Requests {
    /// The request, completed with the content of an issue. The user's own command counts as
    /// consent. Values that the request already has are kept.
    pub fn for_issue(
        &self,
        new: &NewTaskRequest,
        number: u64,
    ) -> Result<IssueTaskRequest, DriverError> {
        self.callers.require_user("create a task for an issue")?;
        let harnesses = self.context.harnesses()?;
        let (project, _) = self.steps.project_for_new(new, &harnesses)?;
        let facts = self.read_issue(&project, number)?;
        self.fill_from_issue(new, &project, &facts)
    }

    pub(super) fn read_issue(
        &self,
        project: &Project,
        number: u64,
    ) -> Result<IssueFacts, DriverError> {
        let address = self.require_repository(project)?;
        let facts = self.forge.read_issue(&address, number);
        facts.map_err(|failure| failure.into_issue_error(number))
    }

    pub(super) fn fill_from_issue(
        &self,
        new: &NewTaskRequest,
        project: &Project,
        facts: &IssueFacts,
    ) -> Result<IssueTaskRequest, DriverError> {
        let settings = self.context.settings(Some(project))?.forge.issues;
        let address = self.require_repository(project)?;
        let url = issue_url(&address, facts.issue.number);
        let labels = read_labels(&facts.reading(), settings.permission);
        let mut new = new.clone();
        new.issue = Some(NewIssue {
            link: IssueLink {
                number: facts.issue.number,
                id: facts.issue.id.clone(),
                url: url.clone(),
                revision: facts.issue.revision(),
            },
            text: describe_issue(facts, &url, settings.permission),
        });
        if new.summary.is_empty() {
            new.summary = summary(facts);
        }
        let problems = labels.problems.clone();
        apply(&mut new, labels, &settings);
        Ok(IssueTaskRequest { new, problems })
    }
}

/// Fills the gaps of the request from the labels, then from the settings.
fn apply(new: &mut NewTaskRequest, labels: LabelSettings, settings: &IssueSettings) {
    let agent = labels.agent.map(HarnessName::new);
    // The names of models and efforts belong to the agent that the labels name.
    let is_same_agent = new.harness.is_none() || agent.is_none() || new.harness == agent;
    if is_same_agent {
        let own = &mut new.agent_settings;
        own.model = own.model.take().or(labels.model);
        own.effort = own.effort.take().or(labels.effort);
    }
    new.labels.extend(labels.others);
    new.harness = new.harness.take().or(agent);
    let workflow = labels.workflow.or_else(|| settings.workflow.clone());
    new.workflow = new.workflow.take().or(workflow);
    if new.queueing.priority == 0 {
        new.queueing.priority = labels.priority.unwrap_or_default();
    }
}
