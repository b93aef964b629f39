//! Notes about projects, in one file of the home.
//!
//! Agents see only notes that the user wrote or accepted. What an agent learned never reaches a
//! prompt by itself.

use std::path::Path;

use orange_effects::private_file::{self, PrivateFileError};
use orange_engine::forge::outside_text::clean_title;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Context;
use crate::DriverError;

/// The most characters of a note.
const MAX_CHARS: usize = 500;

/// How many notes of a project may wait for the user.
const MAX_WAITING: usize = 50;

/// The largest file that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Whether agents see a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoteState {
    /// An agent proposed it, and the user has not decided.
    Waiting,
    /// The user accepted or wrote it.
    Accepted,
}

/// A note about a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Note {
    /// Its number; no other note ever has it.
    pub number: u64,
    /// The project.
    pub project: ProjectName,
    /// One line of text.
    pub text: String,
    /// Whether agents are told it.
    pub state: NoteState,
    /// The task whose agent proposed it; absent for a note of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// When it was written.
    pub at: Timestamp,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notes {
    /// The highest number that was given to a note.
    last: u64,
    pub notes: Vec<Note>,
}

impl Notes {
    /// Every note; none without the file.
    pub fn read(context: &Context) -> Result<Notes, DriverError> {
        let path = context.home.notes();
        let bytes = private_file::read_from_agent(&path, MAX_FILE);
        let Some(bytes) = bytes.map_err(|error| file_error("read", &path, &error))? else {
            return Ok(Notes::default());
        };
        serde_json::from_slice(&bytes).map_err(|error| DriverError::File {
            attempt: "read",
            reason: error.to_string(),
            path,
        })
    }

    /// Reads the notes, changes them, and writes them, while no other process does. Writes nothing
    /// if the change fails.
    pub fn change<T>(
        context: &Context,
        change: impl FnOnce(&mut Notes) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let _lock = context.lock_notes()?;
        let mut notes = Notes::read(context)?;
        let result = change(&mut notes)?;
        let path = context.home.notes();
        let failed = |reason: String| DriverError::File {
            attempt: "write",
            path: path.clone(),
            reason,
        };
        let json = serde_json::to_vec_pretty(&notes);
        let json = json.map_err(|error| failed(error.to_string()))?;
        let written = private_file::write(&path, &json);
        written.map_err(|error| file_error("write", &path, &error))?;
        Ok(result)
    }

    /// Adds a note. The same text is not added twice, but the user's word accepts it.
    pub fn add(
        &mut self,
        project: &ProjectName,
        text: &str,
        task: Option<TaskId>,
        at: Timestamp,
    ) -> Result<Note, DriverError> {
        let text = clean_title(text);
        if text.is_empty() {
            return Err(DriverError::NoteInvalid(String::from("it is empty")));
        }
        if text.chars().count() > MAX_CHARS {
            let reason = format!("it has more than {MAX_CHARS} characters");
            return Err(DriverError::NoteInvalid(reason));
        }
        let state = match task {
            Some(_) => NoteState::Waiting,
            None => NoteState::Accepted,
        };
        let mut own = self.notes.iter_mut().filter(|it| it.project == *project);
        if let Some(known) = own.find(|it| it.text == text) {
            if state == NoteState::Accepted {
                known.state = state;
            }
            return Ok(known.clone());
        }
        if state == NoteState::Waiting && self.waiting(project).count() >= MAX_WAITING {
            let reason = format!("{MAX_WAITING} notes of the project already wait for the user");
            return Err(DriverError::NoteInvalid(reason));
        }
        self.last += 1;
        let note = Note {
            number: self.last,
            project: project.clone(),
            text,
            state,
            task,
            at,
        };
        self.notes.push(note.clone());
        Ok(note)
    }

    /// Lets agents be told a note.
    pub fn accept(&mut self, number: u64) -> Result<Note, DriverError> {
        let mut notes = self.notes.iter_mut();
        let note = notes.find(|it| it.number == number);
        let note = note.ok_or(DriverError::NoNote(number))?;
        note.state = NoteState::Accepted;
        Ok(note.clone())
    }

    /// Removes a note, whatever its state.
    pub fn reject(&mut self, number: u64) -> Result<Note, DriverError> {
        let index = self.notes.iter().position(|it| it.number == number);
        let index = index.ok_or(DriverError::NoNote(number))?;
        Ok(self.notes.remove(index))
    }

    pub fn waiting(&self, project: &ProjectName) -> impl Iterator<Item = &Note> {
        let is_waiting = |note: &&Note| note.state == NoteState::Waiting;
        let own = self.notes.iter().filter(|it| it.project == *project);
        own.filter(is_waiting)
    }
}

/// The texts of the accepted notes of a project, in the order of their numbers.
pub(crate) fn accepted(
    context: &Context,
    project: &ProjectName,
) -> Result<Vec<String>, DriverError> {
    let notes = Notes::read(context)?.notes.into_iter();
    let accepted = notes.filter(|it| it.project == *project && it.state == NoteState::Accepted);
    // The file may have been edited by hand.
    Ok(accepted.map(|it| clean_title(&it.text)).collect())
}

fn file_error(attempt: &'static str, path: &Path, error: &PrivateFileError) -> DriverError {
    let reason = match error {
        PrivateFileError::System { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    DriverError::File {
        attempt,
        path: path.to_owned(),
        reason,
    }
}
