//! Compares the passages of one key, old and new.

use std::collections::{BTreeMap, BTreeSet};

use super::align::{Edit, align};
use super::change::Change;
use super::needs::{Need, told};
use super::passages::{Passage, Passages};
use super::steps::Step;
use super::values::Values;
use crate::names::Status;

/// What comparing the passages of one key came to.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Whether the key is there at all, and for which values.
    pub(super) opening: Vec<Change>,
    /// What is different where an old and a new passage are open for the same values.
    pub(super) pairs: Vec<Pair>,
}

/// An old and a new passage that are open for the same values.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) values: Values,
    /// What it takes.
    pub(super) conditions: Vec<Change>,
    /// What happens, by the status it leads to.
    pub(super) steps: BTreeMap<Status, Vec<Change>>,
}

/// Compares what was with what is; either may be nothing at all.
pub(super) fn compare(old: &Passages, new: &Passages) -> Compared {
    let mut compared = Compared::default();
    if old.is_borrowed && new.is_borrowed {
        return compared;
    }
    match (old.all.is_empty(), new.all.is_empty()) {
        (true, true) => {}
        (true, false) => compared.opening.push(Change::Opened {
            openings: new.all.iter().map(Passage::opening).collect(),
            before: Vec::new(),
        }),
        (false, true) => compared.opening.push(Change::Closed),
        (false, false) => {
            compared.opening = guards(&old.all, &new.all);
            for before in &old.all {
                let met = new
                    .all
                    .iter()
                    .filter(|now| now.values.meets(&before.values));
                compared.pairs.extend(met.map(|now| pair(before, now)));
            }
        }
    }
    compared
}

/// For which values there is a way now that was none, and the other way round.
fn guards(old: &[Passage], new: &[Passage]) -> Vec<Change> {
    let union = |all: &[Passage]| {
        let values = all.iter().map(|passage| passage.values.clone());
        values.fold(Values::none(), Values::or)
    };
    let (was, is) = (union(old), union(new));
    if was == is {
        return Vec::new();
    }
    let (Ok(closed), Ok(_)) = (was.without(&is), is.without(&was)) else {
        return vec![Change::GuardChanged];
    };
    let mut changes = Vec::new();
    let mut widened = Values::none();
    for now in new {
        let opened = now
            .values
            .without(&was)
            .unwrap_or_else(|_| now.values.clone());
        if opened.is_empty() {
            continue;
        }
        if old.iter().any(|before| before.values.meets(&now.values)) {
            widened = widened.or(opened);
        } else {
            changes.push(Change::Wider {
                values: opened,
                opening: Some(now.opening()),
            });
        }
    }
    if !widened.is_empty() {
        let opening = None;
        let values = widened;
        changes.insert(0, Change::Wider { values, opening });
    }
    if !closed.is_empty() {
        changes.push(Change::Narrower { values: closed });
    }
    changes
}

fn pair(old: &Passage, new: &Passage) -> Pair {
    let mut conditions = needs(&old.needs, &new.needs);
    if old.confirm != new.confirm {
        conditions.push(Change::ConfirmChanged {
            new: new.confirm.clone(),
            old: old.confirm.clone(),
        });
    }
    let steps = new.landings.iter().filter_map(|(status, now)| {
        let before = old.landings.get(status)?;
        Some((status.clone(), steps(before, now)))
    });
    Pair {
        values: old.values.and(&new.values),
        conditions,
        steps: steps.collect(),
    }
}

/// What must be shown that need not be before, and the other way round.
fn needs(old: &BTreeSet<Need>, new: &BTreeSet<Need>) -> Vec<Change> {
    let mut removed = told(old.difference(new).cloned());
    let mut changes = Vec::new();
    for need in told(new.difference(old).cloned()) {
        let replaced = removed.iter().position(|before| need.replaces(before));
        changes.push(match replaced {
            Some(place) => Change::NeedChanged {
                new: need,
                old: removed.remove(place),
            },
            None => Change::NeedAdded { need },
        });
    }
    changes.extend(removed.into_iter().map(|need| Change::NeedRemoved { need }));
    changes
}

/// What happens that did not before, does not any more, or happens in another way or order.
pub(super) fn steps(old: &[Step], new: &[Step]) -> Vec<Change> {
    let edits = align(old, new, Step::is_same);
    let mut removed: Vec<&Step> = edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::Removed(place) => old.get(*place),
            _ => None,
        })
        .collect();
    let mut changes = Vec::new();
    for edit in edits {
        let place = match edit {
            Edit::Kept(was, is) => {
                let kept = old.get(was).zip(new.get(is));
                changes.extend(kept.and_then(|(old, new)| new.prompt_change(old)));
                continue;
            }
            Edit::Removed(_) => continue,
            Edit::Added(place) => place,
        };
        let Some(step) = new.get(place) else {
            continue;
        };
        let place = step.place(new.get(..place).unwrap_or_default(), new);
        let moved = removed.iter().position(|other| other.is_same(step));
        let alike = moved.or_else(|| removed.iter().position(|other| other.is_alike(step)));
        let Some(index) = alike else {
            let step = step.clone();
            changes.push(Change::StepAdded { step, place });
            continue;
        };
        let before = removed.remove(index);
        changes.extend(step.prompt_change(before));
        if moved.is_some() {
            let step = step.name();
            changes.push(Change::StepMoved { step, place });
        } else {
            changes.extend(otherwise(before, step));
        }
    }
    let removed = removed.into_iter().cloned();
    changes.extend(removed.map(|step| Change::StepRemoved { step }));
    changes
}

/// How a step differs from what it was.
fn otherwise(old: &Step, new: &Step) -> Vec<Change> {
    if let Step::Field(..) = new {
        return vec![Change::StepReplaced {
            new: new.clone(),
            old: old.clone(),
        }];
    }
    let changed = new
        .changes(old)
        .into_iter()
        .map(|parameter| Change::StepChanged {
            step: new.name(),
            parameter,
        });
    changed.collect::<Vec<_>>()
}

impl Pair {
    /// Whether a change is seen here, wherever it leads.
    pub(super) fn has(&self, change: &Change) -> bool {
        let mut landings = self.steps.values();
        self.conditions.contains(change)
            || (!self.steps.is_empty() && landings.all(|steps| steps.contains(change)))
    }
}
