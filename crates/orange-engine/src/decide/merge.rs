//! A merge: an effect whose success moves the task.

use super::edges::{self, Asker, Choice, Closed};
use super::steps::{Needed, Steps};
use super::transition::{self, Taken};
use crate::effect::{Effect, Merge, MergeStrategy};
use crate::event::Fact;
use crate::input::FactNeeded;
use crate::language::hooks::OnError;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::names::Status;
use crate::refusal::Missing;
use crate::role::Role;

/// What asking for a merge comes to, besides a plan.
pub(super) enum Blocked {
    Refused(Closed),
    Needs(Needed),
}

/// Plans the merge; the status changes only when it has succeeded.
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
    steps.cancel_pending(|effect, _| matches!(effect, Effect::Merge(_)));
    let plan = steps.next_version();
    steps.record(Fact::MergeStarted {
        by: asker.role.clone(),
        strategy,
        head: git.head.clone(),
        base: git.base.clone(),
    });
    let merge = Merge {
        strategy,
        branch: steps.task.branch.clone(),
        head: git.head.clone(),
        base: git.base.clone(),
        to,
        local,
    };
    steps.plan_effect(plan, Effect::Merge(merge), OnError::Stop);
    Ok(())
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

/// Moves the task after its own merge succeeded. Gates were asked before; now it is a fact.
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
