//! A new task: its text, its workflow, its first step.

use orange_config::clock;
use orange_config::{Harnesses, Project};
use orange_effects::git::require_branch;
use orange_engine::document::{Document, FieldValue, SectionName, demote_headings};
use orange_engine::event::Event;
use orange_engine::forge::issue::IssueLink;
use orange_engine::forge::pull_request::PullRequestLink;
use orange_engine::input::{DecisionContext, Facts, NewTask};
use orange_engine::job::JobLink;
use orange_engine::names::{BranchName, HarnessName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::task::{AgentSettings, Queueing};
use orange_engine::{Decision, Refusal, Workflow, create};
use orange_store::{ChatKey, Creation, Store, StoreError, TaskDirectory};

use super::Steps;
use super::children::resolve_queueing;
use crate::DriverError;
use crate::context::ids;
use crate::forge::issue_file::mention;
use crate::workspaces::repository::require_usable;

/// How many ids of one length are tried before the length grows.
const TRIES: usize = 8;

/// The longest id that is tried.
const LONGEST: usize = 12;

/// A request for a new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTaskRequest {
    /// The project; the one that contains the current directory when absent.
    pub project: Option<ProjectName>,
    /// The role that asks.
    pub by: Role,
    /// The task in one sentence.
    pub summary: String,
    /// Further information.
    pub context: Option<String>,
    /// The branch; one named after the task when absent.
    pub branch: Option<BranchName>,
    /// The workflow; the project's when absent.
    pub workflow: Option<String>,
    /// The worker's harness; the project's when absent.
    pub harness: Option<HarnessName>,
    /// The reviewer's harness; when absent the project's, else the worker's.
    pub review_harness: Option<HarnessName>,
    /// The initial status; when absent, the workflow's first entry that is open to the caller.
    pub status: Option<Status>,
    /// The settings of its agents.
    pub agent_settings: AgentSettings,
    /// Its labels; rules that choose its harness look at them.
    pub labels: Vec<String>,
    /// When its work starts, relative to other tasks.
    pub queueing: Queueing,
    /// The issue that it is for.
    pub issue: Option<NewIssue>,
    /// The job that it is for.
    pub job: Option<JobLink>,
    /// The pull request that it is for.
    pub pull_request: Option<PullRequestLink>,
}

/// The issue that a new task is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIssue {
    pub link: IssueLink,
    /// The issue as the agent reads it.
    pub text: String,
}

/// Everything that a new task needs, found and checked.
pub(super) struct NewTaskPlan {
    pub(super) project: Project,
    /// Whether the project has to be registered first.
    is_new: bool,
    pub(super) workflow: Workflow,
    workflow_text: String,
    harness: HarnessName,
    review_harness: HarnessName,
    pub(super) branch_template: String,
    queueing: Queueing,
}

impl NewTaskPlan {
    /// The task as the engine decides about it.
    pub(super) fn new_task(
        &self,
        id: &TaskId,
        branch: BranchName,
        new: &NewTaskRequest,
    ) -> NewTask {
        NewTask {
            id: id.clone(),
            project: self.project.name.clone(),
            by: new.by.clone(),
            status: new.status.clone(),
            summary: new.summary.clone(),
            branch,
            harness: self.harness.clone(),
            review_harness: self.review_harness.clone(),
            agent_settings: new.agent_settings.clone(),
            routing: routing(new),
            queueing: self.queueing.clone(),
            issue: new.issue.as_ref().map(|it| it.link.clone()),
            job: new.job.clone(),
            pull_request: new.pull_request.clone(),
        }
    }
}

/// The result of creating a task, whose project may have been registered for it.
#[derive(Debug)]
pub(crate) struct NewTaskResult {
    pub(crate) store: Store,
    /// The project, if it was registered for this task; it stays registered after a refusal.
    pub(crate) registered: Option<Project>,
    pub(crate) created: CreateResult,
}

#[derive(Debug)]
pub(crate) enum CreateResult {
    /// The task is recorded; nothing is performed yet.
    Recorded(Box<RecordedTask>),
    Refused(Box<Refusal>),
}

/// A task that was just recorded.
#[derive(Debug)]
pub(crate) struct RecordedTask {
    pub(crate) task: TaskId,
    pub(crate) events: Vec<Event>,
    /// Whether its files could be written.
    pub(crate) copies: Result<(), DriverError>,
}

impl Steps {
    /// Creates a task, and registers the project first if the user is in a new one.
    pub(crate) fn create(&self, new: &NewTaskRequest) -> Result<NewTaskResult, DriverError> {
        self.create_for(new, None)
    }

    /// Like `create`, for a message of a chat; fails if the message was acted on before.
    pub(crate) fn create_for(
        &self,
        new: &NewTaskRequest,
        message: Option<&ChatKey>,
    ) -> Result<NewTaskResult, DriverError> {
        let mut prepared = self.prepare_new_task(new)?;
        let mut store = self.context.store()?;
        prepared.queueing = resolve_queueing(&store, &new.queueing)?;
        let mut registered = None;
        if prepared.is_new {
            let (project, is_new) = self.context.register(prepared.project.clone())?;
            registered = is_new.then_some(project);
        } else {
            self.workspaces.record_remote(&mut prepared.project)?;
        }
        let created = self.create_from_plan(&mut store, new, &prepared, message)?;
        Ok(NewTaskResult {
            store,
            registered,
            created,
        })
    }

    /// Finds what a new task needs, and refuses what cannot work.
    pub(super) fn prepare_new_task(
        &self,
        new: &NewTaskRequest,
    ) -> Result<NewTaskPlan, DriverError> {
        refuse_nul("summary", Some(&new.summary))?;
        refuse_nul("context", new.context.as_ref())?;
        if let Some(branch) = &new.branch {
            require_branch(branch)?;
        }
        let harnesses = self.context.harnesses()?;
        let (project, is_new) = self.project_for_new(new, &harnesses)?;
        if let Some(branch) = &new.branch {
            let git = self.workspaces.open_repository(&project)?;
            require_usable(&project, &git, branch)?;
        }
        let settings = self.context.settings(Some(&project))?;
        let workflow_name = new.workflow.as_ref().unwrap_or(&settings.workflow);
        let (workflow, workflow_text) = self
            .context
            .safe_workflow(Some(&project.name), workflow_name)?;
        let harness = new.harness.clone().or(settings.harness);
        let harness = harness.or_else(|| self.context.first_installed(&harnesses));
        let harness = harness.ok_or_else(|| DriverError::HarnessUnset {
            project: project.name.clone(),
            folder: self.context.home.harnesses(),
        })?;
        let review_harness = new.review_harness.clone();
        let review_harness = review_harness.or(settings.review_harness);
        let review_harness = review_harness.unwrap_or_else(|| harness.clone());
        let worker = harnesses.require(&harness)?;
        let reviewer = harnesses.require(&review_harness)?;
        let agent_settings = [
            (worker, "model", &new.agent_settings.model),
            (worker, "effort", &new.agent_settings.effort),
            (reviewer, "effort", &new.agent_settings.review_effort),
        ];
        for (harness, what, value) in agent_settings {
            if let Some(value) = value {
                harness.require_setting(what, value)?;
            }
        }
        Ok(NewTaskPlan {
            project,
            is_new,
            workflow,
            workflow_text,
            harness,
            review_harness,
            branch_template: settings.branch,
            queueing: Queueing::default(),
        })
    }

    fn create_from_plan(
        &self,
        store: &mut Store,
        new: &NewTaskRequest,
        prepared: &NewTaskPlan,
        message: Option<&ChatKey>,
    ) -> Result<CreateResult, DriverError> {
        self.context
            .variables_for(&[&prepared.harness, &prepared.review_harness])?;
        let template = &prepared.branch_template;
        let mut pattern = self.branch_pattern(&prepared.project, template, new);
        for attempt in 0.. {
            let length = (ids::SHORTEST + attempt / TRIES).min(LONGEST);
            let id = ids::task_id(length)?;
            let directory = TaskDirectory::new(&self.context.home, &prepared.project.name, &id)?;
            let document = first_text(&id, new, &directory)?;
            let context = DecisionContext {
                at: clock::now(),
                fresh: ids::fresh()?,
                document: Some(document.clone()),
                facts: Facts::default(),
            };
            let branch = match &new.branch {
                Some(branch) => branch.clone(),
                None => pattern.branch_of(&id)?,
            };
            let task = prepared.new_task(&id, branch, new);
            let plan = match create(&prepared.workflow, &task, &context) {
                Decision::Plan(plan) => plan,
                Decision::Refusal(refusal) => return Ok(CreateResult::Refused(Box::new(refusal))),
                Decision::Needs(_) => return Err(DriverError::Contended { task: id }),
            };
            let creation = Creation {
                events: &plan.events,
                workflow_text: &prepared.workflow_text,
                document: Some(&document),
                issue_text: new.issue.as_ref().map(|it| it.text.as_str()),
            };
            let created = store.create_for(&creation, message);
            match created {
                Ok(_) => {
                    if let Some(parent) = &prepared.queueing.parent {
                        let result = self.notify_of_children(store, parent);
                        self.log_failure(parent, result.map(|_| ()));
                    }
                    let copies = self.sync_files(store, &id);
                    return Ok(CreateResult::Recorded(Box::new(RecordedTask {
                        task: id,
                        events: plan.events,
                        copies,
                    })));
                }
                Err(StoreError::DuplicateTask { .. }) if length < LONGEST => {}
                // Another task was created from a summary with the same words.
                Err(StoreError::BranchTaken { .. })
                    if new.branch.is_none() && !pattern.is_taken =>
                {
                    pattern.is_taken = true;
                }
                Err(error) => {
                    // The process that created the task on this branch or for this issue may have
                    // been killed before it started a performer.
                    if let StoreError::BranchTaken { task, .. }
                    | StoreError::IssueTaken { task, .. } = &error
                    {
                        self.log_failure(task, self.context.leave_to_performer(store, task));
                    }
                    return Err(error.into());
                }
            }
        }
        Err(DriverError::TaskUnclear)
    }

    /// The project of a new task, and whether it has to be registered first: a user in an
    /// unregistered repository means that repository.
    pub(crate) fn project_for_new(
        &self,
        new: &NewTaskRequest,
        harnesses: &Harnesses,
    ) -> Result<(Project, bool), DriverError> {
        let projects = self.context.projects()?;
        let here = self.context.directory().filter(|_| new.project.is_none());
        if let Some(directory) = here
            && new.by == Role::Human
            && self.callers.project_around(&projects)?.is_none()
            && self.callers.repository_at(directory)?.is_some()
        {
            let project = self
                .workspaces
                .describe_project(directory, None, None, None)?;
            let mut harness = new.harness.clone();
            // A project without its own harness uses the one in config.toml, even after that
            // changes.
            if harness.is_none() && self.context.settings(None)?.harness.is_none() {
                harness = self.context.first_installed(harnesses);
            }
            return Ok((Project { harness, ..project }, true));
        }
        Ok((self.callers.project_for(new.project.as_ref())?, false))
    }
}

/// A harness, or a model of the default one, that was chosen for the task stays.
fn routing(new: &NewTaskRequest) -> Routing {
    let is_chosen = new.harness.is_some() || new.agent_settings.model.is_some();
    let routing = if is_chosen {
        Routing::chosen()
    } else {
        Routing::default()
    };
    Routing {
        labels: new.labels.clone(),
        ..routing
    }
}

/// Refuses a text with a NUL, which the arguments of a program and the files for agents cannot
/// hold.
pub(crate) fn refuse_nul(what: &'static str, text: Option<&String>) -> Result<(), DriverError> {
    if text.is_some_and(|text| text.contains('\0')) {
        return Err(DriverError::HasNul(what));
    }
    Ok(())
}

/// The first text of TASK.md. The keys that the engine maintains are added when the file is first
/// written.
fn first_text(
    id: &TaskId,
    new: &NewTaskRequest,
    directory: &TaskDirectory,
) -> Result<Document, DriverError> {
    let id = FieldValue::Text(id.to_string());
    let mut fields = vec![("id", id)];
    let parent = new.queueing.parent.as_ref();
    fields.extend(parent.map(|parent| ("parent", FieldValue::Text(parent.to_string()))));
    let document = Document::parse(b"")?.with_fields(&fields);
    let mentioned = new.issue.as_ref().map(|issue| {
        let path = directory.issue_file().display().to_string();
        mention(issue.link.number, &issue.link.url, &path)
    });
    let context = new.context.as_deref().map(demote_headings);
    let context: Vec<String> = context.into_iter().chain(mentioned).collect();
    if context.is_empty() {
        return Ok(document);
    }
    let section = SectionName::from_title("Context");
    Ok(document.with_section(&section, &context.join("\n\n")))
}

/// Whether a word could be the name of a branch.
pub fn can_be_branch(word: &str) -> bool {
    !word.contains(char::is_whitespace) && require_branch(&BranchName::new(word)).is_ok()
}
