//! Cleans up the pool: retries releases, frees workspaces, lists leftovers.
//!
//! Invariant: nothing here deletes a byte that is not in a commit. Ignored files are moved aside. A
//! rescue (work saved from a worktree) is deleted only when the default branch contains all of it.

use std::path::{Path, PathBuf};

use orange_config::Project;
use orange_config::clock;
use orange_effects::git::{Git, ReleaseRequest, ReleaseResult, SlotRefusal, Worktree};
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_store::{Store, StoreError, TaskDirectory, WorkspaceRecord, WorkspaceState};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;
use crate::admin::set_aside::SetAsideWorktree;
use crate::context::lock::Lock;
use crate::failure::Failure;
use crate::request::wait::WaitPolicy;
use crate::steps::pinned_workflow;
use crate::workspaces::lifecycle::slot;
use crate::workspaces::list::is_unchanged;

/// The result of `orange workspace gc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct GcReport {
    /// Tasks whose failed releases were retried.
    pub retried_tasks: Vec<TaskId>,
    /// Workspaces that can be used again.
    pub freed_workspaces: Vec<WorkspaceName>,
    /// Workspaces whose repository is gone; they are no longer in the pool.
    pub set_aside_worktrees: Vec<SetAsideWorktree>,
    /// Workspaces that cannot be used, and why.
    pub unusable_workspaces: Vec<UnusableWorkspace>,
    /// Ignored files in idle workspaces.
    pub ignored_files: Vec<IgnoredFiles>,
    /// Saved work that the default branch contains completely.
    pub merged_rescues: Vec<String>,
    /// Whether ignored files were moved aside and merged saved work deleted.
    pub confirmed: bool,
    /// Projects and workspaces that could not be cleaned up; the others are not affected.
    pub problems: Vec<Problem>,
}

/// A project or workspace that could not be cleaned up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "GcProblem")]
pub struct Problem {
    /// The project.
    pub project: ProjectName,
    /// The workspace, if the problem concerns one.
    pub workspace: Option<WorkspaceName>,
    /// Why it failed.
    pub reason: String,
}

/// A workspace that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UnusableWorkspace {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Its worktree.
    pub path: PathBuf,
    /// Why it cannot be used.
    pub reason: String,
}

/// The ignored files in an idle workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct IgnoredFiles {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Its worktree.
    pub path: PathBuf,
    /// The files; a fully ignored directory is one entry.
    pub entries: Vec<String>,
    /// Their total size.
    pub bytes: u64,
    /// Where they were moved to.
    pub moved_to: Option<PathBuf>,
}

impl Admin {
    /// Cleans up the pool of one project, or of all. Moves ignored files and deletes merged rescues
    /// only when `confirmed`.
    pub fn collect_garbage(
        &self,
        project: Option<&ProjectName>,
        confirmed: bool,
        waiting: WaitPolicy,
    ) -> Result<GcReport, DriverError> {
        self.callers.require_user("clean up workspaces")?;
        let mut collected = GcReport {
            confirmed,
            ..GcReport::default()
        };
        let mut store = self.context.store()?;
        for project in self.workspaces.select_projects(project)? {
            let done = self.collect_project(&mut store, &project, waiting, &mut collected);
            collected.note(&project, None, done);
        }
        Ok(collected)
    }

    fn collect_project(
        &self,
        store: &mut Store,
        project: &Project,
        waiting: WaitPolicy,
        collected: &mut GcReport,
    ) -> Result<(), DriverError> {
        let opened = self.workspaces.open_repository(project);
        let is_missing = matches!(opened, Err(DriverError::RepositoryMissing { .. }));
        let before = collected.set_aside_worktrees.len();
        if is_missing {
            self.set_aside_worktrees(store, project, collected)?;
        }
        let has_set_aside = collected.set_aside_worktrees.len() > before;
        let retried = self.retry_releases(store, project, waiting, &mut collected.retried_tasks);
        collected.note(project, None, retried);
        // Nothing is left that needs the repository.
        if has_set_aside && store.workspaces(&project.name)?.is_empty() {
            return Ok(());
        }
        let git = opened?;
        for record in store.workspaces(&project.name)? {
            self.context
                .progress
                .report(format!("cleaning up {}", record.name));
            let done = self.collect_workspace(store, &git, project, &record, collected);
            collected.note(project, Some(&record.name), done);
        }
        delete_merged_rescues(store, &git, project, collected)
    }

    fn collect_workspace(
        &self,
        store: &mut Store,
        git: &Git,
        project: &Project,
        record: &WorkspaceRecord,
        collected: &mut GcReport,
    ) -> Result<(), DriverError> {
        match &record.state {
            WorkspaceState::Bound(task) | WorkspaceState::Reserved(task) => {
                if self.release_from_finished(store, task, record)? {
                    collected.freed_workspaces.push(record.name.clone());
                }
            }
            WorkspaceState::Retired => {
                let _lock = self.context.lock_workspace(&record.name)?;
                // The previous holder of the lock may have cleaned up the workspace, and a task may
                // use it by now.
                if !is_unchanged(store, record)? {
                    return Ok(());
                }
                match self.check_retired(store, git, project, record)? {
                    Ok(()) => {
                        if store.free_workspace(record)? {
                            collected.freed_workspaces.push(record.name.clone());
                        }
                    }
                    Err(reason) => collected.unusable_workspaces.push(UnusableWorkspace {
                        workspace: record.name.clone(),
                        path: record.path.clone(),
                        reason,
                    }),
                }
            }
            WorkspaceState::Free => self.collect_ignored(store, git, record, collected)?,
        }
        Ok(())
    }

    /// Releases the workspace of a finished task that has no pending effects.
    fn release_from_finished(
        &self,
        store: &mut Store,
        id: &TaskId,
        record: &WorkspaceRecord,
    ) -> Result<bool, DriverError> {
        let stored = store.require(id)?;
        // A process that performs the task's effects holds this lock, and releases the workspace
        // itself.
        let Some(_lock) = Lock::to_perform(&stored.directory)? else {
            return Ok(false);
        };
        let stored = store.require(id)?;
        let is_over = pinned_workflow(&stored)?.is_terminal(&stored.task.status);
        if !is_over || !stored.task.pending.is_empty() {
            return Ok(false);
        }
        let (task, name) = (&stored.task, Some(&record.name));
        let unknown = |Failure { error, .. }: Failure| DriverError::FactUnknown {
            task: id.clone(),
            what: "whether its workspace can be released",
            reason: error,
        };
        let notice = self.workspaces.tear_down(store, task, name);
        if let Some(what) = notice.map_err(unknown)? {
            self.steps.notice(store, id, what)?;
        }
        let released = self.workspaces.release(store, task, name);
        released.map_err(unknown)?;
        let workspace = store.workspace_of(id)?;
        match workspace.filter(|workspace| workspace.name == record.name) {
            Some(workspace) => Ok(store.free_workspace(&workspace)?),
            None => Ok(false),
        }
    }

    fn collect_ignored(
        &self,
        store: &Store,
        git: &Git,
        record: &WorkspaceRecord,
        collected: &mut GcReport,
    ) -> Result<(), DriverError> {
        let _lock = self.context.lock_workspace(&record.name)?;
        if !is_unchanged(store, record)? {
            return Ok(());
        }
        let Ok(Some(worktree)) = git.existing_workspace(&slot(record))? else {
            return Ok(());
        };
        let entries = worktree.ignored_entries()?;
        if entries.is_empty() {
            return Ok(());
        }
        let set_aside = if collected.confirmed {
            let name = format!("{}-{}", record.name, clock::now().millis());
            let folder = self.context.home.set_aside().join(name);
            worktree.move_aside(&entries, &folder)?;
            Some(folder)
        } else {
            None
        };
        let names = entries.iter().map(|it| it.path.to_string_lossy());
        collected.ignored_files.push(IgnoredFiles {
            workspace: record.name.clone(),
            path: record.path.clone(),
            entries: names.map(std::borrow::Cow::into_owned).collect(),
            bytes: entries.iter().map(|it| it.bytes).sum(),
            moved_to: set_aside,
        });
        Ok(())
    }

    /// Checks whether a retired workspace can be used again; saves its work and cleans it if that
    /// is possible by now. The inner error says why it cannot be used.
    pub(super) fn check_retired(
        &self,
        store: &Store,
        git: &Git,
        project: &Project,
        record: &WorkspaceRecord,
    ) -> Result<Result<(), String>, DriverError> {
        let (worktree, task) = match retired_worktree(git, record)? {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(())),
            Err(SlotRefusal::Broken { reason, .. }) => {
                let hint = self.workspaces.repair_hint(&project.path, &record.path);
                return Ok(Err(format!("{reason}; {hint}")));
            }
            Err(refusal) => return Ok(Err(refusal.to_string())),
        };
        let Some(task) = task else {
            let is_at_rest = worktree.condition()?.is_at_rest();
            let reason = "it holds changes or a branch: clean it and detach HEAD";
            return Ok(is_at_rest.then_some(()).ok_or_else(|| reason.to_owned()));
        };
        if let Some(reason) = self.reason_in_use(store, &task, record)? {
            return Ok(Err(reason));
        }
        release(git, project, record, &task)
    }

    /// Why a workspace whose marker names this task may still be in use. Even a retired workspace
    /// can be in use, because a rebuild may have skipped its task.
    fn reason_in_use(
        &self,
        store: &Store,
        task: &TaskId,
        record: &WorkspaceRecord,
    ) -> Result<Option<String>, DriverError> {
        let stored = match store.require(task) {
            Ok(stored) => stored,
            Err(StoreError::UnknownTask { .. }) => {
                return Ok(Some(format!(
                    "it is the worktree of task `{task}`, which is not in the database: fix the \
                     task's directory, then run `orange rebuild --move-aside`"
                )));
            }
            Err(error) => return Err(error.into()),
        };
        let mut runs = stored.task.runs.values();
        if runs.any(|run| !run.state.has_ended()) {
            return Ok(Some(format!(
                "an agent of task `{task}` is running: stop it with `orange task cancel {task}`"
            )));
        }
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = TaskDirectory::new(&self.context.home, &stored.task.project, task)?;
        let file = directory.bound_file()?;
        let is_bound =
            file.is_some_and(|file| canonical(&file).starts_with(canonical(&record.path)));
        Ok(is_bound
            .then(|| format!("task `{task}` uses it: release it with `orange task cancel {task}`")))
    }
}

impl GcReport {
    /// Records a failure, so that the rest continues.
    pub(super) fn note(
        &mut self,
        project: &Project,
        workspace: Option<&WorkspaceName>,
        done: Result<(), DriverError>,
    ) {
        if let Err(error) = done {
            self.problems.push(Problem {
                project: project.name.clone(),
                workspace: workspace.cloned(),
                reason: error.to_string(),
            });
        }
    }
}

/// Lists the rescues of finished tasks whose content is in the default branch, byte for byte.
/// Deletes them if this was confirmed.
fn delete_merged_rescues(
    store: &Store,
    git: &Git,
    project: &Project,
    collected: &mut GcReport,
) -> Result<(), DriverError> {
    let rescues = git.all_rescues()?;
    if rescues.is_empty() {
        return Ok(());
    }
    let base = git.base(&git.default_branch(Some(&project.default_branch))?)?;
    for rescued in rescues {
        // Skip the rescue of an unknown task: another home may have tasks in this repository.
        let Ok(stored) = store.require(&rescued.about.task) else {
            continue;
        };
        let is_over = pinned_workflow(&stored)?.is_terminal(&stored.task.status);
        if !is_over || !git.has_rescue(&rescued, &base)? {
            continue;
        }
        if collected.confirmed {
            git.delete_if_merged(&rescued, &base)?;
        }
        collected.merged_rescues.push(rescued.reference());
    }
    Ok(())
}

/// Saves what is in a retired workspace and cleans it, if that is possible by now.
pub(super) fn release_retired(
    git: &Git,
    project: &Project,
    record: &WorkspaceRecord,
) -> Result<Result<(), String>, DriverError> {
    match retired_worktree(git, record)? {
        Ok(Some((_, Some(task)))) => release(git, project, record, &task),
        Ok(_) => Ok(Ok(())),
        Err(refusal) => Ok(Err(refusal.to_string())),
    }
}

/// A worktree and the task it is marked for.
type MarkedWorktree<'git> = (Worktree<'git>, Option<TaskId>);

/// The worktree of a retired workspace; `None` if it is gone. The inner error says why it cannot be
/// used.
fn retired_worktree<'git>(
    git: &'git Git,
    record: &WorkspaceRecord,
) -> Result<Result<Option<MarkedWorktree<'git>>, SlotRefusal>, DriverError> {
    Ok(match git.existing_workspace(&slot(record))? {
        Ok(Some(worktree)) => {
            let marker = worktree.marker()?;
            let task = marker.and_then(|marker| marker.phase.task().cloned());
            Ok(Some((worktree, task)))
        }
        Ok(None) => Ok(None),
        Err(refusal) => Err(refusal),
    })
}

fn release(
    git: &Git,
    project: &Project,
    record: &WorkspaceRecord,
    task: &TaskId,
) -> Result<Result<(), String>, DriverError> {
    let released = git.release(&ReleaseRequest {
        slot: slot(record),
        task,
        branch: None,
        default: Some(&project.default_branch),
    })?;
    Ok(match released {
        ReleaseResult::Free { .. } | ReleaseResult::Absent => Ok(()),
        ReleaseResult::Retired { obstacles, .. } => {
            let obstacles: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
            Err(obstacles.join("; "))
        }
        ReleaseResult::OtherTask { task } => Err(format!("it belongs to task `{task}`")),
        ReleaseResult::Refused(refusal) => Err(refusal.to_string()),
    })
}
