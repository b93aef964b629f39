//! Which edge is open, and if none is, why not.

use super::gates::{self, Answer};
use super::steps::Steps;
use crate::input::FactNeeded;
use crate::language::gates::GateKind;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::names::{FieldName, Status};
use crate::refusal::Missing;
use crate::role::Role;

/// The result of choosing among several edges.
pub(super) enum Choice<'a> {
    /// This edge is taken, for these reasons.
    Open {
        edge: &'a Edge,
        because: Vec<String>,
    },
    Closed(Closed),
    /// The choice depends on these facts.
    Needs(Vec<FactNeeded>),
}

/// Why no edge is open.
pub(super) struct Closed {
    pub(super) missing: Vec<Missing>,
    pub(super) unchecked: Vec<String>,
    /// Whether role and guard would have let the caller through.
    pub(super) reachable: bool,
}

/// The role that asks, and whether it has confirmed.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub(super) role: &'a Role,
    pub(super) confirmed: bool,
}

impl Asker<'static> {
    /// The engine is never asked to confirm.
    pub(super) const ENGINE: Asker<'static> = Asker {
        role: &Role::Engine,
        confirmed: true,
    };
}

pub(super) fn target(edge: &Edge, steps: &Steps<'_>) -> Option<Status> {
    match &edge.to {
        Target::Status(status) => Some(status.clone()),
        Target::Previous => steps.task.entered.from.clone(),
    }
}

/// The edges from the current status that lead to `to` by `trigger`.
pub(super) fn leading<'a>(steps: &Steps<'a>, to: &Status, trigger: Trigger) -> Vec<&'a Edge> {
    let mut edges = triggered(steps, trigger);
    edges.retain(|edge| target(edge, steps).as_ref() == Some(to));
    edges
}

/// The edges from the current status with this trigger, in file order.
pub(super) fn triggered<'a>(steps: &Steps<'a>, trigger: Trigger) -> Vec<&'a Edge> {
    let edges = steps.workflow.edges.iter();
    edges
        .filter(|edge| edge.from == steps.task.status && edge.trigger == trigger)
        .collect()
}

/// The edges an exit rule may take: those of its own trigger, else those the engine may request.
pub(super) fn leading_by_rule<'a>(
    steps: &Steps<'a>,
    to: &Status,
    trigger: Trigger,
) -> Vec<&'a Edge> {
    let own = leading(steps, to, trigger);
    if own.is_empty() {
        return leading(steps, to, Trigger::Request);
    }
    own
}

/// Chooses among edges to one target by role, then guard, then gates.
///
/// Load rule 7 leaves at most one edge that role and guard let through. What is reported as missing
/// is about that edge, or about the first one if there is none.
pub(super) fn choose<'a>(edges: &[&'a Edge], asker: Asker<'_>, steps: &Steps<'_>) -> Choice<'a> {
    let open = |edge: &&&'a Edge| edge.is_open_to(asker.role);
    let guarded = |edge: &&&'a Edge| guard_holds(edge, steps);
    let edge = edges
        .iter()
        .find(|edge| open(edge) && guarded(edge))
        .or_else(|| edges.iter().find(open))
        .or_else(|| edges.first());
    match edge {
        Some(edge) => ask(edge, asker, steps),
        None => Choice::Closed(Closed {
            missing: Vec::new(),
            unchecked: Vec::new(),
            reachable: false,
        }),
    }
}

pub(super) fn guard_holds(edge: &Edge, steps: &Steps<'_>) -> bool {
    edge.when
        .as_ref()
        .is_none_or(|when| when.holds(|field| steps.task.value(field)))
}

/// Which conditions of an edge hold and which do not, the caller's role aside.
#[derive(Default)]
pub(super) struct Surveyed {
    pub(super) guard: Option<Missing>,
    /// Gates that fail, and a confirmation that is still missing.
    pub(super) missing: Vec<Missing>,
    /// One line for each guard and gate that holds.
    pub(super) because: Vec<String>,
    /// Facts that must be gathered before the gates can be judged.
    pub(super) needs: Vec<FactNeeded>,
    /// The same, for gates that run a command.
    pub(super) commands: Vec<FactNeeded>,
}

/// Checks the guard, the gates and the confirmation of an edge.
pub(super) fn survey(edge: &Edge, asker: Asker<'_>, steps: &Steps<'_>) -> Surveyed {
    let mut found = Surveyed::default();
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
        if guard_holds(edge, steps) {
            found.because.push(format!("`{when}` holds"));
        } else {
            let when = when.text().to_owned();
            found.guard = Some(Missing::GuardFailed { when, values });
        }
    }
    for gate in &edge.gates {
        match gates::ask(gate, steps) {
            Answer::Holds(shown) => found.because.push(shown),
            Answer::Fails(failures) => {
                let failures = failures.into_iter();
                let failures = failures.map(|failure| Missing::GateFailed { failure });
                found.missing.extend(failures);
            }
            Answer::Needs(fact) if matches!(gate.kind, GateKind::Command(_)) => {
                found.commands.push(fact);
            }
            Answer::Needs(fact) => found.needs.push(fact),
        }
    }
    // Only the user can confirm: an agent's yes does not count, and the engine is not asked.
    let is_answered = match asker.role {
        Role::Engine => true,
        Role::Human => asker.confirmed,
        _ => false,
    };
    if let Some(question) = edge.confirm.as_ref().filter(|_| !is_answered) {
        let question = question.clone();
        found.missing.push(Missing::ConfirmationNeeded { question });
    }
    found
}

fn ask<'a>(edge: &'a Edge, asker: Asker<'_>, steps: &Steps<'_>) -> Choice<'a> {
    let found = survey(edge, asker, steps);
    let mut missing = Vec::new();
    if !edge.is_open_to(asker.role) {
        missing.push(Missing::NotAllowed {
            role: asker.role.clone(),
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
    // The engine moves on to its next edge; only a caller needs the full list of what is missing.
    let is_closed = *asker.role == Role::Engine && !missing.is_empty();
    if reachable && !needs.is_empty() && !is_closed {
        needs.sort();
        needs.dedup();
        return Choice::Needs(needs);
    }
    if missing.is_empty() {
        let because = found.because;
        return Choice::Open { edge, because };
    }
    Choice::Closed(Closed {
        missing,
        unchecked: commands.iter().map(shown_command).collect(),
        reachable,
    })
}

pub(super) fn shown_command(fact: &FactNeeded) -> String {
    match fact {
        FactNeeded::Command { command, .. } => command.join(" "),
        _ => String::new(),
    }
}
