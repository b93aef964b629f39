//! Saves the work in worktrees, and removes what orange put into repositories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orange_config::Project;
use orange_effects::git::{Git, RemoveRequest, RemoveResult, Rescue, Slot};
use orange_engine::names::{BranchName, TaskId, WorkspaceName};
use orange_store::{Store, StoredTask, WorkspaceState};

use super::{KeptBranch, UninstallReport, export, open_repository, real_path};
use crate::DriverError;
use crate::admin::Admin;
use crate::admin::gc::release_retired;
use crate::admin::worktree_repository::open_worktree;

impl Admin {
    /// Saves and removes the worktrees of every registered project, except those of tasks with an
    /// agent that may be running. Returns the worktrees that stay.
    pub(super) fn clear_projects(
        &self,
        store: &mut Store,
        tasks: &[StoredTask],
        unstopped: &BTreeSet<TaskId>,
        report: &mut UninstallReport,
    ) -> Result<BTreeSet<PathBuf>, DriverError> {
        let mut kept = BTreeSet::new();
        // Keep these worktrees even if their repository or project is gone.
        for task in unstopped {
            kept.extend(store.workspace_of(task)?.map(|it| real_path(&it.path)));
        }
        for project in self.context.projects()?.projects {
            let git = match open_repository(&self.workspaces, &project) {
                Ok(Some(git)) => git,
                // A repository that is gone cannot save anything; its worktrees are moved whole.
                Ok(None) => continue,
                Err(reason) => {
                    let worktrees = store.workspaces(&project.name)?.into_iter();
                    kept.extend(worktrees.map(|it| real_path(&it.path)));
                    report.problems.push(reason);
                    continue;
                }
            };
            let is_stopped = |it: &&StoredTask| !unstopped.contains(&it.task.id);
            let of_project = tasks.iter().filter(|it| it.task.project == project.name);
            for stored in of_project.filter(is_stopped) {
                if let Err(reason) = self.release_for_good(store, stored) {
                    let id = &stored.task.id;
                    report.problems.push(format!("task `{id}`: {reason}"));
                }
            }
            self.report_progress(&format!("removing the worktrees of {}", project.name));
            let cleared = self.clear_project(store, &git, &project, unstopped, report);
            match cleared {
                Ok(worktrees) => kept.extend(worktrees.iter().map(|it| real_path(it))),
                Err(error) => {
                    let worktrees = store.workspaces(&project.name)?.into_iter();
                    kept.extend(worktrees.map(|it| real_path(&it.path)));
                    let name = &project.name;
                    report.problems.push(format!("project `{name}`: {error}"));
                }
            }
        }
        Ok(kept)
    }

    /// Releases the workspace of a task, as at the task's end: teardown, saving the work,
    /// cleaning the worktree.
    fn release_for_good(&self, store: &mut Store, stored: &StoredTask) -> Result<(), String> {
        let task = &stored.task;
        let text = |error: orange_store::StoreError| error.to_string();
        if store.workspace_of(&task.id).map_err(text)?.is_none() {
            return Ok(());
        }
        self.report_progress(&format!("saving the work of {}", task.id));
        // A teardown script that failed blocks nothing; its output is in `teardown.log`. If a
        // process could not be ended, the worktree is kept, because the process may still write
        // into it.
        let torn_down = self.workspaces.tear_down(store, task, None);
        let _notice = torn_down.map_err(|failure| failure.error)?;
        let released = self.workspaces.release(store, task, None);
        released.map_err(|failure| failure.error)?;
        if let Some(held) = store.workspace_of(&task.id).map_err(text)? {
            store.free_workspace(&held).map_err(text)?;
        }
        Ok(())
    }

    /// Removes the worktrees of a project; returns those that stay, each with a problem in the
    /// report.
    fn clear_project(
        &self,
        store: &mut Store,
        git: &Git,
        project: &Project,
        unstopped: &BTreeSet<TaskId>,
        report: &mut UninstallReport,
    ) -> Result<Vec<PathBuf>, DriverError> {
        let mut kept = Vec::new();
        for record in store.workspaces(&project.name)? {
            let marked_task = git.worktree(&record.path).and_then(|it| it.marker());
            let marked_task = marked_task
                .ok()
                .flatten()
                .and_then(|it| it.phase.task().cloned());
            let removed = match &record.state {
                // Its work could not be saved, which is already reported as a problem.
                WorkspaceState::Bound(_) | WorkspaceState::Reserved(_) => {
                    kept.push(record.path);
                    continue;
                }
                _ if marked_task.is_some_and(|it| unstopped.contains(&it)) => {
                    kept.push(record.path);
                    continue;
                }
                // The agents have ended, so the obstacle that retired it may be gone.
                WorkspaceState::Retired => release_retired(git, project, &record)?,
                WorkspaceState::Free => Ok(()),
            };
            let removed = removed.and_then(|()| {
                let removed = self.remove_idle(store, git, project, &record);
                removed.map_err(|error| error.to_string())
            });
            match removed {
                Ok(removed) => report.kept_submodules.extend(removed.submodules),
                Err(reason) => {
                    let path = record.path.display();
                    report.problems.push(format!("`{path}`: {reason}"));
                    kept.push(record.path);
                }
            }
        }
        self.remove_verification(git, project.name.as_str())?;
        for rescued in git.all_rescues()? {
            // Another home may have tasks in this repository.
            if store.require(&rescued.about.task).is_ok() {
                report
                    .saved_branches
                    .extend(create_branch(git, project, &rescued)?);
            }
        }
        remove_traces(git)?;
        Ok(kept)
    }

    /// Removes the worktree in which merges into a project were verified.
    fn remove_verification(&self, git: &Git, project: &str) -> Result<(), DriverError> {
        let name = WorkspaceName::new(project);
        let folder = self.context.home.verification();
        let path = folder.join(name.as_str());
        if !path.exists() && !folder.exists() {
            return Ok(());
        }
        let trash = folder.join(".trash").join(name.as_str());
        let removed = git.remove_verification(&RemoveRequest {
            slot: Slot {
                name: &name,
                path: &path,
            },
            trash: &trash,
            aside: &trash,
        })?;
        match removed {
            RemoveResult::Removed { .. } | RemoveResult::Absent => Ok(()),
            RemoveResult::Kept { reason } => Err(DriverError::WorkspaceNotRemoved {
                workspace: name,
                path,
                reason,
            }),
        }
    }

    /// Removes worktrees of projects that are no longer registered, and exports directories that
    /// belong to no repository.
    pub(super) fn clear_leftovers(
        &self,
        export: &Path,
        kept: &BTreeSet<PathBuf>,
        report: &mut UninstallReport,
    ) -> Result<(), DriverError> {
        for path in export::worktrees(&self.context.home) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if kept.contains(&real_path(&path)) {
                continue;
            }
            let git = match open_worktree(&path, &self.context.environment) {
                Ok(Some(git)) => git,
                Ok(None) => {
                    export::move_into(export, &path, &format!("worktrees/{name}"))?;
                    continue;
                }
                Err(reason) => {
                    let path = path.display();
                    report.problems.push(format!("`{path}`: {reason}"));
                    continue;
                }
            };
            let workspace = WorkspaceName::new(&*name);
            let slot = Slot {
                name: &workspace,
                path: &path,
            };
            let not_removed = |reason| DriverError::WorkspaceNotRemoved {
                workspace: workspace.clone(),
                path: path.clone(),
                reason,
            };
            let removed = self.remove_worktree(&git, &slot, not_removed);
            let removed = removed.and_then(|(_, submodules)| {
                report.kept_submodules.extend(submodules);
                remove_traces(&git)
            });
            if let Err(error) = removed {
                let path = path.display();
                report.problems.push(format!("`{path}`: {error}"));
            }
        }
        self.clear_verification(export, report)
    }

    /// Removes the worktrees for verification of projects that are no longer registered.
    fn clear_verification(
        &self,
        export: &Path,
        report: &mut UninstallReport,
    ) -> Result<(), DriverError> {
        for path in export::unhidden(&self.context.home.verification()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let removed = match open_worktree(&path, &self.context.environment) {
                Ok(Some(git)) => self
                    .remove_verification(&git, &name)
                    .and_then(|()| remove_traces(&git))
                    .map_err(|error| error.to_string()),
                Ok(None) => {
                    export::move_into(export, &path, &format!("verification/{name}"))?;
                    continue;
                }
                Err(reason) => Err(reason),
            };
            if let Err(reason) = removed {
                let path = path.display();
                report.problems.push(format!("`{path}`: {reason}"));
            }
        }
        Ok(())
    }
}

/// Makes saved work an ordinary branch, unless it is merged or was restored.
fn create_branch(
    git: &Git,
    project: &Project,
    rescued: &Rescue,
) -> Result<Option<KeptBranch>, DriverError> {
    let task = &rescued.about.task;
    let base = git.base(&project.default_branch)?;
    let is_restored = git.restored_numbers(task)?.contains(&rescued.number);
    if is_restored || git.has_rescue(rescued, &base)? {
        return Ok(None);
    }
    let name = format!("orange-saved/{task}-{}", rescued.number);
    let mut branch = BranchName::new(&name);
    let mut attempt = 1;
    // A branch of that name with other content stays as it is.
    while git.restore_to_branch(rescued, &branch)?.is_err() {
        attempt += 1;
        branch = BranchName::new(format!("{name}-{attempt}"));
    }
    super::kept_branch(git, project, branch)
}

/// Removes orange's exclude lines, its merge lock and the heads of pull requests that it fetched,
/// unless another home has worktrees in the repository.
fn remove_traces(git: &Git) -> Result<(), DriverError> {
    if git.has_workspaces()? {
        return Ok(());
    }
    git.remove_excludes()?;
    for number in git.fetched_pull_requests()? {
        git.forget_pull_request(number)?;
    }
    for task in git.borrowers()? {
        git.forget_borrowed(&task)?;
    }
    Ok(git.remove_merge_lock()?)
}
