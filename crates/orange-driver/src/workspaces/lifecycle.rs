//! A task's worktree: reserves, checks out, binds and releases it.
//!
//! Invariant: nothing here deletes work. Work that is unsaved when a worktree is released goes into
//! a rescue. A worktree that cannot be made clean is left unchanged, and leaves the pool.

use std::path::{Path, PathBuf};

use orange_config::clock;
use orange_config::{LogLevel, Project};
use orange_effects::git::{
    AcquireRefusal, AcquireRequest, AcquireResult, AcquiredWorkspace, Freshness, Git, GitError,
    IgnoredEntry, Phase, ReleaseRequest, ReleaseResult, Slot, Worktree,
};
use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::names::WorkspaceName;
use orange_store::{Store, StoreError, WorkspaceRecord, WorkspaceState};
use serde_json::json;

use super::default_branch::{MissingDefaultBranch, missing_default_branch};
use super::prepare::Script;
use super::restore::restore_latest;
use crate::context::script_runs::GATE;
use crate::failure::Failure;
use crate::workspaces::Workspaces;

impl Workspaces {
    /// Makes sure that the task has a usable worktree on its branch, with TASK.md.
    pub(crate) fn acquire(
        &self,
        store: &mut Store,
        task: &Task,
        restore: bool,
        notices: &mut Vec<String>,
    ) -> Result<EffectOutcome, Failure> {
        let projects = self.context.projects().map_err(Failure::permanent)?;
        let mut project = projects
            .require(&task.project)
            .map_err(Failure::permanent)?
            .clone();
        self.record_remote(&mut project)
            .map_err(Failure::temporary)?;
        let workspace = match store.workspace_of(&task.id).map_err(Failure::temporary)? {
            Some(workspace) => workspace,
            None => self.reserve(store, task, &project)?,
        };
        let _lock = self
            .context
            .lock_workspace(&workspace.name)
            .map_err(Failure::temporary)?;
        // A failure keeps the reservation: the next attempt, or a release, continues from there.
        let git = self.open_repository(&project).map_err(Failure::temporary)?;
        let aside = self.aside(&workspace.name);
        let acquired = check_out(store, &git, task, &project, &workspace, &aside)?;
        notices.extend(checkout_warnings(&project, &acquired));
        notices.extend(leftover_notice(
            &acquired.moved_aside,
            &workspace.name,
            &aside,
        ));
        notices.extend(lost_branch_notice(task, &acquired));
        // The run that is being started is recorded already.
        if store.runs(&task.id).map_err(Failure::temporary)?.len() <= 1 {
            let old = old_branch_notice(&git, task, &acquired);
            notices.extend(old.map_err(Failure::temporary)?);
        }
        notices.extend(self.include_files(&git, task, &project, &workspace, &acquired.worktree)?);
        self.run_script(Script::Setup, task, &project, &workspace)?;
        if restore {
            notices.extend(restore_latest(
                &git,
                task,
                &project.default_branch,
                &acquired,
            )?);
        }
        let file = workspace.path.join(&project.task_file);
        let mut bound = orange_store::bind(store, &task.id, &file, clock::now());
        if let Err(StoreError::PathOccupied { .. }) = bound
            && !acquired.is_task_file_tracked
        {
            let moved =
                self.move_leftover_aside(&acquired.worktree, &workspace.name, &project.task_file);
            if let Some(notice) = moved.map_err(Failure::temporary)? {
                notices.push(notice);
                bound = orange_store::bind(store, &task.id, &file, clock::now());
            }
        }
        bound.map_err(|error| match error {
            StoreError::PathOccupied { .. } => Failure::permanent(error),
            error => Failure::temporary(error),
        })?;
        Ok(EffectOutcome::Bound(workspace.name))
    }

    /// Moves aside what an earlier task left at the path of the task's file; returns a notice for
    /// the user, if there was anything.
    fn move_leftover_aside(
        &self,
        worktree: &Worktree<'_>,
        workspace: &WorkspaceName,
        file: &str,
    ) -> Result<Option<String>, GitError> {
        let leftover = IgnoredEntry {
            path: file.into(),
            bytes: 0,
        };
        let folder = self.aside(workspace);
        let moved = worktree.move_aside(&[leftover], &folder)?;
        Ok(leftover_notice(&moved, workspace, &folder))
    }

    /// A directory that no other process uses, for what an earlier task left in a workspace.
    fn aside(&self, workspace: &WorkspaceName) -> PathBuf {
        let name = format!("{workspace}-{}", clock::now().millis());
        self.context.home.set_aside().join(name)
    }

    /// Removes TASK.md, saves unsaved work, and detaches the worktree from the branch. The caller
    /// runs `tear_down` before this.
    ///
    /// The branch and its commits stay as they are. A worktree that cannot be made clean without
    /// losing something is left as it is, and is retired from the pool.
    pub(crate) fn release(
        &self,
        store: &mut Store,
        task: &Task,
        expected: Option<&WorkspaceName>,
    ) -> Result<EffectOutcome, Failure> {
        let Some(workspace) = held_workspace(store, task, expected)? else {
            orange_store::release(store, &task.id, clock::now()).map_err(Failure::temporary)?;
            return Ok(EffectOutcome::Done);
        };
        let _lock = self
            .context
            .lock_workspace(&workspace.name)
            .map_err(Failure::temporary)?;
        let projects = self.context.projects().map_err(Failure::temporary)?;
        let project = projects
            .require(&task.project)
            .map_err(Failure::temporary)?;
        let git = self.open_repository(project).map_err(Failure::temporary)?;
        if let Err(error) = self.retire_private_repositories(task, project, &git, &workspace) {
            // The commits stay in the private repository; the files go into a rescue.
            let more = json!({ "error": error.to_string() });
            let context = &self.context;
            context.log(LogLevel::Warn, &task.id, "commits.not_imported", more);
        }
        orange_store::release(store, &task.id, clock::now()).map_err(Failure::temporary)?;
        let released = git.release(&ReleaseRequest {
            slot: slot(&workspace),
            task: &task.id,
            branch: Some(&task.branch),
            default: Some(&project.default_branch),
        });
        match released.map_err(Failure::temporary)? {
            ReleaseResult::Free { .. } | ReleaseResult::Absent => {}
            ReleaseResult::Retired { .. }
            | ReleaseResult::OtherTask { .. }
            | ReleaseResult::Refused(_) => {
                let retired = store.retire_workspace(&workspace.name);
                retired.map_err(Failure::temporary)?;
            }
        }
        Ok(EffectOutcome::Done)
    }

    /// Runs the project's teardown in a worktree that is still the task's, before `release`.
    ///
    /// A failure does not block the release: it is returned as a notice. The caller records the
    /// notice before the release, because nothing is repeated once the release has happened.
    pub(crate) fn tear_down(
        &self,
        store: &Store,
        task: &Task,
        expected: Option<&WorkspaceName>,
    ) -> Result<Option<String>, Failure> {
        let Some(workspace) = held_workspace(store, task, expected)? else {
            return Ok(None);
        };
        let _lock = self
            .context
            .lock_workspace(&workspace.name)
            .map_err(Failure::temporary)?;
        let projects = self.context.projects().map_err(Failure::temporary)?;
        let project = projects
            .require(&task.project)
            .map_err(Failure::temporary)?;
        let git = self.open_repository(project).map_err(Failure::temporary)?;
        let found = git.existing_workspace(&slot(&workspace));
        let Ok(Some(worktree)) = found.map_err(Failure::temporary)? else {
            return Ok(None);
        };
        let marker = worktree.marker().map_err(Failure::temporary)?;
        let is_bound = marker.is_some_and(
            |it| matches!(&it.phase, Phase::Bound { task: holder, .. } if *holder == task.id),
        );
        let mut notice = None;
        if is_bound {
            let result = self.run_script(Script::Teardown, task, project, &workspace);
            notice = result.err().map(|failure| failure.error);
            for script in [Script::Setup, Script::Teardown] {
                self.end_script(script, task)?;
            }
            let ended = self.end_remaining(GATE, task);
            ended.map_err(Failure::temporary)?;
        }
        Ok(notice)
    }
}

/// The workspace that the task holds; `None` if another workspace is expected.
fn held_workspace(
    store: &Store,
    task: &Task,
    expected: Option<&WorkspaceName>,
) -> Result<Option<WorkspaceRecord>, Failure> {
    let workspace = store.workspace_of(&task.id).map_err(Failure::temporary)?;
    Ok(workspace.filter(|workspace| expected.is_none_or(|expected| workspace.name == *expected)))
}

/// The workspace in the form that git operations take.
pub(crate) fn slot(workspace: &WorkspaceRecord) -> Slot<'_> {
    Slot {
        name: &workspace.name,
        path: &workspace.path,
    }
}

/// Checks out the branch in the worktree, creating the worktree if needed.
///
/// A workspace that turns out to be unusable is retired from the pool, and the next attempt takes
/// another.
fn check_out<'git>(
    store: &mut Store,
    git: &'git Git,
    task: &Task,
    project: &Project,
    workspace: &WorkspaceRecord,
    aside: &Path,
) -> Result<AcquiredWorkspace<'git>, Failure> {
    let submitted = task.submission.as_ref().map(|it| &it.commit);
    let delegation = task.queueing.delegation.as_ref();
    let acquire = AcquireRequest {
        slot: slot(workspace),
        task: &task.id,
        branch: &task.branch,
        // The branch of a child starts at its parent's commit.
        known_commit: submitted.or(delegation.and_then(|it| it.start.as_ref())),
        default: Some(&project.default_branch),
        merges_stay_here: !project.push,
        task_file: &project.task_file,
        excluded: &[],
        aside,
    };
    let refusal = match git.acquire(&acquire) {
        Ok(AcquireResult::Acquired(acquired)) => return Ok(*acquired),
        Ok(AcquireResult::Refused(refusal)) => refusal,
        // A retry would not make the name valid.
        Err(error @ GitError::BadName { .. }) => return Err(Failure::permanent(error)),
        Err(error @ GitError::NoCommit { .. }) => {
            let missing = missing_default_branch(git, project).ok().flatten();
            return Err(match missing {
                Some(MissingDefaultBranch { message, fix }) => {
                    Failure::permanent(format!("{message}; {fix}"))
                }
                None => Failure::temporary(error),
            });
        }
        Err(error) => return Err(Failure::temporary(error)),
    };
    let is_unusable = matches!(
        refusal,
        AcquireRefusal::Slot(_)
            | AcquireRefusal::HasOtherTask(_)
            | AcquireRefusal::NotClean { .. }
            | AcquireRefusal::NotReleased(_)
    );
    if is_unusable {
        let retired = store.retire_workspace(&workspace.name);
        retired.map_err(Failure::temporary)?;
        return Err(Failure::temporary(refusal.hint()));
    }
    let hint = holder_hint(store, project, &refusal).map_err(Failure::temporary)?;
    Err(Failure::permanent(hint.unwrap_or_else(|| refusal.hint())))
}

/// How to free a branch that a retired workspace of this home has.
fn holder_hint(
    store: &Store,
    project: &Project,
    refusal: &AcquireRefusal,
) -> Result<Option<String>, StoreError> {
    let AcquireRefusal::HasOtherWorkspace(path) = refusal else {
        return Ok(None);
    };
    let is_holder =
        |it: &WorkspaceRecord| it.state == WorkspaceState::Retired && is_same_path(&it.path, path);
    let records = store.workspaces(&project.name)?;
    Ok(records.iter().find(|it| is_holder(it)).map(|holder| {
        format!(
            "the retired worktree `{}` still has the branch, because it contains work that could \
             not be saved: `orange workspace gc` says what; save it, run `orange workspace gc` \
             again, then repeat this",
            holder.path.display()
        )
    }))
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical(one) == canonical(other)
}

/// A notice for the user about what an earlier task left.
fn leftover_notice(moved: &[PathBuf], workspace: &WorkspaceName, aside: &Path) -> Option<String> {
    let first = moved.first()?.display();
    let others = match moved.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Some(format!(
        "an earlier task left `{first}`{others} in {workspace}; moved to `{}`",
        aside.display()
    ))
}

/// What the user should know about a worktree that was just checked out.
fn checkout_warnings(project: &Project, acquired: &AcquiredWorkspace<'_>) -> Vec<String> {
    let mut messages = Vec::new();
    if let Freshness::Stale(reason) = &acquired.freshness {
        messages.push(format!(
            "the fetch failed, so the work starts from the last known state of the remote: {reason}"
        ));
    }
    if acquired.base.is_diverged {
        let branch = &acquired.base.branch;
        let start = if project.push {
            "the remote's"
        } else {
            "the local one"
        };
        messages.push(format!(
            "the local `{branch}` and the remote's have diverged; the work starts from {start}, to \
             which this project's merges go; `git pull --no-rebase` in {} joins both",
            project.path.display()
        ));
    }
    messages
}

/// A notice for the user if new work starts on a branch that is older than the default branch and
/// has nothing of its own.
fn old_branch_notice(
    git: &Git,
    task: &Task,
    acquired: &AcquiredWorkspace<'_>,
) -> Result<Option<String>, GitError> {
    let (Some(commit), base) = (acquired.head.commit(), &acquired.base) else {
        return Ok(None);
    };
    if acquired.is_new_branch || acquired.was_acquired || *commit == base.commit {
        return Ok(None);
    }
    let Some(behind) = git.commits_since(commit, &base.commit)? else {
        return Ok(None);
    };
    let (branch, default) = (&task.branch, &base.branch);
    let commits = if behind == 1 { "commit" } else { "commits" };
    Ok(Some(format!(
        "`{branch}` existed before, at {}, {behind} {commits} behind `{default}`, and the work starts \
         there; `git merge {default}` in the worktree brings it up to date",
        commit.short()
    )))
}

/// A notice for the user if the branch of submitted work was gone.
fn lost_branch_notice(task: &Task, acquired: &AcquiredWorkspace<'_>) -> Option<String> {
    let submitted = &task.submission.as_ref()?.commit;
    if !acquired.is_new_branch {
        return None;
    }
    let branch = &task.branch;
    let (commit, base) = (submitted.short(), &acquired.base.branch);
    Some(if acquired.head.commit() == Some(submitted) {
        format!("`{branch}` was gone; it is back at {commit}, the commit that was submitted")
    } else {
        format!(
            "`{branch}` was gone, and git no longer has {commit}, the commit that was submitted; \
             the branch starts again from `{base}`"
        )
    })
}
