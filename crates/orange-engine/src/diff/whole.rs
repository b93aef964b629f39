//! Compares what concerns a workflow as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Difference};
use super::hook_step::text;
use super::values::Values;
use super::ways::Both;
use crate::language::Workflow;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Target, Trigger};
use crate::names::{FieldName, PromptName, Status};

/// Verbs, fields, prompts.
pub(super) fn whole(both: &Both<'_>) -> Vec<Difference> {
    let mut changes = verbs(both);
    changes.extend(fields(both));
    changes.extend(prompts(both));
    let difference = |change| Difference {
        status: None,
        way: None,
        change,
    };
    changes.into_iter().map(difference).collect()
}

fn verbs(both: &Both<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (_, verb) in Verb::ALL {
        let (old, new) = (leads(both.old, verb), leads(both.new, verb));
        let is_same = old.iter().collect::<BTreeSet<_>>() == new.iter().collect();
        if !is_same || is_reordered(both, verb, &old, &new) {
            changes.push(Change::VerbChanged { verb, new, old });
        }
        let (old, new) = (places(both.old, verb), places(both.new, verb));
        if old != new {
            changes.push(Change::VerbPlacesChanged { verb, new, old });
        }
    }
    changes
}

/// The only statuses that a verb is for, in order.
fn places(workflow: &Workflow, verb: Verb) -> Option<Vec<Status>> {
    let places = workflow.verb_places.get(&verb)?;
    let places: BTreeSet<&Status> = places.iter().collect();
    Some(places.into_iter().cloned().collect())
}

/// Where a verb leads, without the targets that it can lead to from nowhere.
fn leads(workflow: &Workflow, verb: Verb) -> Vec<Target> {
    let targets = workflow.verbs.get(&verb).into_iter().flatten();
    let mut found: Vec<Target> = Vec::new();
    for to in targets {
        let mut edges = workflow.edges.iter();
        let is_there = *to == Target::Previous
            || edges.any(|edge| edge.to == *to && sets_off(verb, edge.trigger));
        if is_there && !found.contains(to) {
            found.push(to.clone());
        }
    }
    found
}

fn sets_off(verb: Verb, trigger: Trigger) -> bool {
    trigger == Trigger::Request || (verb == Verb::Merge && trigger == Trigger::Merged)
}

/// Whether two targets have changed places that are open at once from some status.
fn is_reordered(both: &Both<'_>, verb: Verb, old: &[Target], new: &[Target]) -> bool {
    let place = |targets: &[Target], to: &Target| targets.iter().position(|it| it == to);
    let mut pairs = old
        .iter()
        .flat_map(|one| old.iter().map(move |two| (one, two)));
    pairs.any(|(one, two)| {
        place(old, one) < place(old, two)
            && place(new, one) > place(new, two)
            && [both.old, both.new]
                .iter()
                .any(|workflow| meet(workflow, verb, one, two))
    })
}

fn meet(workflow: &Workflow, verb: Verb, one: &Target, two: &Target) -> bool {
    if [one, two].contains(&&Target::Previous) {
        return true;
    }
    let of = |to: &Target| -> Vec<&Edge> {
        let edges = workflow.edges.iter();
        edges
            .filter(|edge| edge.to == *to && sets_off(verb, edge.trigger))
            .collect()
    };
    let others = of(two);
    of(one).iter().any(|edge| {
        others.iter().any(|other| {
            let shares_a_role = edge.by.is_empty()
                || other.by.is_empty()
                || edge.by.iter().any(|role| other.by.contains(role));
            // A merge goes to the first target that has a way, whatever its guard says.
            let is_open = verb == Verb::Merge || {
                let values = |edge: &Edge| Values::of(edge.when.as_ref());
                shares_a_role && values(edge).meets(&values(other))
            };
            edge.from == other.from && is_open
        })
    })
}

/// The first values of fields; one that a workflow does not have is as good as zero.
fn fields(both: &Both<'_>) -> Vec<Change> {
    let names: BTreeSet<&FieldName> = both
        .old
        .fields
        .keys()
        .chain(both.new.fields.keys())
        .collect();
    let value = |workflow: &Workflow, field: &FieldName| {
        workflow.fields.get(field).copied().unwrap_or_default()
    };
    let changes = names.into_iter().map(|field| Change::FieldChanged {
        field: field.clone(),
        new: value(both.new, field),
        old: value(both.old, field),
    });
    let is_different =
        |change: &Change| matches!(change, Change::FieldChanged { new, old, .. } if new != old);
    changes.filter(is_different).collect()
}

/// Prompts that agents get under the same name in both, and that say something else.
///
/// Names that were only exchanged are left out; whoever compares their uses sees if that is true.
fn prompts(both: &Both<'_>) -> Vec<Change> {
    let (old, new) = (used(both.old), used(both.new));
    let is_said = |text: &String, all: &BTreeMap<&PromptName, String>| {
        all.values().any(|other| other == text)
    };
    let mut changes = Vec::new();
    for (name, now) in &new {
        let Some(before) = old.get(name).filter(|before| *before != now) else {
            continue;
        };
        let is_exchanged = is_said(before, &new) && is_said(now, &old);
        changes.extend((!is_exchanged).then(|| Change::PromptChanged {
            prompt: (*name).clone(),
            new: now.clone(),
            old: before.clone(),
        }));
    }
    changes
}

/// What agents are told, by name.
fn used(workflow: &Workflow) -> BTreeMap<&PromptName, String> {
    let edges = workflow.edges.iter().flat_map(|edge| &edge.hooks);
    let entries = workflow.entries.iter().flat_map(|entry| &entry.hooks);
    let states = workflow.states.iter();
    let on_enter = states.clone().flat_map(|state| &state.on_enter);
    let hooks = edges.chain(entries).chain(on_enter);
    let spawned = hooks.filter_map(|hook| Some(&hook.action.spawn()?.prompt));
    let respawned = states.flat_map(|state| state.respawn.values().map(|it| &it.prompt));
    let names: BTreeSet<&PromptName> = spawned.chain(respawned).collect();
    let texts = names.into_iter().filter_map(|name| {
        let prompt = workflow.prompts.get(name)?;
        Some((name, text(workflow, prompt)))
    });
    texts.collect()
}
