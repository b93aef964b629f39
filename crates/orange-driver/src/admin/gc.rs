//! Cleans up the pool: retries releases, frees workspaces, lists leftovers.
//!
//! Invariant: nothing here deletes a byte that is not in a commit. Ignored files are moved aside,
//! and a rescue is deleted only when the default branch contains all of it.

use std::path::{Path, PathBuf};

use orange_config::Project;
use orange_config::clock;
use orange_effects::git::{Git, Release, Released};
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::task::RunState;
use orange_store::{Store, StoreError, TaskDirectory, WorkspaceRecord, WorkspaceState};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;
use crate::context::lock::Lock;
use crate::failure::Failure;
use crate::request::wait::Waiting;
use crate::steps::pinned;
use crate::workspaces::lifecycle::slot;
use crate::workspaces::list::is_unchanged;

/// What was put in order, and what is left for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Collected {
    /// Tasks whose given-up releases were tried again.
    pub retried: Vec<TaskId>,
    /// Workspaces that are in the pool again.
    pub freed: Vec<WorkspaceName>,
    /// Workspaces that stay out of it, and why.
    pub left: Vec<Left>,
    /// What git ignores in idle workspaces.
    pub ignored: Vec<IgnoredIn>,
    /// Rescues of which the default branch holds every byte.
    pub merged_rescues: Vec<String>,
    /// Whether ignored files were set aside and merged rescues forgotten.
    pub confirmed: bool,
    /// Projects and workspaces that could not be looked after; they keep no other waiting.
    pub problems: Vec<Problem>,
}

/// What could not be put in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// The project.
    pub project: ProjectName,
    /// The workspace, when it is about one.
    pub workspace: Option<WorkspaceName>,
    /// What stood in the way.
    pub reason: String,
}

/// A workspace that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Left {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Its worktree.
    pub path: PathBuf,
    /// What stands in the way.
    pub reason: String,
}

/// What git ignores in an idle workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct IgnoredIn {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Its worktree.
    pub path: PathBuf,
    /// The files, directories as one.
    pub entries: Vec<String>,
    /// How much they hold.
    pub bytes: u64,
    /// Where they were moved to.
    pub set_aside: Option<PathBuf>,
}

impl Admin {
    /// Cleans up the pool of one project, or of all. Moves ignored files and deletes merged rescues
    /// only when `confirmed`.
    pub fn collect(
        &self,
        project: Option<&ProjectName>,
        confirmed: bool,
        waiting: Waiting,
    ) -> Result<Collected, DriverError> {
        self.callers
            .require_person("put the pool of workspaces in order")?;
        let mut collected = Collected {
            confirmed,
            ..Collected::default()
        };
        let mut store = self.context.store()?;
        for project in self.workspaces.meant_projects(project)? {
            let done = self.collect_in(&mut store, &project, waiting, &mut collected);
            collected.note(&project, None, done);
        }
        Ok(collected)
    }

    fn collect_in(
        &self,
        store: &mut Store,
        project: &Project,
        waiting: Waiting,
        collected: &mut Collected,
    ) -> Result<(), DriverError> {
        let retried = self.retry_releases(store, project, waiting, &mut collected.retried);
        collected.note(project, None, retried);
        let git = self.workspaces.open_repository(project)?;
        for record in store.workspaces(&project.name)? {
            self.context
                .meanwhile
                .note(format!("looking after {}", record.name));
            let done = self.collect_one(store, &git, project, &record, collected);
            collected.note(project, Some(&record.name), done);
        }
        forget_merged(store, &git, project, collected)
    }

    fn collect_one(
        &self,
        store: &mut Store,
        git: &Git,
        project: &Project,
        record: &WorkspaceRecord,
        collected: &mut Collected,
    ) -> Result<(), DriverError> {
        match &record.state {
            WorkspaceState::Bound(task) | WorkspaceState::Reserved(task) => {
                if self.take_from_ended(store, task, record)? {
                    collected.freed.push(record.name.clone());
                }
            }
            WorkspaceState::Retired => {
                let _lock = self.context.lock_workspace(&record.name)?;
                // The previous holder of the lock may have cleaned it up, and a task may use it by
                // now.
                if !is_unchanged(store, record)? {
                    return Ok(());
                }
                match self.mended(store, git, project, record)? {
                    Ok(()) => {
                        if store.free_workspace(record)? {
                            collected.freed.push(record.name.clone());
                        }
                    }
                    Err(reason) => collected.left.push(Left {
                        workspace: record.name.clone(),
                        path: record.path.clone(),
                        reason,
                    }),
                }
            }
            WorkspaceState::Free => self.look_for_ignored(store, git, record, collected)?,
        }
        Ok(())
    }

    /// Releases the workspace of a finished task that has no pending effects.
    fn take_from_ended(
        &self,
        store: &mut Store,
        id: &TaskId,
        record: &WorkspaceRecord,
    ) -> Result<bool, DriverError> {
        let stored = store.require(id)?;
        // If the task has a performer, the performer releases it.
        let Some(_lock) = Lock::to_perform(&stored.directory)? else {
            return Ok(false);
        };
        let stored = store.require(id)?;
        let over = pinned(&stored)?.is_terminal(&stored.task.status);
        if !over || !stored.task.pending.is_empty() {
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
        let held = store.workspace_of(id)?;
        match held.filter(|held| held.name == record.name) {
            Some(held) => Ok(store.free_workspace(&held)?),
            None => Ok(false),
        }
    }

    fn look_for_ignored(
        &self,
        store: &Store,
        git: &Git,
        record: &WorkspaceRecord,
        collected: &mut Collected,
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
            worktree.set_aside(&entries, &folder)?;
            Some(folder)
        } else {
            None
        };
        let names = entries.iter().map(|it| it.path.to_string_lossy());
        collected.ignored.push(IgnoredIn {
            workspace: record.name.clone(),
            path: record.path.clone(),
            entries: names.map(std::borrow::Cow::into_owned).collect(),
            bytes: entries.iter().map(|it| it.bytes).sum(),
            set_aside,
        });
        Ok(())
    }

    /// Whether a retired workspace can be used again by now.
    fn mended(
        &self,
        store: &Store,
        git: &Git,
        project: &Project,
        record: &WorkspaceRecord,
    ) -> Result<Result<(), String>, DriverError> {
        let worktree = match git.existing_workspace(&slot(record))? {
            Ok(Some(worktree)) => worktree,
            Ok(None) => return Ok(Ok(())),
            Err(refusal) => return Ok(Err(refusal.to_string())),
        };
        let marker = worktree.marker()?;
        let Some(task) = marker.as_ref().and_then(|marker| marker.phase.task()) else {
            let condition = worktree.condition()?;
            let is_at_rest = condition.is_clean() && condition.head.branch().is_none();
            let reason = "somebody works in it: leave it clean and with a detached HEAD";
            return Ok(is_at_rest.then_some(()).ok_or_else(|| reason.to_owned()));
        };
        if let Some(reason) = self.in_use(store, task, record)? {
            return Ok(Err(reason));
        }
        let released = git.release(&Release {
            slot: slot(record),
            task,
            default: Some(&project.default_branch),
        })?;
        Ok(match released {
            Released::Free { .. } | Released::Absent => Ok(()),
            Released::Retired { obstacles, .. } => {
                let obstacles: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
                Err(obstacles.join("; "))
            }
            Released::NotThatTasks { task } => Err(format!("it is task `{task}`'s")),
            Released::Refused(refusal) => Err(refusal.to_string()),
        })
    }

    /// Why a workspace that is marked as this task's may still be in use. Even a retired one can
    /// be: a rebuild may have skipped its task.
    fn in_use(
        &self,
        store: &Store,
        task: &TaskId,
        record: &WorkspaceRecord,
    ) -> Result<Option<String>, DriverError> {
        let stored = match store.require(task) {
            Ok(stored) => stored,
            Err(StoreError::UnknownTask { .. }) => {
                return Ok(Some(format!(
                    "it is the worktree of task `{task}`, which is not in the database: mend the \
                     task's directory, then run `orange rebuild --move-aside`"
                )));
            }
            Err(error) => return Err(error.into()),
        };
        let mut runs = stored.task.runs.values();
        if runs.any(|run| !matches!(run.state, RunState::Ended { .. })) {
            return Ok(Some(format!(
                "an agent of task `{task}` runs: end it with `orange task cancel {task}`"
            )));
        }
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let directory = TaskDirectory::new(&self.context.home, &stored.task.project, task)?;
        let file = directory.bound_file()?;
        let is_bound = file.is_some_and(|file| real(&file).starts_with(real(&record.path)));
        Ok(is_bound.then(|| {
            format!("task `{task}` is bound to it: give it back with `orange task cancel {task}`")
        }))
    }
}

impl Collected {
    /// Records a failure, so that the rest continues.
    fn note(
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

/// Deletes, or only lists, rescues of finished tasks that the default branch contains byte for
/// byte.
fn forget_merged(
    store: &Store,
    git: &Git,
    project: &Project,
    collected: &mut Collected,
) -> Result<(), DriverError> {
    let rescues = git.all_rescues()?;
    if rescues.is_empty() {
        return Ok(());
    }
    let base = git.base(&git.default_branch(Some(&project.default_branch))?)?;
    for rescued in rescues {
        // Another home may have tasks in the same repository.
        let Ok(stored) = store.require(&rescued.about.task) else {
            continue;
        };
        let over = pinned(&stored)?.is_terminal(&stored.task.status);
        if !over || !git.holds_rescue(&rescued, &base)? {
            continue;
        }
        if collected.confirmed {
            git.forget_if_merged(&rescued, &base)?;
        }
        collected.merged_rescues.push(rescued.reference());
    }
    Ok(())
}
