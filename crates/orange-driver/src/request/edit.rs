//! Opens the user's editor.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use orange_config::reason;
use orange_effects::command::{CommandError, Invocation};
use orange_effects::private_file;
use orange_engine::names::TaskId;
use orange_store::{ImportResult, TaskDirectory};

use crate::DriverError;
use crate::request::Requests;

/// The editor if neither `VISUAL` nor `EDITOR` is set.
const DEFAULT_EDITOR: &str = "vi";

impl Requests {
    /// The current text of TASK.md; `None` when it cannot be read.
    pub fn task_text(&self, task: &TaskId) -> Result<Option<String>, DriverError> {
        let store = self.context.read_store()?;
        store.require(task)?;
        Ok(match orange_store::peek(&store, task)? {
            ImportResult::Read(imported) => Some(imported.document.text().to_owned()),
            ImportResult::Unknown(_) => None,
        })
    }

    /// Opens a task's TASK.md in the user's editor, in this terminal.
    pub fn edit_task(&self, task: &TaskId) -> Result<(), DriverError> {
        let store = self.context.read_store()?;
        let project = store.require(task)?.task.project;
        let directory = TaskDirectory::new(&self.context.home, &project, task)?;
        let path = directory.path().join("TASK.md");
        // Resolve the link: an editor that replaces files must replace the file, not the link to
        // it.
        let path = path.canonicalize().unwrap_or(path);
        self.edit(&path)
    }

    /// Lets the user write a text in their editor, in this terminal; returns what they saved, and
    /// how the editor failed, if it did.
    ///
    /// The draft is kept in the home meanwhile, so that a killed editor loses nothing that was
    /// saved.
    pub fn edit_text(&self, text: &str) -> Result<(String, Option<DriverError>), DriverError> {
        let path = self.keep_text(text)?;
        let failure = self.edit(&path).err();
        let failed = |attempt, error: &std::io::Error| DriverError::File {
            attempt,
            path: path.clone(),
            reason: reason(error),
        };
        let bytes = fs::read(&path).map_err(|error| failed("read", &error))?;
        fs::remove_file(&path).map_err(|error| failed("remove", &error))?;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), failure))
    }

    /// Keeps a text of the user in a file of the home.
    pub fn keep_text(&self, text: &str) -> Result<PathBuf, DriverError> {
        let path = self.draft();
        match private_file::write(&path, text.as_bytes()) {
            Ok(()) => Ok(path),
            Err(error) => Err(DriverError::File {
                attempt: "write",
                path,
                reason: error.to_string(),
            }),
        }
    }

    fn draft(&self) -> PathBuf {
        let name = format!("draft-{}.md", std::process::id());
        self.context.home.path().join(name)
    }

    fn edit(&self, path: &Path) -> Result<(), DriverError> {
        let variables = ["VISUAL", "EDITOR"];
        let line = variables
            .iter()
            .find_map(|name| self.context.environment.variable(name));
        let line = line.unwrap_or(OsStr::new(DEFAULT_EDITOR)).to_string_lossy();
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or(DEFAULT_EDITOR);
        let variables = self.context.environment.variables().clone();
        let editor = Invocation::new(program, variables).arguments(words);
        let editor = editor.arguments([path]);
        match editor.run_in_terminal()? {
            orange_effects::command::CommandExit::Code(0) => Ok(()),
            ending => Err(CommandError::Failed {
                command: editor.to_string(),
                ending,
                stderr: Vec::new(),
            }
            .into()),
        }
    }
}
