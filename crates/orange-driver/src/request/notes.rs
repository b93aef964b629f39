//! Notes about a project: agents propose them, the user decides.

use orange_config::clock;
use orange_engine::names::ProjectName;

use crate::DriverError;
use crate::context::notes::{Note, Notes};
use crate::request::Requests;

impl Requests {
    /// Writes a note down. One of an agent waits for the user.
    pub fn add_note(&self, text: &str, project: Option<&str>) -> Result<Note, DriverError> {
        let identity = self.callers.identify()?;
        if identity.is_assistant() {
            return Err(DriverError::user_only("write a note"));
        }
        let project = match &identity.task {
            Some(task) => self.context.store()?.require(task)?.task.project,
            None => self.project_of_notes(project)?,
        };
        Notes::change(&self.context, |notes| {
            notes.add(&project, text, identity.task, clock::now())
        })
    }

    /// Lets agents be told a note.
    pub fn accept_note(&self, number: u64) -> Result<Note, DriverError> {
        self.callers.require_user("accept a note")?;
        Notes::change(&self.context, |notes| notes.accept(number))
    }

    /// Removes a note.
    pub fn reject_note(&self, number: u64) -> Result<Note, DriverError> {
        self.callers.require_user("reject a note")?;
        Notes::change(&self.context, |notes| notes.reject(number))
    }

    /// The notes of a project, or of all; changes nothing.
    pub fn list_notes(&self, project: Option<&ProjectName>) -> Result<Vec<Note>, DriverError> {
        let mut notes = Notes::read(&self.context)?.notes;
        notes.retain(|it| project.is_none_or(|project| it.project == *project));
        Ok(notes)
    }

    fn project_of_notes(&self, name: Option<&str>) -> Result<ProjectName, DriverError> {
        let name = name.map(ProjectName::new);
        Ok(self.callers.project_for(name.as_ref())?.name)
    }
}
