//! The workflow that a task is pinned to, parsed once per process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use orange_engine::Workflow;
use orange_engine::language::load_pinned;
use orange_store::StoredTask;

use crate::DriverError;

/// Valid workflows by their text. A command needs the same one several times, and a supervisor the
/// same few for thousands of tasks.
static PARSED: Mutex<BTreeMap<String, Arc<Workflow>>> = Mutex::new(BTreeMap::new());

/// How many workflows are kept.
const MAX_KEPT: usize = 64;

/// The workflow that a task is pinned to.
pub(crate) fn pinned_workflow(stored: &StoredTask) -> Result<Arc<Workflow>, DriverError> {
    let text = &stored.workflow_text;
    let parsed = || PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(workflow) = parsed().get(text) {
        return Ok(Arc::clone(workflow));
    }
    let loaded = load_pinned(text);
    let problem = loaded.problems.first().map(|it| it.message.clone());
    match (loaded.workflow, problem) {
        (Some(workflow), None) => {
            let workflow = Arc::new(workflow);
            let mut parsed = parsed();
            if parsed.len() >= MAX_KEPT {
                parsed.clear();
            }
            parsed.insert(text.clone(), Arc::clone(&workflow));
            Ok(workflow)
        }
        (_, problem) => Err(DriverError::WorkflowInvalid {
            name: stored.task.workflow.to_string(),
            problem: problem.unwrap_or_else(|| String::from("it is not a valid workflow")),
        }),
    }
}
