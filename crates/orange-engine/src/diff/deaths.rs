//! What the end of an agent leads to, rule by rule.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use super::align::{Edit, align};
use super::change::{Change, Difference, Way};
use super::needs::{Need, needs, told};
use super::passages::found_by_rule;
use super::values::Values;
use super::ways::Both;
use super::words::{all, duration};
use crate::language::Workflow;
use crate::language::exit_rules::{CrashRule, ExitCase, ExitOutcome, OnCrash};
use crate::language::workflow::{State, Trigger};
use crate::names::Status;
use crate::role::Role;

/// What one rule does, for one role in one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    needs: BTreeSet<Need>,
    outcome: Outcome,
    /// Whether no rule is asked before.
    is_first: bool,
}

/// What follows from the end of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// The task goes on, for these values to this status.
    Leads(Vec<(Status, Values)>),
    /// It is a crash, with what does not matter left out.
    Crash(CrashRule),
    /// Nothing.
    Remembered,
}

/// What is different about the end of agents; roles that meet the same are told together.
pub(super) fn deaths(both: &Both<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    for (before, state) in both.states() {
        let mut by_roles: Vec<(Vec<Role>, Vec<Change>)> = Vec::new();
        for role in both.roles.iter().filter(|role| role.is_agent()) {
            let old = before.map(|before| fates(both.old, before, role));
            let changes = compare(&old.unwrap_or_default(), &fates(both.new, state, role));
            match by_roles.iter_mut().find(|(_, same)| *same == changes) {
                Some((roles, _)) => roles.push(role.clone()),
                None => by_roles.push((vec![role.clone()], changes)),
            }
        }
        for (roles, changes) in by_roles {
            found.extend(changes.into_iter().map(|change| Difference {
                status: Some(state.name.clone()),
                way: Some(Way::Ending {
                    roles: roles.clone(),
                }),
                change,
            }));
        }
    }
    found
}

/// The rules that came, went, changed or are asked in another order.
fn compare(old: &[Fate], new: &[Fate]) -> Vec<Change> {
    let edits = align(old, new, Fate::is_same);
    let removed = edits.iter().filter_map(|edit| match edit {
        Edit::Removed(place) => old.get(*place),
        _ => None,
    });
    let mut removed: Vec<&Fate> = removed.collect();
    let mut changes = Vec::new();
    for edit in edits {
        let Edit::Added(place) = edit else {
            continue;
        };
        let Some(fate) = new.get(place).cloned() else {
            continue;
        };
        // What is asked for otherwise comes last by itself.
        let next = new.get(place + 1).filter(|next| !next.needs.is_empty());
        let before = next.cloned();
        let moved = removed.iter().position(|other| other.is_same(&fate));
        let alike = |other: &&Fate| other.needs == fate.needs;
        let changed = removed.iter().position(alike);
        let changed = changed.or_else(|| removed.iter().position(|it| it.does_the_same(&fate)));
        changes.push(match (moved, changed) {
            (Some(index), _) => {
                removed.remove(index);
                Change::FateMoved { fate, before }
            }
            (None, Some(index)) => Change::FateChanged {
                new: fate,
                old: removed.remove(index).clone(),
            },
            (None, None) => Change::FateAdded { fate, before },
        });
    }
    let removed = removed.into_iter().cloned();
    changes.extend(removed.map(|fate| Change::FateRemoved { fate }));
    changes
}

/// Where the end of some agent can lead from a status, and by which trigger.
pub(super) fn led_to(
    workflow: &Workflow,
    state: &State,
    roles: &BTreeSet<Role>,
) -> BTreeSet<(Trigger, Status)> {
    let agents = roles.iter().filter(|role| role.is_agent());
    let mut found = BTreeSet::new();
    for fate in agents.flat_map(|role| fates(workflow, state, role)) {
        match fate.outcome {
            Outcome::Leads(targets) => {
                found.extend(targets.into_iter().map(|(to, _)| (Trigger::Exit, to)));
            }
            Outcome::Crash(crash) => found.extend(crash.then.map(|to| (Trigger::Crash, to))),
            Outcome::Remembered => {}
        }
    }
    found
}

/// The rules for a role in a status, as far as they are ever asked.
fn fates(workflow: &Workflow, state: &State, role: &Role) -> Vec<Fate> {
    let is_expected = state.expects.contains(role);
    let rules = workflow.exit_rules.iter().filter(|rule| {
        let about = rule.role.as_ref();
        rule.status == state.name && about.map_or(is_expected, |about| about == role)
    });
    let mut fates: Vec<Fate> = Vec::new();
    for rule in rules {
        let outcome = match &rule.outcome {
            ExitOutcome::Advance(cases) => {
                let targets = leads(workflow, state, cases);
                // A rule that leads nowhere leaves the matter to the rules below.
                if targets.is_empty() {
                    continue;
                }
                Outcome::Leads(targets)
            }
            ExitOutcome::Crash(crash) => Outcome::Crash(plain(workflow, state, crash)),
            ExitOutcome::MarkDead => Outcome::Remembered,
        };
        let fate = Fate {
            needs: needs(&rule.has_artifact),
            outcome,
            is_first: fates.is_empty(),
        };
        let is_shadowed = fates
            .iter()
            .any(|earlier| earlier.is_final() && earlier.needs.is_subset(&fate.needs));
        if !is_shadowed {
            fates.push(fate);
        }
    }
    // Where no rule matches, it is remembered as well.
    while fates
        .last()
        .is_some_and(|fate| fate.outcome == Outcome::Remembered)
    {
        fates.pop();
    }
    fates
}

/// Where the cases lead, each status once, as far as there is a way the engine may take.
fn leads(workflow: &Workflow, state: &State, cases: &[ExitCase]) -> Vec<(Status, Values)> {
    let mut found: Vec<(Status, Values)> = Vec::new();
    let mut answered = Values::none();
    for case in cases {
        let values = Values::of(case.when.as_ref());
        let values = values.without(&answered).unwrap_or(values);
        if values.is_empty() {
            continue;
        }
        answered = answered.or(values.clone());
        let open = found_by_rule(workflow, state, &case.then, Trigger::Exit);
        let values = values.and(&open);
        if values.is_empty() {
            continue;
        }
        match found.iter_mut().find(|(then, _)| *then == case.then) {
            Some((_, others)) => *others = others.clone().or(values),
            None => found.push((case.then.clone(), values)),
        }
    }
    found.sort_by(|one, two| one.0.cmp(&two.0));
    found
}

/// The rule without what is never looked at.
fn plain(workflow: &Workflow, state: &State, crash: &CrashRule) -> CrashRule {
    let mut crash = crash.clone();
    let is_open = |then: &Status| !found_by_rule(workflow, state, then, Trigger::Crash).is_empty();
    crash.then = crash.then.filter(is_open);
    // The first crash is number one, so zero is as many as one, and nothing comes before it.
    crash.stuck_after = crash.stuck_after.map(|limit| limit.max(1));
    if crash.stuck_after == Some(1) {
        crash.on_crash = OnCrash::Mark;
    }
    if crash.stuck_after.is_none() {
        crash.then = None;
    }
    if crash.on_crash == OnCrash::Mark {
        crash.backoff = 0;
    }
    crash
}

impl Fate {
    /// Whether no rule below is asked where this one matches.
    fn is_final(&self) -> bool {
        !matches!(self.outcome, Outcome::Leads(_))
    }

    fn is_same(&self, other: &Fate) -> bool {
        self.does_the_same(other) && self.needs == other.needs
    }

    /// Whether the same follows where they match.
    pub(super) fn does_the_same(&self, other: &Fate) -> bool {
        match (&self.outcome, &other.outcome) {
            (Outcome::Leads(one), Outcome::Leads(two)) => {
                let mut pairs = one.iter().zip(two);
                one.len() == two.len() && pairs.all(|(a, b)| a.0 == b.0 && a.1.is_same(&b.1))
            }
            (one, two) => one == two,
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.condition(), self.outcome())
    }
}

impl Fate {
    /// When the rule matches.
    pub(super) fn condition(&self) -> String {
        if self.needs.is_empty() {
            let word = if self.is_first { "always" } else { "otherwise" };
            return word.to_owned();
        }
        let needs = told(self.needs.iter().cloned());
        format!("with {}", all(needs.iter().map(ToString::to_string)))
    }

    /// What it does then.
    pub(super) fn outcome(&self) -> String {
        match &self.outcome {
            Outcome::Leads(targets) => {
                let targets = targets.iter().map(|(then, values)| {
                    if values.is_any() {
                        format!("to `{then}`")
                    } else {
                        format!("to `{then}` if {values}")
                    }
                });
                targets.collect::<Vec<_>>().join(", ")
            }
            Outcome::Crash(crash) => crash_words(crash),
            Outcome::Remembered => String::from("only remembered"),
        }
    }
}

fn crash_words(crash: &CrashRule) -> String {
    let below = match (crash.on_crash, crash.backoff) {
        (OnCrash::Mark, _) => String::from("left to a person"),
        (OnCrash::Respawn, 0) => String::from("brought back"),
        (OnCrash::Respawn, wait) => format!("brought back after {}", duration(wait)),
    };
    let at = match &crash.then {
        Some(then) => format!("to `{then}`"),
        None => String::from("left to a person"),
    };
    match crash.stuck_after {
        None => format!("a crash, {below}"),
        Some(1) => format!("a crash, {at}"),
        Some(limit) => format!("a crash, {below}, after {limit} {at}"),
    }
}

crate::text_schema::written_as_text!(Fate);

impl Serialize for Fate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
