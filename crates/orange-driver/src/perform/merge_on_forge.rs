//! Merges a pull request on the forge, and confirms it in git.

use std::time::Duration;

use orange_config::clock;
use orange_effects::git::{Git, GitError};
use orange_engine::Task;
use orange_engine::effect::{EffectOutcome, Merge};
use orange_engine::forge::pull_request::PullRequestLink;
use orange_engine::merge_result::{MergeResult, Origin};
use orange_engine::names::{BranchName, CommitId};
use orange_store::Store;

use crate::failure::Failure;
use crate::forge::ForgeFailure;
use crate::forge::open::MergeProgress;
use crate::forge::snapshot::StoredFacts;
use crate::perform::Performer;
use crate::perform::pull_request::{failure, push_head};

/// The pause between two looks at a merge queue.
const QUEUE_INTERVAL: Duration = Duration::from_secs(15);

impl Performer {
    /// Makes the forge merge exactly the decided commit. What the forge answers is no proof: the
    /// merge counts when the fetched default branch has the work.
    pub(crate) fn merge_on_forge(
        &self,
        store: &Store,
        task: &Task,
        merge: &Merge,
        link: &PullRequestLink,
    ) -> Result<EffectOutcome, Failure> {
        let (project, git, address) = self.repository_on_forge(task)?;
        let default = &project.default_branch;
        let merged = || merged_tip(&git, default, &merge.head).map_err(Failure::temporary);
        let mut found = merged()?;
        let was_there = found.is_some();
        if found.is_none() {
            // Do not push to a pull request of others. The forge merges it only if its head is the
            // reviewed commit.
            if !link.is_outside {
                push_head(store, task, &git, &merge.branch, &merge.head)?;
            }
            let was_queued = was_enqueued(store, task, &merge.head)?;
            let strategy = merge.strategy;
            let asked =
                self.forge
                    .merge_pull_request(&address, link, &merge.head, strategy, was_queued);
            if was_queued && matches!(asked, Err(ForgeFailure::Unclear(_))) {
                // Forget the queue, so that the user's next attempt counts as a new one.
                self.mark_enqueued(task, link, None)?;
            }
            match asked.map_err(failure)? {
                MergeProgress::Merged => found = merged()?,
                MergeProgress::Queued => {
                    self.mark_enqueued(task, link, Some(&merge.head))?;
                    return Err(Failure {
                        retry_at: Some(clock::after(QUEUE_INTERVAL)),
                        ..Failure::temporary(format!("{link} waits in the merge queue"))
                    });
                }
            }
        }
        let Some(tip) = found else {
            return Err(Failure::temporary(format!(
                "the forge says that {link} is merged, but the remote's `{default}` does not have \
                 {}",
                merge.head
            )));
        };
        // The work is merged, even if the local branch cannot be fast-forwarded.
        let followed = git.follow_remote(default).map_err(Failure::temporary)?;
        let forwarded = followed.map(|it| it.forwarded).unwrap_or_default();
        let forwarded = forwarded.iter().map(|it| it.display().to_string());
        Ok(EffectOutcome::Merged(MergeResult {
            commit: tip,
            head: Some(merge.head.clone()),
            origin: match (merge.was_in_base, was_there) {
                (true, _) => Origin::AlreadyMerged,
                (false, true) => Origin::EarlierAttempt,
                (false, false) => Origin::ThisMerge,
            },
            into: Some(default.clone()),
            pushed_to: Some(address.to_string()),
            fast_forwarded: forwarded.collect(),
            left_out: merge.left_out.clone(),
            warnings: Vec::new(),
        }))
    }
}

/// Whether orange put this commit into the merge queue.
fn was_enqueued(store: &Store, task: &Task, head: &CommitId) -> Result<bool, Failure> {
    let stored = StoredFacts::load(store, &task.id).map_err(Failure::temporary)?;
    Ok(stored.is_some_and(|it| it.enqueued.as_ref() == Some(head)))
}

impl Performer {
    /// Remembers which commit orange put into the merge queue. After a crash before this call, the
    /// next attempt finds the commit in the queue and remembers it then.
    fn mark_enqueued(
        &self,
        task: &Task,
        link: &PullRequestLink,
        head: Option<&CommitId>,
    ) -> Result<(), Failure> {
        let mut store = self.context.store().map_err(Failure::temporary)?;
        let load = |store: &Store| StoredFacts::load(store, &task.id).map_err(Failure::temporary);
        let mut stored = load(&store)?;
        if stored.is_none()
            && let Some(look) = self.forge.look(&store, task, None).map_err(failure)?
        {
            let remembered = self.forge.remember(&mut store, &task.id, &look);
            remembered.map_err(failure)?;
            stored = load(&store)?;
        }
        if let Some(mut stored) = stored {
            stored.enqueued = head.cloned();
            stored.save(&mut store, &task.id, link).map_err(failure)?;
        }
        Ok(())
    }
}

/// The fetched default branch, if it has the work of a commit.
fn merged_tip(
    git: &Git,
    default: &BranchName,
    head: &CommitId,
) -> Result<Option<CommitId>, GitError> {
    let Some(tip) = git.fetch_tip(default)? else {
        return Ok(None);
    };
    let is_there = git.contains_work(&tip, head)?;
    Ok(is_there.then_some(tip))
}
