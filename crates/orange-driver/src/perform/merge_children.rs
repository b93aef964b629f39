//! Merges the branches of finished children into the branch of their parent.
//!
//! Each merge is built from objects and moves the parent's branch once. A repeat finds the branches
//! that the parent's branch already contains and continues with the next. No child's branch is
//! changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use orange_config::{Project, clock};
use orange_effects::git::{Git, GitError, MergeObstacle, MergeOutcome, MergeRequest};
use orange_engine::Task;
use orange_engine::delegation::ChildMerge;
use orange_engine::effect::{Effect, EffectOutcome, MergeStrategy};
use orange_engine::names::TaskId;
use orange_engine::schedule::SchedulePlace;
use orange_engine::task::{PendingEffect, PendingState};
use orange_engine::time::Timestamp;
use orange_store::steps::reach;
use orange_store::{Pending, Store};

use crate::DriverError;
use crate::context::lock::Lock;
use crate::due::planned_at;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::perform::merge::is_cancelled;
use crate::steps::pinned_workflow;

/// How often a merge checks whether the agents of a child have ended.
const AGENTS_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The branch that children are merged into.
struct Target<'a> {
    parent: &'a Task,
    project: &'a Project,
    git: &'a Git,
    /// When the merges were decided: the date of their commits, so that a repeat makes the same.
    at: Timestamp,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl Performer {
    /// Makes sure that the task's branch contains the branches of these children that are done, or
    /// says what prevents it.
    pub(crate) fn merge_children(
        &self,
        store: &Store,
        task: &Task,
        pending: &Pending,
        children: &[TaskId],
    ) -> Result<EffectOutcome, Failure> {
        let repository = self.workspaces.repository_of(task);
        let (project, git) = repository.map_err(Failure::temporary)?;
        let at = planned_at(store, pending).map_err(Failure::temporary)?;
        let is_cancelled = || is_cancelled(store, pending);
        let target = Target {
            parent: task,
            project: &project,
            git: &git,
            at: at.unwrap_or_default(),
            is_cancelled: &is_cancelled,
        };
        let mut merges = BTreeMap::new();
        for child in finished_children(store, task, children).map_err(Failure::temporary)? {
            self.wait_for_agents(store, &child)?;
            let merge = target.merge(&child).map_err(Failure::temporary)?;
            merges.insert(child.id, merge);
            reach("a child is merged");
        }
        Ok(EffectOutcome::ChildrenMerged(merges))
    }

    /// A notice for each child whose work is missing in the branch of a finished task. Its agents
    /// have been ended, so none of them will merge it.
    pub(crate) fn unmerged_children(
        &self,
        store: &Store,
        task: &Task,
    ) -> Result<Vec<String>, DriverError> {
        let workflow = pinned_workflow(&store.require(&task.id)?)?;
        let has_finished = workflow.is_terminal(&task.status);
        if !has_finished || workflow.is_cancelled(&task.status) {
            return Ok(Vec::new());
        }
        let mut task = task.clone();
        self.workspaces.refresh_child_merges(&mut task)?;
        let own = &task.branch;
        let notices = task.child_merges.iter().filter_map(|(child, merge)| {
            let branch = match merge {
                ChildMerge::Merged => return None,
                ChildMerge::Conflicts { branch, .. } | ChildMerge::Prevented { branch, .. } => {
                    branch
                }
            };
            Some(format!(
                "`{own}` lacks the work of child task `{child}`, which is on `{branch}`: add it \
                 with `git merge {branch}`"
            ))
        });
        Ok(notices.collect())
    }

    /// Puts the merge off while an agent of the child may still commit.
    fn wait_for_agents(&self, store: &Store, child: &Task) -> Result<(), Failure> {
        let is_kill = |pending: &PendingEffect| {
            matches!(pending.planned.effect, Effect::Kill(_))
                && pending.state == PendingState::Waiting
        };
        if !child.pending.iter().any(is_kill) {
            return Ok(());
        }
        // The process that performs it may have been killed, so start another.
        let stored = store.require(&child.id).map_err(Failure::temporary)?;
        if !Lock::is_performing(&stored.directory) {
            let left = self.context.leave_to_performer(store, &child.id);
            left.map_err(Failure::temporary)?;
        }
        Err(Failure {
            retry_at: Some(clock::after(AGENTS_POLL_INTERVAL)),
            ..Failure::temporary(format!("waits for the agents of {} to end", child.id))
        })
    }
}

impl Target<'_> {
    fn merge(&self, child: &Task) -> Result<ChildMerge, GitError> {
        let prevented = |reason: String| ChildMerge::Prevented {
            branch: child.branch.clone(),
            reason,
        };
        let Some(head) = self.git.branch(&child.branch)? else {
            return Ok(prevented(String::from("it is gone")));
        };
        let delegation = child.queueing.delegation.as_ref();
        let start = delegation.and_then(|link| link.start.as_ref());
        let tip = match (self.git.branch(&self.parent.branch)?, start) {
            (Some(tip), _) => tip,
            // The run that planned the children had no worktree, so its task has no branch.
            (None, Some(start)) => {
                self.git.create_branch(&self.parent.branch, start)?;
                reach("the branch of the parent is created");
                start.clone()
            }
            (None, None) => {
                let branch = &self.parent.branch;
                return Ok(prevented(format!("{branch} does not exist yet")));
            }
        };
        let merged = self.git.merge(&MergeRequest {
            task: &child.id,
            summary: &child.summary,
            // The merge of the parent names the agents of its children.
            assisted_by: &[],
            strategy: MergeStrategy::Auto,
            branch: &child.branch,
            head: &head,
            tip: &head,
            default: &self.parent.branch,
            base: &tip,
            task_file: &self.project.task_file,
            at: self.at,
            push: false,
            is_cancelled: self.is_cancelled,
            verify: None,
            is_trial: false,
        });
        let refusal = match merged {
            Ok(MergeOutcome::Merged { .. }) => return Ok(ChildMerge::Merged),
            Ok(MergeOutcome::Refused(refusal)) => refusal,
            // A retry would not help, and the parent's agent can merge by itself.
            Err(error @ (GitError::NoIdentity(_) | GitError::TooOld { .. })) => {
                return Ok(prevented(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        Ok(match refusal.obstacle {
            MergeObstacle::Conflicts(files) => ChildMerge::Conflicts {
                branch: child.branch.clone(),
                files: files.iter().map(|it| shown(it)).collect(),
            },
            obstacle => prevented(obstacle.to_string()),
        })
    }
}

/// The path of a file in a form that is safe to show.
fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// Those of the children that ended and were not cancelled: first those that reports requested, in
/// the order of the requests.
fn finished_children(
    store: &Store,
    parent: &Task,
    children: &[TaskId],
) -> Result<Vec<Task>, DriverError> {
    let done = SchedulePlace::Ended { cancelled: false };
    let mut finished = Vec::new();
    for child in store.children(&parent.id)? {
        if child.place == done && children.contains(&child.task) {
            finished.push(store.require(&child.task)?.task);
        }
    }
    finished.sort_by_key(|child| {
        let link = child.queueing.delegation.as_ref();
        let request = link.map(|link| (link.attempt, link.index));
        (request.is_none(), request, child.id.clone())
    });
    Ok(finished)
}
