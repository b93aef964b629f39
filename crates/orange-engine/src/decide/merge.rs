//! A merge: an effect whose success moves the task.

use super::edges::{self, Caller, Choice, ClosedEdge};
use super::plan_builder::{NeededFacts, PlanBuilder};
use super::submission;
use super::transition::{self, TransitionPlan};
use crate::effect::{Effect, Merge, MergeStrategy};
use crate::event::Fact;
use crate::input::{FactNeeded, GitFacts};
use crate::language::gates::GitCondition;
use crate::language::hooks::OnError;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::merge_result::OmittedWork;
use crate::names::{CommitId, Status};
use crate::refusal::Blocker;
use crate::role::Role;

/// Why a merge request does not lead to a plan.
pub(super) enum MergeBlocker {
    Refused(ClosedEdge),
    Needs(NeededFacts),
}

/// Plans the merge; the status changes only when the merge has succeeded.
pub(super) fn start(
    steps: &mut PlanBuilder<'_>,
    strategy: MergeStrategy,
    local: bool,
    caller: Caller<'_>,
) -> Result<(), MergeBlocker> {
    let Some((to, edges)) = merge_edges(steps) else {
        let verb = Verb::Merge;
        return Err(MergeBlocker::Refused(ClosedEdge {
            missing: vec![Blocker::VerbUnavailable { verb }],
            unchecked: Vec::new(),
            reachable: false,
        }));
    };
    match edges::choose(&edges, caller, steps) {
        Choice::Open { .. } => {}
        Choice::Closed(closed) => return Err(MergeBlocker::Refused(closed)),
        Choice::Needs(facts) => return Err(MergeBlocker::Needs(facts)),
    }
    let Some(git) = steps.facts().and_then(|facts| facts.git.as_ref()) else {
        return Err(MergeBlocker::Needs(vec![FactNeeded::Git]));
    };
    let chosen = match choose_commit(steps, git) {
        Ok(chosen) => chosen,
        Err(missing) => {
            return Err(MergeBlocker::Refused(ClosedEdge {
                missing: vec![missing],
                unchecked: Vec::new(),
                reachable: true,
            }));
        }
    };
    steps.cancel_pending(|effect, _| matches!(effect, Effect::Merge(_)));
    let plan = steps.next_version();
    steps.record(Fact::MergeStarted {
        by: caller.role.clone(),
        strategy,
        head: chosen.commit.clone(),
        base: git.base.clone(),
        left_out: chosen.left_out.clone(),
    });
    let merge = Merge {
        strategy,
        branch: steps.task.branch.clone(),
        head: chosen.commit,
        tip: Some(git.head.clone()),
        base: git.base.clone(),
        to,
        local,
        was_in_base: chosen.is_in_base,
        left_out: chosen.left_out,
        pull_request: steps.task.pull_request.clone().filter(|_| !local),
    };
    steps.plan_effect(plan, Effect::Merge(merge), OnError::Stop);
    Ok(())
}

/// The commit that a merge takes.
struct WantedCommit {
    commit: CommitId,
    is_in_base: bool,
    left_out: OmittedWork,
}

/// Chooses the named commit, else the submitted one, else the head of the branch: if nothing was
/// submitted, the user is assumed to have reviewed the head. Refuses if the head is not the named
/// or submitted commit, unless the caller wants only the named commit.
fn choose_commit(steps: &PlanBuilder<'_>, git: &GitFacts) -> Result<WantedCommit, Blocker> {
    let branch = &steps.task.branch;
    let named = submission::requested_commit(steps);
    if !submission::merges_only_named(steps)
        && let Some(failure) = submission::check_moved(steps, git)
    {
        return Err(Blocker::GateFailed { failure });
    }
    let submitted = steps.task.submission.as_ref().map(|it| &it.commit);
    let commit = named.or(submitted).unwrap_or(&git.head).clone();
    let known = submission::named_commit(git, &commit);
    let since = if commit == git.head {
        Some(0)
    } else {
        known.and_then(|it| it.commits_since)
    };
    let Some(commits) = since else {
        let branch = branch.clone();
        return Err(Blocker::NotInBranch { commit, branch });
    };
    let is_in_base = match known {
        Some(known) => known.is_in_base,
        None => !git.met_conditions.contains(&GitCondition::CommitsAhead),
    };
    // A submitted commit, or one that the user names as the only one, counts as merged if it is in
    // the default branch. Without either, there is nothing to merge.
    if is_in_base && !submission::merges_only_named(steps) && submitted.is_none() {
        let branch = branch.clone();
        return Err(Blocker::NothingToMerge { branch });
    }
    let mut files = git.uncommitted.files.clone();
    // A file whose git filter was not run may have been changed too.
    let unfiltered = git.uncommitted.unfiltered.iter();
    files.extend(unfiltered.map(|it| it.path.clone()));
    Ok(WantedCommit {
        commit,
        is_in_base,
        left_out: OmittedWork { commits, files },
    })
}

/// The status that a merge leads to, and the edges to it: those with the trigger `merged`, or else
/// those with `request`.
fn merge_edges<'a>(steps: &PlanBuilder<'a>) -> Option<(Status, Vec<&'a Edge>)> {
    let targets = steps.workflow.verbs.get(&Verb::Merge)?;
    targets.iter().find_map(|target| {
        let to = match target {
            Target::Status(status) => status.clone(),
            Target::Previous => steps.task.entered.from.clone()?,
        };
        let edges = edges::edges_to_or_requested(steps, &to, Trigger::Merged);
        (!edges.is_empty()).then_some((to, edges))
    })
}

/// Moves the task after its merge has succeeded. The gates were checked before the merge, so they
/// are not checked again.
pub(super) fn finish(
    steps: &mut PlanBuilder<'_>,
    merge: &Merge,
    evidence: String,
) -> Result<(), NeededFacts> {
    let edges = edges::edges_to_or_requested(steps, &merge.to, Trigger::Merged);
    let edge = edges
        .iter()
        .find(|edge| edges::guard_holds(edge, steps))
        .or(edges.first());
    let Some(edge) = edge else {
        steps.raise_attention(format!(
            "{evidence}, but the workflow has no transition for that"
        ));
        return Ok(());
    };
    let taken = TransitionPlan {
        edge,
        to: merge.to.clone(),
        trigger: Trigger::Merged,
        by: Role::Engine,
        because: vec![evidence],
        message: None,
    };
    transition::take(steps, taken)
}
