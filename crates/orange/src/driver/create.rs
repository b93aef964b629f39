//! A new task: its text, its workflow, its first step.

use orange_engine::document::{Document, FieldValue, SectionName, demote_headings};
use orange_engine::input::{Cause, Facts, Input, NewTask, Observation};
use orange_engine::language::load;
use orange_engine::names::{BranchName, HarnessName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::{Decision, Workflow, create};

use super::answer::Answer;
use super::wait::{Called, Waiting};
use super::{Driver, DriverError, ids};
use crate::clock;
use crate::config::{Catalog, Project};
use crate::effects::git::{require_branch, usual_branch};
use crate::store::{Creation, StoreError};

/// How often an id of one length is tried before it grows.
const TRIES: usize = 8;

/// The longest id that is tried.
const LONGEST: usize = 12;

/// Work that somebody wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWork {
    /// Where; the project that holds the present directory when absent.
    pub project: Option<ProjectName>,
    /// Who asks.
    pub by: Role,
    /// What is to be done, in a sentence.
    pub summary: String,
    /// What else should be known.
    pub context: Option<String>,
    /// On which branch; one named after the task when absent.
    pub branch: Option<BranchName>,
    /// By which workflow; the project's when absent.
    pub workflow: Option<String>,
    /// With what; the project's when absent.
    pub harness: Option<HarnessName>,
    /// Reviewed with what; the project's, else the same.
    pub review_harness: Option<HarnessName>,
    /// Where it begins; the first entry that is open when absent.
    pub status: Option<Status>,
}

impl Driver {
    /// Begins a task and brings about what its beginning plans.
    pub fn create(&self, new: &NewWork, waiting: Waiting) -> Result<Answer, DriverError> {
        refuse_nul("summary", Some(&new.summary))?;
        refuse_nul("context", new.context.as_ref())?;
        if let Some(branch) = &new.branch {
            require_branch(branch)?;
        }
        let project = self.project_for(new.project.as_ref())?;
        let settings = self.settings(Some(&project))?;
        let workflow_name = new.workflow.as_ref().unwrap_or(&settings.workflow);
        let (workflow, text) = self.workflow(workflow_name)?;
        let harness = new.harness.clone().or(settings.harness);
        let harness = harness.ok_or_else(|| DriverError::HarnessUnset(project.name.clone()))?;
        let review_harness = new.review_harness.clone();
        let review_harness = review_harness.or(settings.review_harness);
        let review_harness = review_harness.unwrap_or_else(|| harness.clone());
        let harnesses = self.harnesses()?;
        harnesses.require(&harness)?;
        harnesses.require(&review_harness)?;
        let mut store = self.store()?;
        for attempt in 0.. {
            let length = (ids::SHORTEST + attempt / TRIES).min(LONGEST);
            let id = ids::task_id(length)?;
            let document = first_text(&id, new)?;
            let input = Input {
                at: clock::now(),
                fresh: ids::fresh()?,
                document: Some(document.clone()),
                facts: Facts::default(),
                // What begins has no cause yet; the field is not read.
                cause: Cause::Observation(Observation::TimedOut),
            };
            let branch = new.branch.clone();
            let branch = branch.unwrap_or_else(|| usual_branch(&id));
            let task = NewTask {
                id: id.clone(),
                project: project.name.clone(),
                by: new.by.clone(),
                status: new.status.clone(),
                summary: new.summary.clone(),
                branch,
                harness: harness.clone(),
                review_harness: review_harness.clone(),
            };
            let plan = match create(&workflow, &task, &input) {
                Decision::Plan(plan) => plan,
                Decision::Refusal(refusal) => return Ok(Answer::Refused(Box::new(refusal))),
                Decision::Needs(_) => return Err(DriverError::Contended { task: id }),
            };
            let created = store.create(&Creation {
                events: &plan.events,
                workflow_text: &text,
                document: Some(&document),
            });
            match created {
                Ok(_) => {
                    self.project_files(&mut store, &id)?;
                    return self.settle(&mut store, &id, plan.events, waiting, Called::none());
                }
                Err(StoreError::DuplicateTask { .. }) if length < LONGEST => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(DriverError::TaskUnclear)
    }

    /// The project that is meant: by name, by the present directory, or because there is one.
    pub(super) fn project_for(&self, name: Option<&ProjectName>) -> Result<Project, DriverError> {
        let projects = self.projects()?;
        if let Some(name) = name {
            return Ok(projects.require(name)?.clone());
        }
        let held = self.directory().and_then(|it| projects.holding(it));
        match (held, projects.projects.as_slice()) {
            (Some(project), _) | (None, [project]) => Ok(project.clone()),
            (None, []) => Err(DriverError::ProjectUnclear {
                reason: "none is registered",
                names: Vec::new(),
            }),
            (None, _) => Err(DriverError::ProjectUnclear {
                reason: "this directory belongs to none",
                names: projects.names(),
            }),
        }
    }

    /// The project that was named, or that holds the present directory; none elsewhere.
    pub fn project_here(&self, name: Option<&ProjectName>) -> Result<Option<Project>, DriverError> {
        let projects = self.projects()?;
        if let Some(name) = name {
            return Ok(Some(projects.require(name)?.clone()));
        }
        let held = self.directory().and_then(|it| projects.holding(it));
        Ok(held.cloned())
    }

    fn workflow(&self, name: &str) -> Result<(Workflow, String), DriverError> {
        let catalog = Catalog::load(&self.home)?;
        let source = catalog.named(name);
        let source = source.ok_or_else(|| DriverError::WorkflowMissing {
            name: name.to_owned(),
            names: catalog.names(),
        })?;
        let invalid = |problem: String| DriverError::WorkflowInvalid {
            name: name.to_owned(),
            problem,
        };
        let bytes = source.read().map_err(|error| invalid(error.to_string()))?;
        let text = String::from_utf8(bytes.into_owned());
        let text = text.map_err(|_| invalid(String::from("it is not UTF-8")))?;
        let loaded = load(&text);
        if let Some(problem) = loaded.problems.first() {
            return Err(invalid(problem.message.clone()));
        }
        let workflow = loaded.workflow;
        let workflow = workflow.ok_or_else(|| invalid(String::from("it has no shape of one")))?;
        Ok((workflow, text))
    }
}

/// No file that agents read and no argument can hold it.
pub(super) fn refuse_nul(what: &'static str, text: Option<&String>) -> Result<(), DriverError> {
    if text.is_some_and(|text| text.contains('\0')) {
        return Err(DriverError::HasNul(what));
    }
    Ok(())
}

/// What TASK.md says at first; the engine's own keys follow with the first projection.
fn first_text(id: &TaskId, new: &NewWork) -> Result<Document, DriverError> {
    let id = FieldValue::Text(id.to_string());
    let document = Document::parse(b"")?.with_fields(&[("id", id)]);
    Ok(match &new.context {
        None => document,
        Some(context) => {
            let context = demote_headings(context);
            document.with_section(&SectionName::titled("Context"), &context)
        }
    })
}
