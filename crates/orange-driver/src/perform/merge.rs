//! Merges a task's branch into the default branch.

use std::time::Duration;

use orange_config::{MergePlace, Project, Settings, clock};
use orange_effects::git::{
    Git, GitError, MergeObstacle, MergeOutcome, MergeRefusal, MergeRequest, Verify,
};
use orange_engine::Task;
use orange_engine::effect::{EffectOutcome, Merge};
use orange_engine::merge_result::{MergeResult, Origin};
use orange_engine::names::CommitId;
use orange_store::{Pending, Store};

use crate::context::lock::Lock;
use crate::due::{Next, next, planned_at};
use crate::failure::Failure;
use crate::perform::Performer;
use crate::perform::assistants::assistants;
use crate::workspaces::verification::Verification;

/// How often a merge checks whether it is its turn.
const QUEUE_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Where a merge goes.
struct MergeTarget {
    project: Project,
    git: Git,
    settings: Settings,
}

impl Performer {
    /// Makes sure that the default branch has the branch's changes, as decided.
    ///
    /// A retry helps only if the machine or the network failed. The user has to resolve anything
    /// else and start the next attempt.
    pub(crate) fn merge(
        &self,
        store: &Store,
        task: &Task,
        pending: &Pending,
        merge: &Merge,
    ) -> Result<EffectOutcome, Failure> {
        self.wait_for_turn(store, task, pending)?;
        let target = self.merge_target(task)?;
        if let (Some(link), MergePlace::Forge) = (&merge.pull_request, target.settings.forge.merge)
        {
            return self.merge_on_forge(store, task, merge, link);
        }
        let is_cancelled = || is_cancelled(store, pending);
        let merged = self.merge_here(store, task, pending, merge, &target, &is_cancelled)?;
        merged.map_err(|refusal| Failure {
            feedback: verification_feedback(&refusal),
            ..Failure::permanent(refusal)
        })
    }

    /// Finishes a merge that no process performs any more, if it has changed something: the remote,
    /// a branch or a file. Otherwise it is refused as cancelled, and files that it was replacing are
    /// put back. `None` if a forge makes it: whether it did is found at its pull request.
    pub(crate) fn finish_merge(
        &self,
        store: &Store,
        task: &Task,
        pending: &Pending,
        merge: &Merge,
    ) -> Result<Option<Result<EffectOutcome, Box<MergeRefusal>>>, Failure> {
        let target = self.merge_target(task)?;
        if merge.pull_request.is_some() && target.settings.forge.merge == MergePlace::Forge {
            return Ok(None);
        }
        let ended = self.merge_here(store, task, pending, merge, &target, &|| true)?;
        Ok(Some(ended))
    }

    fn merge_target(&self, task: &Task) -> Result<MergeTarget, Failure> {
        let repository = self.workspaces.repository_of(task);
        let (project, git) = repository.map_err(Failure::temporary)?;
        let settings = self.context.settings(Some(&project));
        let settings = settings.map_err(Failure::temporary)?;
        Ok(MergeTarget {
            project,
            git,
            settings,
        })
    }

    /// Merges in this repository; a merge that is cancelled from the start is not verified.
    fn merge_here(
        &self,
        store: &Store,
        task: &Task,
        pending: &Pending,
        merge: &Merge,
        target: &MergeTarget,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Result<EffectOutcome, Box<MergeRefusal>>, Failure> {
        let MergeTarget { project, git, .. } = target;
        let settings = &target.settings.merge;
        let command = settings.verify.as_ref().filter(|_| !is_cancelled());
        let verification = command.map(|command| Verification {
            task,
            project,
            git,
            command,
            timeout: settings.verify_timeout,
            is_cancelled,
        });
        let verify = |commit: &CommitId| match &verification {
            Some(verification) => self.workspaces.verify(verification, commit),
            None => Ok(Ok(())),
        };
        let at = planned_at(store, pending).map_err(Failure::temporary)?;
        let assisted_by = if settings.assisted_by {
            assistants(store, task).map_err(Failure::temporary)?
        } else {
            Vec::new()
        };
        let outcome = git.merge(&MergeRequest {
            task: &task.id,
            summary: &task.summary,
            assisted_by: &assisted_by,
            strategy: merge.strategy,
            branch: &merge.branch,
            head: &merge.head,
            tip: merge.tip.as_ref().unwrap_or(&merge.head),
            default: &project.default_branch,
            base: &merge.base,
            task_file: &project.task_file,
            at: at.unwrap_or_default(),
            push: project.push && !merge.local,
            is_cancelled,
            verify: verification.as_ref().map(|_| &verify as &Verify<'_>),
            is_trial: false,
        });
        match outcome {
            Ok(MergeOutcome::Merged {
                commit,
                was_there,
                pushed_to,
                forwarded,
            }) => {
                let origin = match (merge.was_in_base, was_there) {
                    (true, _) => Origin::AlreadyMerged,
                    (false, true) => Origin::EarlierAttempt,
                    (false, false) => Origin::ThisMerge,
                };
                let forwarded = forwarded.iter().map(|it| it.display().to_string());
                Ok(Ok(EffectOutcome::Merged(MergeResult {
                    commit,
                    head: Some(merge.head.clone()),
                    origin,
                    into: Some(project.default_branch.clone()),
                    pushed_to,
                    fast_forwarded: forwarded.collect(),
                    left_out: merge.left_out.clone(),
                    warnings: Vec::new(),
                })))
            }
            Ok(MergeOutcome::Refused(refusal)) => Ok(Err(refusal)),
            Err(
                error @ (GitError::NoIdentity(_)
                | GitError::TooOld { .. }
                | GitError::RemoteChanged { .. }),
            ) => Err(Failure::permanent(error)),
            Err(error @ GitError::Unreachable { .. }) => Err(Failure::temporary(format!(
                "{error}; to merge without the remote, run `orange task merge {} --local`",
                task.id
            ))),
            Err(error) => Err(Failure::temporary(error)),
        }
    }
}

impl Performer {
    /// Puts this merge off while an earlier one is pending: merges into one repository are made in
    /// the order in which they were requested, each on the result of the one before.
    fn wait_for_turn(&self, store: &Store, task: &Task, pending: &Pending) -> Result<(), Failure> {
        let ahead = store.merge_ahead(&task.project, pending);
        let Some(ahead) = ahead.map_err(Failure::temporary)? else {
            return Ok(());
        };
        // The process that performs the earlier merge may have been killed, so start another.
        let directory = store.require(&ahead).map_err(Failure::temporary)?.directory;
        let next = next(store, &ahead, clock::now()).map_err(Failure::temporary)?;
        if matches!(next, Next::Now(_))
            && !Lock::is_performing(&directory)
            && !self.context.is_supervised()
        {
            let started = self.context.start_performer(&ahead);
            started.map_err(Failure::temporary)?;
        }
        Err(Failure {
            retry_at: Some(clock::after(QUEUE_POLL_INTERVAL)),
            ..Failure::temporary(format!("waits for the merge of {ahead}"))
        })
    }
}

/// What the task's agent needs to know about a failed verification.
fn verification_feedback(refusal: &MergeRefusal) -> Option<String> {
    let MergeObstacle::NotVerified {
        command,
        ending,
        output,
        ..
    } = &refusal.obstacle
    else {
        return None;
    };
    let (default, upstream) = (&refusal.default, &refusal.upstream);
    let output = match output.trim_end() {
        "" => String::from("It printed nothing."),
        output => format!("The end of its output:\n\n{output}"),
    };
    Some(format!(
        "the branch was merged into `{default}` to try it, and `{command}` {ending} on the result. \
         Run `git merge {upstream}`, make `{command}` succeed, and commit. {output}"
    ))
}

/// Whether the task has dropped this effect; if that cannot be read, the merge continues.
pub(super) fn is_cancelled(store: &Store, pending: &Pending) -> bool {
    let task = store.require(&pending.task);
    task.is_ok_and(|stored| stored.task.pending_effect(pending.planned.id).is_none())
}
