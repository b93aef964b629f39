//! The directory of a task, its files and its lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::Home;
use orange_config::clock::Deadline;
use orange_engine::names::{ProjectName, RunId, TaskId};

use crate::error::StoreError;
use crate::open::make_private;

/// How long to wait for the lock; no process holds it for longer than a few file operations.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDirectory {
    task: TaskId,
    path: PathBuf,
    below_home: PathBuf,
}

/// The lock on the files of a task; the system releases it when its holder exits, for whatever
/// reason.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl TaskDirectory {
    /// The directory of a task; names that would escape it are refused.
    pub fn new(
        home: &Home,
        project: &ProjectName,
        task: &TaskId,
    ) -> Result<TaskDirectory, StoreError> {
        require_plain("project", project.as_str())?;
        require_plain("task", task.as_str())?;
        let path = home.tasks().join(project.as_str()).join(task.as_str());
        Ok(TaskDirectory {
            task: task.clone(),
            below_home: home.relative(&path).to_owned(),
            path,
        })
    }

    /// The same task's directory at another path, for a task in the trash.
    pub(crate) fn lying_at(mut self, path: &Path) -> TaskDirectory {
        path.clone_into(&mut self.path);
        self
    }

    pub fn task(&self) -> &TaskId {
        &self.task
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path relative to the home.
    pub(crate) fn below_home(&self) -> &Path {
        &self.below_home
    }

    /// TASK.md: the file itself, or a link to it while a workspace is bound.
    pub fn task_file(&self) -> PathBuf {
        self.path.join("TASK.md")
    }

    /// The history: one event per line.
    pub fn history(&self) -> PathBuf {
        self.path.join("history.jsonl")
    }

    /// The text of the workflow.
    pub fn workflow(&self) -> PathBuf {
        self.path.join("workflow.yml")
    }

    /// The text that was imported last.
    pub fn imported_file(&self) -> PathBuf {
        self.path.join("imported.md")
    }

    /// The issue that the task is for: text from outside, for the agent.
    pub fn issue_file(&self) -> PathBuf {
        self.path.join("issue.md")
    }

    /// What the forge reported, in files for the agent.
    pub fn feedback(&self) -> PathBuf {
        self.path.join("feedback")
    }

    pub fn inbox(&self) -> PathBuf {
        self.path.join("inbox.json")
    }

    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Where runs without a worktree work.
    pub fn own_directory(&self) -> PathBuf {
        self.path.join("work")
    }

    pub fn run(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        require_plain("run", run.as_str())?;
        Ok(self.runs().join(run.as_str()))
    }

    /// Replaced files that may still be written to.
    pub(crate) fn replaced_folder(&self) -> PathBuf {
        self.path.join("replaced")
    }

    /// The link to TASK.md in the worktree while a workspace is bound.
    pub(crate) fn bound_link(&self) -> PathBuf {
        self.path.join(".bound")
    }

    /// The path of TASK.md while a workspace is bound.
    pub fn bound_file(&self) -> Result<Option<PathBuf>, StoreError> {
        let link = self.bound_link();
        match fs::read_link(&link) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::file("read", &link, &error)),
        }
    }

    /// A status edited by hand about which nothing is decided yet.
    pub(crate) fn status_edit_file(&self) -> PathBuf {
        self.path.join(".wish")
    }

    /// Other keys edited by hand that are not reported yet.
    pub(crate) fn field_edits_file(&self) -> PathBuf {
        self.path.join(".edits")
    }

    /// The link to the path that TASK.md is being moved to.
    pub(crate) fn binding_link(&self) -> PathBuf {
        self.path.join(".binding")
    }

    /// The link to the TASK.md that is being taken out of a worktree.
    pub(crate) fn releasing_link(&self) -> PathBuf {
        self.path.join(".releasing")
    }

    /// Creates the directory, and waits for the lock on its files.
    ///
    /// No process holds the lock for longer than a few file operations.
    pub(crate) fn lock(&self, attempt: &'static str) -> Result<FileLock, StoreError> {
        make_private(&self.path)?;
        let path = self.path.join(".lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| StoreError::file("open", &path, &error))?;
        let mut result = Ok(());
        Deadline::after(LOCK_TIMEOUT).wait_for(|| {
            result = file.try_lock();
            !matches!(result, Err(TryLockError::WouldBlock))
        });
        match result {
            Ok(()) => Ok(FileLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Busy { attempt, path }),
            Err(TryLockError::Error(error)) => Err(StoreError::file("lock", &path, &error)),
        }
    }
}

/// Requires a name that is a single visible path component.
fn require_plain(what: &'static str, name: &str) -> Result<(), StoreError> {
    let plain = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('.')
        && !name.contains(['/', '\0', '\n', '\r']);
    if plain {
        return Ok(());
    }
    Err(StoreError::BadName {
        what,
        name: name.chars().take(80).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use orange_config::Environment;

    #[test]
    fn names_cannot_lead_out_of_the_home() {
        let environment = Environment::of([("ORANGE_HOME", PathBuf::from("/home/o"))]);
        let home = Home::resolve(&environment).unwrap();
        let directory = |project: &str, task: &str| {
            TaskDirectory::new(&home, &ProjectName::new(project), &TaskId::new(task))
        };
        let found = directory("coffee", "k3f9").unwrap();
        assert_eq!(found.path(), Path::new("/home/o/tasks/coffee/k3f9"));
        assert_eq!(found.below_home(), Path::new("tasks/coffee/k3f9"));
        for bad in ["", ".", "..", "a/b", "/a", ".git", "a\0b", "a\nb"] {
            assert!(directory("coffee", bad).is_err(), "{bad:?}");
            assert!(directory(bad, "k3f9").is_err(), "{bad:?}");
        }
    }
}
