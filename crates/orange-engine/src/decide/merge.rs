//! A merge: an effect whose success moves the task.

use super::edges::{self, Asker, Choice, Closed};
use super::steps::{Needed, Steps};
use super::submission;
use super::transition::{self, Taken};
use crate::effect::{Effect, Merge, MergeStrategy};
use crate::event::Fact;
use crate::input::{FactNeeded, GitFacts};
use crate::language::gates::GitCondition;
use crate::language::hooks::OnError;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::merged::LeftOut;
use crate::names::{CommitId, Status};
use crate::refusal::Missing;
use crate::role::Role;

/// Why a merge request does not lead to a plan.
pub(super) enum Blocked {
    Refused(Closed),
    Needs(Needed),
}

/// Plans the merge; the status changes only when the merge has succeeded.
pub(super) fn start(
    steps: &mut Steps<'_>,
    strategy: MergeStrategy,
    local: bool,
    asker: Asker<'_>,
) -> Result<(), Blocked> {
    let Some((to, edges)) = way(steps) else {
        let verb = Verb::Merge;
        return Err(Blocked::Refused(Closed {
            missing: vec![Missing::VerbUnavailable { verb }],
            unchecked: Vec::new(),
            reachable: false,
        }));
    };
    match edges::choose(&edges, asker, steps) {
        Choice::Open { .. } => {}
        Choice::Closed(closed) => return Err(Blocked::Refused(closed)),
        Choice::Needs(facts) => return Err(Blocked::Needs(facts)),
    }
    let Some(git) = steps.facts().and_then(|facts| facts.git.as_ref()) else {
        return Err(Blocked::Needs(vec![FactNeeded::Git]));
    };
    let wanted = match wanted(steps, git) {
        Ok(wanted) => wanted,
        Err(missing) => {
            return Err(Blocked::Refused(Closed {
                missing: vec![missing],
                unchecked: Vec::new(),
                reachable: true,
            }));
        }
    };
    steps.cancel_pending(|effect, _| matches!(effect, Effect::Merge(_)));
    let plan = steps.next_version();
    steps.record(Fact::MergeStarted {
        by: asker.role.clone(),
        strategy,
        head: wanted.commit.clone(),
        base: git.base.clone(),
        left_out: wanted.left_out.clone(),
    });
    let merge = Merge {
        strategy,
        branch: steps.task.branch.clone(),
        head: wanted.commit,
        tip: Some(git.head.clone()),
        base: git.base.clone(),
        to,
        local,
        was_in_base: wanted.is_in_base,
        left_out: wanted.left_out,
    };
    steps.plan_effect(plan, Effect::Merge(merge), OnError::Stop);
    Ok(())
}

/// The commit that a merge takes.
struct WantedCommit {
    commit: CommitId,
    is_in_base: bool,
    left_out: LeftOut,
}

/// The commit that was named; else the submitted one, if the branch is still at it; else the head
/// of the branch, because a caller that merges unsubmitted work is its reviewer.
fn wanted(steps: &Steps<'_>, git: &GitFacts) -> Result<WantedCommit, Missing> {
    let branch = &steps.task.branch;
    let named = submission::named_by(steps);
    if !submission::leaves_rest(steps)
        && let Some(failure) = submission::moved(steps, git)
    {
        return Err(Missing::GateFailed { failure });
    }
    let submitted = steps.task.submission.as_ref().map(|it| &it.commit);
    let commit = named.or(submitted).unwrap_or(&git.head).clone();
    let known = submission::known(git, &commit);
    let since = if commit == git.head {
        Some(0)
    } else {
        known.and_then(|it| it.commits_since)
    };
    let Some(commits) = since else {
        let branch = branch.clone();
        return Err(Missing::NotInBranch { commit, branch });
    };
    let is_in_base = match known {
        Some(known) => known.is_in_base,
        None => !git.holds.contains(&GitCondition::CommitsAhead),
    };
    // A commit that was reviewed or named counts as merged if it is in the default branch; a branch
    // that never had a commit of its own does not.
    if is_in_base && named.is_none() && submitted.is_none() {
        let branch = branch.clone();
        return Err(Missing::NothingToMerge { branch });
    }
    Ok(WantedCommit {
        commit,
        is_in_base,
        left_out: LeftOut {
            commits,
            files: git.unclean.files.clone(),
        },
    })
}

/// Where a merge leads from here, and by which edges: `merged` ones, else requests.
fn way<'a>(steps: &Steps<'a>) -> Option<(Status, Vec<&'a Edge>)> {
    let targets = steps.workflow.verbs.get(&Verb::Merge)?;
    targets.iter().find_map(|target| {
        let to = match target {
            Target::Status(status) => status.clone(),
            Target::Previous => steps.task.entered.from.clone()?,
        };
        let edges = edges::leading_by_rule(steps, &to, Trigger::Merged);
        (!edges.is_empty()).then_some((to, edges))
    })
}

/// Moves the task after its own merge succeeded. Gates were checked before; now it is a fact.
pub(super) fn finish(steps: &mut Steps<'_>, merge: &Merge, shown: String) -> Result<(), Needed> {
    let edges = edges::leading_by_rule(steps, &merge.to, Trigger::Merged);
    let edge = edges
        .iter()
        .find(|edge| edges::guard_holds(edge, steps))
        .or(edges.first());
    let Some(edge) = edge else {
        steps.raise_attention(format!("{shown}, and the workflow leads nowhere from here"));
        return Ok(());
    };
    let taken = Taken {
        edge,
        to: merge.to.clone(),
        trigger: Trigger::Merged,
        by: Role::Engine,
        because: vec![shown],
        message: None,
    };
    transition::take(steps, taken)
}
