//! Compares every way between states, and tells alike things once.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Difference, Opening, Way, Who};
use super::compare::{Compared, compare};
use super::passages::{self, Key, Passages};
use super::steps::Step;
use super::values::Values;
use crate::language::Workflow;
use crate::language::workflow::{State, Target, Trigger};
use crate::names::Status;
use crate::role::Role;

/// The states of both workflows and the roles of both: what is compared, and for whom.
pub(super) struct Both<'a> {
    pub(super) old: &'a Workflow,
    pub(super) new: &'a Workflow,
    pub(super) roles: BTreeSet<Role>,
}

/// What was compared for one status.
struct Here {
    status: Status,
    by_key: Vec<(Key, Compared)>,
}

impl Here {
    /// The ways that were not there before, with where they lead.
    fn openings(&self) -> impl Iterator<Item = (&Target, &Opening)> {
        self.by_key.iter().flat_map(|(key, compared)| {
            let changes = compared.opening.iter();
            let openings = changes.flat_map(|change| match change {
                Change::Opened { openings, .. } => openings.as_slice(),
                Change::Wider { opening, .. } => opening.as_slice(),
                _ => &[],
            });
            openings.map(move |opening| (&key.to, opening))
        })
    }
}

impl<'a> Both<'a> {
    pub(super) fn new(old: &'a Workflow, new: &'a Workflow) -> Both<'a> {
        let built_in = [Role::Human, Role::Engine, Role::Worker, Role::Reviewer];
        let own = old.roles.iter().chain(&new.roles).cloned();
        Both {
            old,
            new,
            roles: built_in.into_iter().chain(own).collect(),
        }
    }

    /// The states of the new workflow, each with what it was.
    pub(super) fn states(&self) -> impl Iterator<Item = (Option<&'a State>, &'a State)> {
        let old = self.old;
        let states = self.new.states.iter();
        states.map(move |state| (old.state(&state.name), state))
    }

    /// The states that are gone.
    pub(super) fn gone(&self) -> impl Iterator<Item = &'a State> {
        let new = self.new;
        let states = self.old.states.iter();
        states.filter(move |state| new.state(&state.name).is_none())
    }

    /// Every difference on a way, in the order of the states and of where the ways lead.
    pub(super) fn ways(&self) -> Vec<Difference> {
        let mut all: Vec<Here> = self
            .states()
            .map(|(before, state)| self.compare_state(before, state))
            .collect();
        let common = tell_once(&mut all);
        let mut differences = Vec::new();
        for here in all {
            let told = common.get(&here.status).into_iter().flatten();
            differences.extend(told.map(|change| Difference {
                status: Some(here.status.clone()),
                way: Some(Way::EveryWayIn),
                change: change.clone(),
            }));
            differences.extend(self.told(here));
        }
        differences
    }

    fn compare_state(&self, before: Option<&State>, state: &State) -> Here {
        let old = before.map(|before| passages::leaving(self.old, before, &self.roles));
        let mut old = old.unwrap_or_default();
        let new = passages::leaving(self.new, state, &self.roles);
        let nothing = Passages::default();
        let mut by_key: Vec<(Key, Compared)> = Vec::new();
        for (key, now) in new {
            let before = old.remove(&key).unwrap_or_default();
            let compared = compare_key(&key, &before, &now);
            by_key.push((key, compared));
        }
        let gone = old.into_iter().map(|(key, before)| {
            let compared = compare_key(&key, &before, &nothing);
            (key, compared)
        });
        by_key.extend(gone);
        by_key.sort_by_key(|(key, _)| (self.place(&key.to), key.clone()));
        let begin = Key {
            trigger: None,
            to: Target::Status(state.name.clone()),
            role: None,
        };
        let status = &state.name;
        let beginning = compare(
            &passages::beginning(self.old, status),
            &passages::beginning(self.new, status),
        );
        by_key.insert(0, (begin, beginning));
        Here {
            status: status.clone(),
            by_key,
        }
    }

    fn place(&self, to: &Target) -> usize {
        let states = self.new.states.iter().chain(&self.old.states);
        let names: Vec<&Status> = states.map(|state| &state.name).collect();
        let place = |status: &Status| names.iter().position(|name| *name == status);
        match to {
            Target::Status(status) => place(status).unwrap_or(names.len()),
            Target::Previous => names.len(),
        }
    }

    /// The differences of one status, with everybody for whom they are the same.
    fn told(&self, here: Here) -> Vec<Difference> {
        let mut found: Vec<Seen> = Vec::new();
        for (key, compared) in here.by_key {
            for seen in Seen::all(&key, &compared) {
                let mut same = found.iter_mut();
                match same.find(|other| other.is_about_the_same(&seen)) {
                    Some(other) => other.who.extend(seen.who),
                    None => found.push(seen),
                }
            }
        }
        let difference = |seen: Seen| Difference {
            status: Some(here.status.clone()),
            way: Some(seen.way(&self.roles)),
            change: seen.change,
        };
        found.into_iter().map(difference).collect()
    }
}

/// Where the end of an agent leads is told rule by rule, and requests are told as such: what is left
/// to tell of the edges that rules take is what edges of their own bring.
fn compare_key(key: &Key, old: &Passages, new: &Passages) -> Compared {
    let mut compared = compare(old, new);
    if matches!(key.trigger, Some(Trigger::Exit | Trigger::Crash)) {
        compared.opening.retain(|change| match change {
            Change::Opened { .. } => !new.is_borrowed,
            Change::Closed => false,
            _ => true,
        });
    }
    compared
}

/// A difference on a way, and who meets it.
struct Seen {
    trigger: Option<Trigger>,
    to: Target,
    who: BTreeSet<Option<Role>>,
    only_if: Option<Values>,
    back_to: Option<Status>,
    change: Change,
}

impl Seen {
    /// Everything that is different for one key.
    fn all(key: &Key, compared: &Compared) -> Vec<Seen> {
        let mut found = Vec::new();
        let mut add = |change: &Change, only_if, back_to| {
            found.push(Seen {
                trigger: key.trigger,
                to: key.to.clone(),
                who: BTreeSet::from([key.role.clone()]),
                only_if,
                back_to,
                change: change.clone(),
            });
        };
        for change in &compared.opening {
            add(change, None, None);
        }
        let pairs = &compared.pairs;
        let mut everywhere: Vec<&Change> = Vec::new();
        for pair in pairs {
            let mut landings = pair.steps.values();
            let first = landings.next();
            let is_one = landings.all(|steps| Some(steps) == first);
            let of_all = first.filter(|_| is_one).into_iter().flatten();
            for change in pair.conditions.iter().chain(of_all) {
                // What is different for all values needs no mention of them.
                let is_everywhere = pairs.len() == 1 || pairs.iter().all(|it| it.has(change));
                if !is_everywhere {
                    add(change, Some(pair.values.clone()), None);
                } else if !everywhere.contains(&change) {
                    everywhere.push(change);
                    add(change, None, None);
                }
            }
            if is_one {
                continue;
            }
            for (status, changes) in &pair.steps {
                for change in changes {
                    let only_if = (pairs.len() > 1).then(|| pair.values.clone());
                    add(change, only_if, Some(status.clone()));
                }
            }
        }
        found
    }

    fn is_about_the_same(&self, other: &Seen) -> bool {
        // Being asked for something and seeing it happen are told of in different words.
        let is_asked = |seen: &Seen| seen.who.iter().all(Option::is_some);
        let is_existence = matches!(self.change, Change::Opened { .. } | Change::Closed);
        self.trigger == other.trigger
            && self.to == other.to
            && self.only_if == other.only_if
            && self.back_to == other.back_to
            && self.change == other.change
            && (!is_existence || is_asked(self) == is_asked(other))
    }

    fn way(&self, roles: &BTreeSet<Role>) -> Way {
        let Some(trigger) = self.trigger else {
            return Way::Beginning {
                only_if: self.only_if.clone(),
            };
        };
        let by: Vec<Role> = self.who.iter().flatten().cloned().collect();
        Way::Leaving {
            to: self.to.clone(),
            trigger,
            who: Who {
                anyone: by.len() == roles.len(),
                unasked: self.who.contains(&None),
                by,
            },
            only_if: self.only_if.clone(),
            back_to: self.back_to.clone(),
        }
    }
}

/// Takes out what is different on every way into a status, if there are several.
fn tell_once(all: &mut [Here]) -> BTreeMap<Status, Vec<Change>> {
    let mut ways: BTreeMap<Status, usize> = BTreeMap::new();
    let mut common: BTreeMap<Status, Vec<Change>> = BTreeMap::new();
    for here in all.iter() {
        // Whoever asks, it is one way.
        let mut counted = BTreeSet::new();
        for (key, compared) in &here.by_key {
            for (status, changes) in compared.pairs.iter().flat_map(|pair| &pair.steps) {
                if counted.insert((status, key.trigger, &key.to)) {
                    *ways.entry(status.clone()).or_default() += 1;
                }
                let changes: Vec<Change> = changes.iter().map(anywhere).collect();
                common
                    .entry(status.clone())
                    .and_modify(|common| common.retain(|change| changes.contains(change)))
                    .or_insert(changes);
            }
        }
    }
    for (to, opening) in all.iter().flat_map(Here::openings) {
        if let Target::Status(status) = to
            && let Some(changes) = common.get_mut(status)
        {
            changes.retain(|change| is_true_of(change, opening));
        }
    }
    common.retain(|status, changes| {
        !changes.is_empty() && ways.get(status).is_some_and(|count| *count > 1)
    });
    let pairs = all.iter_mut().flat_map(|here| &mut here.by_key);
    for pair in pairs.flat_map(|(_, compared)| &mut compared.pairs) {
        for (status, changes) in &mut pair.steps {
            let told = common.get(status).map_or(&[][..], Vec::as_slice);
            changes.retain(|change| !told.contains(&anywhere(change)));
        }
    }
    common
}

/// Whether a way that was not there before does as the others do now.
fn is_true_of(change: &Change, opening: &Opening) -> bool {
    let does = |step: &Step| opening.steps.iter().any(|other| other.is_same(step));
    match change {
        Change::StepAdded { step, .. } => does(step),
        Change::StepRemoved { step } => !does(step),
        Change::PromptChanged { .. } => true,
        _ => false,
    }
}

/// The change without the place in its list, which may differ from way to way.
fn anywhere(change: &Change) -> Change {
    match change {
        Change::StepAdded { step, .. } => Change::StepAdded {
            step: step.clone(),
            place: None,
        },
        other => other.clone(),
    }
}
