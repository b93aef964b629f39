//! Compares what states are, apart from the ways between them.

use std::collections::BTreeSet;

use super::change::{Change, Difference};
use super::hook_step::HookStep;
use super::steps::Step;
use super::ways::Both;
use crate::language::Workflow;
use crate::language::workflow::State;
use crate::role::Role;

/// States that are there in one workflow only.
pub(super) fn added_and_removed(both: &Both<'_>) -> Vec<Difference> {
    let added = both.states().filter(|(before, _)| before.is_none());
    let added = added.map(|(_, state)| {
        let (kind, expects) = (state.kind, sorted(&state.expects));
        (state, Change::StateAdded { kind, expects })
    });
    let removed = both.gone().map(|state| (state, Change::StateRemoved));
    added
        .chain(removed)
        .map(|(state, change)| about(state, change))
        .collect()
}

/// What is different about states that are there in both.
pub(super) fn changed(both: &Both<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    for (before, state) in both.states() {
        if let Some(before) = before {
            let changes = compare(before, state);
            found.extend(changes.into_iter().map(|change| about(state, change)));
        }
        found.extend(respawns(both, before, state));
    }
    found
}

fn about(state: &State, change: Change) -> Difference {
    Difference {
        status: Some(state.name.clone()),
        way: None,
        change,
    }
}

fn compare(old: &State, new: &State) -> Vec<Change> {
    let mut changes = Vec::new();
    if old.kind != new.kind {
        changes.push(Change::KindChanged {
            new: new.kind,
            old: old.kind,
        });
    }
    let (was, is) = (sorted(&old.expects), sorted(&new.expects));
    if was != is {
        changes.push(Change::ExpectsChanged { new: is, old: was });
    }
    if old.timeout != new.timeout {
        changes.push(Change::TimeoutChanged {
            new: new.timeout.clone(),
            old: old.timeout.clone(),
        });
    }
    changes
}

fn sorted(roles: &[Role]) -> Vec<Role> {
    let roles: BTreeSet<&Role> = roles.iter().collect();
    roles.into_iter().cloned().collect()
}

/// How agents are brought back, role by role.
fn respawns(both: &Both<'_>, before: Option<&State>, state: &State) -> Vec<Difference> {
    let mut changes = Vec::new();
    for role in &both.roles {
        let old = before.and_then(|before| respawn(both.old, before, role));
        let new = respawn(both.new, state, role);
        let role = role.clone();
        match (old, new) {
            (None, None) => {}
            (None, Some(step)) => changes.push(Change::RespawnAdded { role, step }),
            (Some(_), None) => changes.push(Change::RespawnRemoved { role }),
            (Some(old), Some(new)) => {
                changes.extend(new.prompt_change(&old));
                let parameters = new.changes(&old).into_iter();
                changes.extend(parameters.map(|parameter| Change::RespawnChanged {
                    role: role.clone(),
                    parameter,
                }));
            }
        }
    }
    if let Some(before) = before {
        let (old, new) = (order(before), order(state));
        let is_reordered = old != new && sorted(&old) == sorted(&new);
        changes.extend(is_reordered.then_some(Change::RespawnOrderChanged { new, old }));
    }
    changes
        .into_iter()
        .map(|change| about(state, change))
        .collect()
}

fn respawn(workflow: &Workflow, state: &State, role: &Role) -> Option<Step> {
    let respawn = state.respawn.get(role)?;
    Some(Step::Hook(HookStep::of_respawn(workflow, role, respawn)))
}

/// Which of several roles that are gone is brought back first, when nobody says.
fn order(state: &State) -> Vec<Role> {
    let expected = state.expects.iter();
    let mut order: Vec<Role> = Vec::new();
    for role in expected.filter(|role| state.respawn.contains_key(role)) {
        if !order.contains(role) {
            order.push(role.clone());
        }
    }
    order
}
