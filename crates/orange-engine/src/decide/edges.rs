//! Which edge is open, and if none is, why not.

use super::gates::{self, GateResult};
use super::plan_builder::PlanBuilder;
use crate::input::FactNeeded;
use crate::language::gates::GateKind;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::names::{FieldName, Status};
use crate::refusal::Blocker;
use crate::role::Role;

/// The result of choosing among several edges.
pub(super) enum Choice<'a> {
    /// This edge is taken, for these reasons.
    Open {
        edge: &'a Edge,
        because: Vec<String>,
    },
    Closed(ClosedEdge),
    /// The choice depends on these facts.
    Needs(Vec<FactNeeded>),
}

/// Why no edge is open.
pub(super) struct ClosedEdge {
    pub(super) missing: Vec<Blocker>,
    pub(super) unchecked: Vec<String>,
    /// Whether the edge is open to the caller's role and its guard holds.
    pub(super) reachable: bool,
}

/// The role that makes the request, and whether it confirmed the edge's question.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) role: &'a Role,
    pub(super) confirmed: bool,
}

impl Caller<'static> {
    /// The engine is never asked to confirm.
    pub(super) const ENGINE: Caller<'static> = Caller {
        role: &Role::Engine,
        confirmed: true,
    };
}

pub(super) fn target(edge: &Edge, steps: &PlanBuilder<'_>) -> Option<Status> {
    match &edge.to {
        Target::Status(status) => Some(status.clone()),
        Target::Previous => steps.task.entered.from.clone(),
    }
}

/// The edges from the current status that lead to `to` by `trigger`.
pub(super) fn edges_to<'a>(
    steps: &PlanBuilder<'a>,
    to: &Status,
    trigger: Trigger,
) -> Vec<&'a Edge> {
    let mut edges = edges_by_trigger(steps, trigger);
    edges.retain(|edge| target(edge, steps).as_ref() == Some(to));
    edges
}

/// The edges from the current status with this trigger, in file order.
pub(super) fn edges_by_trigger<'a>(steps: &PlanBuilder<'a>, trigger: Trigger) -> Vec<&'a Edge> {
    let edges = steps.workflow.edges.iter();
    edges
        .filter(|edge| edge.from == steps.task.status && edge.trigger == trigger)
        .collect()
}

/// The edges to `to` with this trigger or, if there are none, those with the trigger `request`.
pub(super) fn edges_to_or_requested<'a>(
    steps: &PlanBuilder<'a>,
    to: &Status,
    trigger: Trigger,
) -> Vec<&'a Edge> {
    let with_trigger = edges_to(steps, to, trigger);
    if with_trigger.is_empty() {
        return edges_to(steps, to, Trigger::Request);
    }
    with_trigger
}

/// Chooses among edges to one target by role, then guard, then gates.
///
/// Load rule 7 ensures that at most one edge is open to the role and has a guard that holds. If no
/// edge can be taken, the missing conditions are those of that edge, else of the first edge that is
/// open to the role, else of the first edge.
pub(super) fn choose<'a>(
    edges: &[&'a Edge],
    caller: Caller<'_>,
    steps: &PlanBuilder<'_>,
) -> Choice<'a> {
    let is_open = |edge: &&&'a Edge| edge.is_open_to(caller.role);
    let passes_guard = |edge: &&&'a Edge| guard_holds(edge, steps);
    let edge = edges
        .iter()
        .find(|edge| is_open(edge) && passes_guard(edge))
        .or_else(|| edges.iter().find(is_open))
        .or_else(|| edges.first());
    match edge {
        Some(edge) => check_edge(edge, caller, steps),
        None => Choice::Closed(ClosedEdge {
            missing: Vec::new(),
            unchecked: Vec::new(),
            reachable: false,
        }),
    }
}

pub(super) fn guard_holds(edge: &Edge, steps: &PlanBuilder<'_>) -> bool {
    edge.when
        .as_ref()
        .is_none_or(|when| when.holds(|field| steps.task.value(field)))
}

/// Which conditions of an edge hold and which do not, apart from the caller's role.
#[derive(Default)]
pub(super) struct EdgeSurvey {
    pub(super) guard: Option<Blocker>,
    /// Gates that fail, and a confirmation that is still missing.
    pub(super) missing: Vec<Blocker>,
    /// One line for each gate that holds.
    pub(super) evidence: Vec<String>,
    /// Facts that must be gathered before the gates can be judged.
    pub(super) needs: Vec<FactNeeded>,
    /// Commands that must be run before the gates can be judged.
    pub(super) commands: Vec<FactNeeded>,
}

/// Checks the guard, the gates and the confirmation of an edge.
pub(super) fn survey(edge: &Edge, caller: Caller<'_>, steps: &PlanBuilder<'_>) -> EdgeSurvey {
    let mut found = EdgeSurvey::default();
    if let Some(when) = &edge.when {
        let values: Vec<(FieldName, i64)> = when
            .comparisons()
            .iter()
            .map(|comparison| {
                let field = comparison.field.clone();
                let value = steps.task.value(&field);
                (field, value)
            })
            .collect();
        if !guard_holds(edge, steps) {
            let when = when.text().to_owned();
            found.guard = Some(Blocker::GuardFailed { when, values });
        }
    }
    for gate in &edge.gates {
        match gates::check(gate, steps) {
            GateResult::Passes(evidence) => found.evidence.push(evidence),
            GateResult::Fails(failures) => {
                let failures = failures.into_iter();
                let failures = failures.map(|failure| Blocker::GateFailed { failure });
                found.missing.extend(failures);
            }
            GateResult::Needs(fact) if matches!(gate.kind, GateKind::Command(_)) => {
                found.commands.push(fact);
            }
            GateResult::Needs(fact) => found.needs.push(fact),
        }
    }
    // Only the user can confirm: an agent's yes does not count, and the engine is not asked.
    let is_confirmed = match caller.role {
        Role::Engine => true,
        Role::Human => caller.confirmed,
        _ => false,
    };
    if let Some(question) = edge.confirm.as_ref().filter(|_| !is_confirmed) {
        let question = question.clone();
        found.missing.push(Blocker::ConfirmationNeeded { question });
    }
    found
}

fn check_edge<'a>(edge: &'a Edge, caller: Caller<'_>, steps: &PlanBuilder<'_>) -> Choice<'a> {
    let found = survey(edge, caller, steps);
    let mut missing = Vec::new();
    if !edge.is_open_to(caller.role) {
        missing.push(Blocker::NotAllowed {
            role: caller.role.clone(),
            by: edge.by.clone(),
        });
    }
    missing.extend(found.guard);
    let reachable = missing.is_empty();
    missing.extend(found.missing);
    let (mut needs, mut commands) = (found.needs, found.commands);
    // A command may take minutes, so it runs only when everything else holds.
    if reachable && needs.is_empty() && missing.is_empty() {
        needs.append(&mut commands);
    }
    // A caller gets the full list of what is missing, for which more facts may be needed. The
    // engine does not need the list: it tries its next edge.
    let is_closed_to_engine = *caller.role == Role::Engine && !missing.is_empty();
    if reachable && !needs.is_empty() && !is_closed_to_engine {
        needs.sort();
        needs.dedup();
        return Choice::Needs(needs);
    }
    if missing.is_empty() {
        let because = found.evidence;
        return Choice::Open { edge, because };
    }
    Choice::Closed(ClosedEdge {
        missing,
        unchecked: commands.iter().map(command_text).collect(),
        reachable,
    })
}

pub(super) fn command_text(fact: &FactNeeded) -> String {
    match fact {
        FactNeeded::Command { command, .. } => command.join(" "),
        _ => String::new(),
    }
}
