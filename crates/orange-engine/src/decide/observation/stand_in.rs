//! Another harness takes over a start that its harness holds back.

use crate::decide::plan_builder::PlanBuilder;
use crate::decide::respawn;
use crate::effect::{Effect, Spawn};
use crate::event::Fact;
use crate::language::defaults;
use crate::language::hooks::HarnessChoice;
use crate::names::{HarnessName, RunId};
use crate::role::Role;
use crate::task::PendingState;

/// Plans the start of the run again, with another harness. A start that has been performed or
/// cancelled meanwhile stays as it is.
pub(super) fn take_over(
    steps: &mut PlanBuilder<'_>,
    run: &RunId,
    harness: &HarnessName,
    reason: &str,
) {
    let pending = steps.task.pending.iter().find(|pending| {
        let is_waiting = pending.state == PendingState::Waiting;
        is_waiting && matches!(&pending.planned.effect, Effect::Spawn(it) if it.run == *run)
    });
    let Some(planned) = pending.map(|pending| pending.planned.clone()) else {
        return;
    };
    let Effect::Spawn(spawn) = planned.effect else {
        return;
    };
    if spawn.harness == *harness {
        return;
    }
    steps.cancel_pending(|effect, _| matches!(effect, Effect::Spawn(it) if it.run == *run));
    steps.record(Fact::HarnessReplaced {
        role: spawn.role.clone(),
        reviews: chosen_for(steps, &spawn.role) == HarnessChoice::Review,
        from: spawn.harness.clone(),
        to: harness.clone(),
        reason: reason.to_owned(),
    });
    let start = Effect::Spawn(Spawn {
        harness: harness.clone(),
        // Names of models and efforts belong to one harness.
        model: None,
        effort: None,
        ..respawn::as_run(spawn, steps.fresh_run())
    });
    steps.plan_timed_effect(planned.plan, start, planned.on_error, planned.timeout);
}

/// Which of the task's harnesses a role uses.
fn chosen_for(steps: &PlanBuilder<'_>, role: &Role) -> HarnessChoice {
    let first = steps.workflow.first_start(role);
    first.map_or_else(|| defaults::harness_of(role), |hook| hook.harness)
}
