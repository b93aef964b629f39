//! Moves a task to another workflow, once that is proved safe.

use orange_engine::check::{Severity, check};
use orange_engine::input::Ask;
use orange_engine::names::TaskId;

use super::{Driver, DriverError};

impl Driver {
    /// What asks for another workflow by its name, if `check` finds no error in it.
    pub fn adopting(&self, task: &TaskId, name: &str) -> Result<Ask, DriverError> {
        let (workflow, text) = self.workflow(name)?;
        let checked = check(&workflow);
        let mut errors = checked.findings.iter();
        if let Some(found) = errors.find(|it| it.severity == Severity::Error) {
            return Err(DriverError::WorkflowUnsafe {
                task: task.clone(),
                workflow: name.to_owned(),
                problem: found.message.clone(),
            });
        }
        Ok(Ask::Adopt {
            workflow: Box::new(workflow),
            text,
        })
    }
}
