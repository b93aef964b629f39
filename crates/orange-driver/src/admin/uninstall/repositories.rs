//! Saves the work in worktrees, and removes what orange put into repositories.

use std::path::Path;

use orange_config::Project;
use orange_effects::git::{Git, RemoveRequest, RemoveResult, Rescue, Slot};
use orange_engine::names::{BranchName, WorkspaceName};
use orange_store::{Store, StoredTask, WorkspaceState};

use super::{KeptBranch, UninstallReport, export};
use crate::DriverError;
use crate::admin::Admin;
use crate::admin::gc::release_retired;

impl Admin {
    /// Saves and removes the worktrees of every registered project.
    pub(super) fn clear_projects(
        &self,
        store: &mut Store,
        tasks: &[StoredTask],
        report: &mut UninstallReport,
    ) -> Result<(), DriverError> {
        for stored in tasks {
            if let Err(reason) = self.release_for_good(store, stored) {
                // A repository that is gone cannot save anything; its worktrees are moved whole.
                let project = &stored.task.project;
                let known = self.context.projects()?;
                let known = known.require(project).ok();
                let is_there = known.is_some_and(|it| self.workspaces.open_repository(it).is_ok());
                if is_there {
                    let id = &stored.task.id;
                    report.problems.push(format!("task `{id}`: {reason}"));
                }
            }
        }
        for project in self.context.projects()?.projects {
            let Ok(git) = self.workspaces.open_repository(&project) else {
                continue;
            };
            self.report_progress(&format!("removing the worktrees of {}", project.name));
            let cleared = self.clear_project(store, &git, &project, report);
            if let Err(error) = cleared {
                let name = &project.name;
                report.problems.push(format!("project `{name}`: {error}"));
            }
        }
        Ok(())
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
        // A teardown script that failed blocks nothing; its output is in `teardown.log`. A process
        // that could not be ended may still write, so it keeps the worktree.
        let torn_down = self.workspaces.tear_down(store, task, None);
        let _notice = torn_down.map_err(|failure| failure.error)?;
        let released = self.workspaces.release(store, task, None);
        released.map_err(|failure| failure.error)?;
        if let Some(held) = store.workspace_of(&task.id).map_err(text)? {
            store.free_workspace(&held).map_err(text)?;
        }
        Ok(())
    }

    fn clear_project(
        &self,
        store: &mut Store,
        git: &Git,
        project: &Project,
        report: &mut UninstallReport,
    ) -> Result<(), DriverError> {
        for record in store.workspaces(&project.name)? {
            let removed = match &record.state {
                // Its work could not be saved, which is already reported as a problem.
                WorkspaceState::Bound(_) | WorkspaceState::Reserved(_) => continue,
                // The agents have ended, so the obstacle that retired it may be gone.
                WorkspaceState::Retired => release_retired(git, project, &record)?,
                WorkspaceState::Free => Ok(()),
            };
            let removed = removed.and_then(|()| {
                let removed = self.remove_idle(store, git, project, &record);
                removed.map_err(|error| error.to_string())
            });
            if let Err(reason) = removed {
                let path = record.path.display();
                report.problems.push(format!("`{path}`: {reason}"));
            }
        }
        self.remove_verification(git, project)?;
        for rescued in git.all_rescues()? {
            // Another home may have tasks in this repository.
            if store.require(&rescued.about.task).is_ok() {
                report
                    .saved_branches
                    .extend(create_branch(git, project, &rescued)?);
            }
        }
        remove_traces(git)
    }

    fn remove_verification(&self, git: &Git, project: &Project) -> Result<(), DriverError> {
        let name = WorkspaceName::new(project.name.as_str());
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
        report: &mut UninstallReport,
    ) -> Result<(), DriverError> {
        for path in export::entries(&self.context.home.workspaces()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_reported = report
                .problems
                .iter()
                .any(|it| it.contains(&*path.to_string_lossy()));
            if name.starts_with('.') || is_reported {
                continue;
            }
            let Ok(git) = Git::open("git", &path, &self.context.environment) else {
                export::move_into(export, &path, &format!("worktrees/{name}"))?;
                continue;
            };
            let workspace = WorkspaceName::new(&*name);
            let slot = Slot {
                name: &workspace,
                path: &path,
            };
            let kept = |reason| DriverError::WorkspaceNotRemoved {
                workspace: workspace.clone(),
                path: path.clone(),
                reason,
            };
            let removed = self.remove_worktree(&git, &slot, kept);
            if let Err(error) = removed.and_then(|_| remove_traces(&git)) {
                let path = path.display();
                report.problems.push(format!("`{path}`: {error}"));
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
    let branch = BranchName::new(name);
    // A branch of that name with other content stays, and so does the ref of the saved work.
    let _exists = git.restore_to_branch(rescued, &branch)?;
    super::kept_branch(git, project, branch)
}

/// Removes orange's exclude lines and its merge lock, unless another home has worktrees in the
/// repository.
fn remove_traces(git: &Git) -> Result<(), DriverError> {
    if git.has_workspaces()? {
        return Ok(());
    }
    git.remove_excludes()?;
    Ok(git.remove_merge_lock()?)
}
