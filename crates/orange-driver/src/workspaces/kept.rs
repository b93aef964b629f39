//! Worktrees that could not be released without losing work.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::git::GitError;
use orange_engine::Task;
use orange_engine::effect::Merge;
use orange_engine::names::{ProjectName, TaskId};
use orange_store::{Store, WorkspaceState};
use serde::Serialize;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// A worktree that a task has left, with everything in it, because a rescue cannot save all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct KeptWorktree {
    /// Its directory.
    pub path: PathBuf,
    /// What cannot be saved; paths are relative to the directory.
    pub reasons: Vec<String>,
}

impl KeptWorktree {
    /// A notice that says where the worktree is, and why it was left as it is.
    pub fn notice(&self) -> String {
        format!("the worktree is kept, because not all of it can be saved: {self}")
    }
}

impl fmt::Display for KeptWorktree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, reasons) = (self.path.display(), self.reasons.join("; "));
        write!(formatter, "{path}: {reasons}")
    }
}

/// What the user can do about a task whose worktree is gone.
pub(crate) fn missing_worktree_notice(task: &TaskId) -> String {
    format!(
        "its worktree is gone; run `orange task cancel {task}`, then `orange task reopen {task}`, \
         which makes a new one"
    )
}

impl Workspaces {
    /// Warnings about submodules whose new commit, which a merge has just recorded, is in none of
    /// their remotes.
    pub(crate) fn unpublished_submodules(
        &self,
        store: &Store,
        task: &Task,
        merge: &Merge,
    ) -> Result<Vec<String>, DriverError> {
        let Some(workspace) = store.workspace_of(&task.id)? else {
            return Ok(Vec::new());
        };
        let (_, git) = self.repository_of(task)?;
        let worktree = git.worktree(&workspace.path)?;
        Ok(worktree.unpublished_submodules(&merge.base, &merge.head)?)
    }

    /// The worktrees that still hold work of a task that has left them.
    ///
    /// The marker in git's directory names the task until the worktree is cleaned, so a worktree
    /// is listed until its work is saved or it is gone.
    pub fn kept_worktrees(
        &self,
        store: &Store,
        task: &TaskId,
        project: &ProjectName,
    ) -> Result<Vec<KeptWorktree>, DriverError> {
        let kept = self.kept_in_project(store, project, Some(task))?;
        Ok(kept.into_iter().map(|(_, it)| it).collect())
    }

    /// The worktrees of a project that still hold work of tasks that have left them, of one task or
    /// of all.
    pub(crate) fn kept_in_project(
        &self,
        store: &Store,
        project: &ProjectName,
        of_task: Option<&TaskId>,
    ) -> Result<Vec<(TaskId, KeptWorktree)>, DriverError> {
        let mut retired = store.workspaces(project)?;
        retired.retain(|it| it.state == WorkspaceState::Retired && has_files(&it.path));
        if retired.is_empty() {
            return Ok(Vec::new());
        }
        let project = self.callers.project_for(Some(project))?;
        let git = self.open_repository(&project)?;
        let mut kept = Vec::new();
        for record in retired {
            // An unreadable marker must not hide the other worktrees.
            let marker = git.marker_of(&record.path).ok().flatten();
            let task = marker.and_then(|it| it.phase.task().cloned());
            let Some(task) = task.filter(|it| of_task.is_none_or(|of_task| it == of_task)) else {
                continue;
            };
            let worktree = git.worktree(&record.path);
            let reasons = match worktree.and_then(|it| it.release_obstacles()) {
                Ok(obstacles) if obstacles.is_empty() => vec![String::from(
                    "nothing is in the way any more; `orange workspace gc` saves what is in it",
                )],
                Ok(obstacles) => obstacles.iter().map(ToString::to_string).collect(),
                // The directory and git's record of it may no longer refer to each other, for
                // example after the repository was moved.
                Err(error @ GitError::WorktreeMismatch { .. }) => {
                    let hint = self.repair_hint(&project.path, &record.path);
                    vec![format!("{error}; {hint}")]
                }
                Err(error) => vec![error.to_string()],
            };
            let path = record.path;
            kept.push((task, KeptWorktree { path, reasons }));
        }
        Ok(kept)
    }

    /// How to make a worktree usable whose directory no longer refers to git's record of it.
    pub(crate) fn repair_hint(&self, repository: &Path, worktree: &Path) -> String {
        let entry = worktree.join(".git");
        let is_in_the_way = fs::symlink_metadata(&entry).is_ok_and(|it| !it.is_file());
        // With the directory as an argument, git repairs it too, but reports an error.
        let repair = format!(
            "`git -C '{}' worktree repair`, then `orange workspace gc`",
            repository.display()
        );
        if !is_in_the_way {
            return format!("run {repair}");
        }
        // git repairs only a `.git` that is a file or missing. Another repository may have commits.
        let folder = self.context.home.set_aside();
        let name = worktree.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "run `mkdir -p '{0}' && mv '{1}' '{0}/{name}.git'` to move the other repository aside, \
             {repair}",
            folder.display(),
            entry.display(),
        )
    }
}

/// Whether a directory exists and has something in it.
fn has_files(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}
