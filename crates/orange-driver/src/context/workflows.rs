//! Loads workflows for tasks and projects, and checks that they are safe.

use orange_check::check::{Severity, check};
use orange_config::{Finding, load_workflow};
use orange_effects::private_file;
use orange_engine::Workflow;
use orange_engine::input::RequestKind;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::shipped_workflows;

use crate::DriverError;
use crate::context::Context;
use crate::context::ids;

/// How many errors a refusal lists; `orange workflow check` shows all of them.
const MAX_ERRORS: usize = 3;

/// How many workflows are remembered as safe, latest first.
const MAX_SAFE_WORKFLOWS: usize = 64;

/// The most bytes that are read from the list of safe workflows.
const MAX_BYTES: u64 = 64 * 1024;

impl Context {
    /// A request that a task adopts another workflow, by its name.
    pub fn adoption_request(&self, task: &TaskId, name: &str) -> Result<RequestKind, DriverError> {
        let project = self.read_store()?.require(task)?.task.project;
        let (workflow, text) = self.safe_workflow(Some(&project), name)?;
        Ok(RequestKind::ChangeWorkflow {
            workflow: Box::new(workflow),
            text,
        })
    }

    /// The workflow with this name, if `check` finds no error in it; `project` may have more than
    /// the shipped ones and the user's.
    pub(crate) fn safe_workflow(
        &self,
        project: Option<&ProjectName>,
        name: &str,
    ) -> Result<(Workflow, String), DriverError> {
        let (workflow, text) = self.workflow(project, name)?;
        self.require_safe(name, &workflow, &text)?;
        Ok((workflow, text))
    }

    fn require_safe(&self, name: &str, workflow: &Workflow, text: &str) -> Result<(), DriverError> {
        // The tests prove that the shipped workflows are safe.
        if shipped_workflows::ALL
            .iter()
            .any(|shipped| shipped.source == text)
        {
            return Ok(());
        }
        let hash = verdict_key(text);
        let mut safe = self.safe_workflows();
        if safe.contains(&hash) {
            return Ok(());
        }
        let problems = proof_errors(workflow);
        if !problems.is_empty() {
            return Err(DriverError::WorkflowUnsafe {
                workflow: name.to_owned(),
                errors: problems.len(),
                problems: problems.into_iter().take(MAX_ERRORS).collect(),
            });
        }
        safe.insert(0, hash);
        safe.truncate(MAX_SAFE_WORKFLOWS);
        // Without the list the workflow is simply checked again next time.
        if let Ok(bytes) = serde_json::to_vec(&safe) {
            let _unkept = private_file::write(&self.home.safe_workflows(), &bytes);
        }
        Ok(())
    }

    /// Hashes of the workflows that were found safe; empty if the list cannot be read.
    fn safe_workflows(&self) -> Vec<String> {
        let bytes = private_file::read(&self.home.safe_workflows(), MAX_BYTES);
        bytes
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    pub(crate) fn workflow(
        &self,
        project: Option<&ProjectName>,
        name: &str,
    ) -> Result<(Workflow, String), DriverError> {
        let catalog = self.catalog(project)?;
        let source = catalog.find(name);
        let source = source.ok_or_else(|| DriverError::WorkflowMissing {
            name: name.to_owned(),
            names: catalog.names(),
        })?;
        // Finds the same problems as `orange workflow check`, including those of the file name.
        let loaded = load_workflow(source);
        let problem = loaded.findings.first().map(Finding::message);
        match (loaded.workflow, problem) {
            (Some(workflow), None) => Ok((workflow, loaded.text)),
            (_, problem) => Err(DriverError::WorkflowInvalid {
                name: name.to_owned(),
                problem: problem.unwrap_or_else(|| String::from("it is not a valid workflow")),
            }),
        }
    }
}

/// What the proofs find wrong with a workflow.
pub(crate) fn proof_errors(workflow: &Workflow) -> Vec<String> {
    let errors = check(workflow).findings.into_iter();
    let errors = errors.filter(|it| it.severity == Severity::Error);
    errors.map(|it| it.message).collect()
}

/// The key under which a workflow is remembered as safe. It covers the text and the version of
/// orange, because each version has its own rules.
fn verdict_key(text: &str) -> String {
    ids::hash(&format!("{}\0{text}", env!("CARGO_PKG_VERSION")))
}
