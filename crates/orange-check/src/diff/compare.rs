//! Compares two tables row by row, and a row fact by fact.

use orange_engine::language::workflow::Trigger;
use orange_engine::names::Status;

use super::change::{ChangeKind, Route, WorkflowChange};
use super::table::{Fact, Row};
use super::wording::event;

/// The triggers for which the first open transition is taken.
const TRIED_IN_ORDER: [Trigger; 10] = [
    Trigger::SpawnFailed,
    Trigger::Merged,
    Trigger::PrMerged,
    Trigger::PrClosed,
    Trigger::PrFailing,
    Trigger::PrConflicting,
    Trigger::PrFeedback,
    Trigger::PrReady,
    Trigger::ChildrenDone,
    Trigger::Report,
];

/// Every difference between the rows of a status.
pub(super) fn compare(status: &Status, old: &[Row], new: &[Row]) -> Vec<WorkflowChange> {
    let (mut found, empty_row) = (Vec::new(), Row::default());
    let rules: [fn(&Row, &Row) -> bool; 3] = [
        |one, two| one.route == two.route,
        |one, two| route_without_roles(one, true) == route_without_roles(two, true),
        |one, two| route_without_roles(one, false) == route_without_roles(two, false),
    ];
    for (before, now) in pair_up(old, new, &rules) {
        let route = now.or(before).and_then(|row| row.route.as_ref());
        let differences = match (before, now) {
            (None, _) | (_, None) if route.is_some_and(|route| *route != Route::Arrival) => {
                vec![WorkflowChange {
                    new: now.map(Row::summary),
                    old: before.map(Row::summary),
                    ..new_change(ChangeKind::Transition, "")
                }]
            }
            _ => facts(
                &before.unwrap_or(&empty_row).facts,
                &now.unwrap_or(&empty_row).facts,
            ),
        };
        found.extend(differences.into_iter().map(|difference| WorkflowChange {
            route: route.cloned(),
            ..difference
        }));
    }
    for trigger in TRIED_IN_ORDER {
        let subject = format!("the order of targets after {}", event(trigger));
        let (old, new) = (targets_of(old, trigger), targets_of(new, trigger));
        found.extend(order_change(&subject, &old, &new));
    }
    for difference in &mut found {
        difference.status = Some(status.clone());
    }
    found
}

/// The row's route without its roles and, unless `keeps_guard`, without its guard.
fn route_without_roles(row: &Row, keeps_guard: bool) -> Option<Route> {
    let mut route = row.route.clone();
    if let Some(Route::Transition { by, when, .. }) = &mut route {
        by.clear();
        *when = when.take().filter(|_| keeps_guard);
    }
    route
}

/// The targets of a trigger, in the order in which they are tried.
fn targets_of(rows: &[Row], wanted: Trigger) -> Vec<String> {
    let targets = rows.iter().filter_map(|row| match &row.route {
        Some(Route::Transition { to, trigger, .. }) if *trigger == wanted => {
            Some(format!("`{to}`"))
        }
        _ => None,
    });
    let mut targets: Vec<String> = targets.collect();
    targets.dedup();
    targets
}

/// The change in the order of a list whose first open item is taken. `None` if the items that both
/// lists have come first in the new list, in their old order.
pub(super) fn order_change(
    subject: &str,
    old: &[String],
    new: &[String],
) -> Option<WorkflowChange> {
    let kept: Vec<String> = old.iter().filter(|it| new.contains(it)).cloned().collect();
    (!new.starts_with(&kept)).then(|| WorkflowChange {
        new: Some(new.join(", then ")),
        old: Some(old.join(", then ")),
        ..new_change(ChangeKind::Order, subject)
    })
}

fn new_change(change: ChangeKind, subject: &str) -> WorkflowChange {
    WorkflowChange {
        status: None,
        route: None,
        kind: change,
        subject: (!subject.is_empty()).then(|| subject.to_owned()),
        parameter: None,
        new: None,
        old: None,
        place: None,
    }
}

/// Every difference between the facts of two rows.
pub(super) fn facts(old: &[Fact], new: &[Fact]) -> Vec<WorkflowChange> {
    let is_alike = |a: &Fact, b: &Fact| a.change == b.change && a.subject == b.subject;
    let mut found = Vec::new();
    for pair in pair_up(old, new, &[Fact::eq, is_alike]) {
        match pair {
            (Some(before), Some(now)) => found.extend(parts(before, now)),
            (Some(fact), None) => found.push(WorkflowChange {
                old: Some(fact.text()),
                ..new_change(fact.change, &fact.subject)
            }),
            (None, Some(fact)) => found.push(WorkflowChange {
                new: Some(fact.text()),
                place: place(fact, new),
                ..new_change(fact.change, &fact.subject)
            }),
            (None, None) => {}
        }
    }
    found.extend(moved_facts(old, new));
    found
}

/// Every difference between two facts about the same thing.
fn parts(old: &Fact, new: &Fact) -> Vec<WorkflowChange> {
    let pairs = pair_up(&old.parts, &new.parts, &[|one, two| one.0 == two.0]);
    let pairs = pairs.into_iter().filter_map(|(before, now)| {
        let (name, _) = now.or(before)?;
        (before != now).then(|| WorkflowChange {
            parameter: Some(*name).filter(|name| !name.is_empty()),
            new: now.map(|(_, value)| value.clone()),
            old: before.map(|(_, value)| value.clone()),
            ..new_change(new.change, &new.subject)
        })
    });
    pairs.collect()
}

/// Whether the order of a fact among its neighbours matters.
fn is_ordered(fact: &Fact) -> bool {
    use ChangeKind::{ExitRule, Field, Hook};
    matches!(fact.change, Hook | Field | ExitRule)
}

/// The position of a new hook or rule among the others.
fn place(fact: &Fact, facts: &[Fact]) -> Option<String> {
    let is_placed = |fact: &&Fact| is_ordered(fact) && fact.change != ChangeKind::Field;
    let is_among_others = facts.iter().filter(is_placed).count() > 1;
    let earlier = facts.iter().take_while(|other| *other != fact);
    let is_rule = fact.change == ChangeKind::ExitRule;
    let tried = if is_rule { "tried " } else { "" };
    (is_placed(&fact) && is_among_others).then(|| match earlier.filter(is_placed).last() {
        Some(before) => format!("{tried}after {}", before.subject),
        None => format!("{tried}before the others"),
    })
}

/// Facts that stayed, but in another order.
fn moved_facts(old: &[Fact], new: &[Fact]) -> Option<WorkflowChange> {
    let kept = |these: &[Fact], others: &[Fact]| -> Vec<Fact> {
        let kept = these
            .iter()
            .filter(|it| is_ordered(it) && others.contains(it));
        kept.cloned().collect()
    };
    let listed = |facts: &[Fact]| {
        let subjects: Vec<&str> = facts.iter().map(|fact| fact.subject.as_str()).collect();
        Some(subjects.join(", then "))
    };
    let (before, now) = (kept(old, new), kept(new, old));
    (before != now).then(|| WorkflowChange {
        new: listed(&now),
        old: listed(&before),
        ..new_change(ChangeKind::Order, "the order")
    })
}

/// Pairs the items of two lists: first by the first rule, then what is left by the next one. The
/// pairs follow the order of the new list; removed items come last.
fn pair_up<'a, T>(
    old: &'a [T],
    new: &'a [T],
    rules: &[fn(&T, &T) -> bool],
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let mut free: Vec<&T> = old.iter().collect();
    let mut pairs: Vec<_> = new.iter().map(|now| (None, Some(now))).collect();
    for is_same in rules {
        for (before, now) in pairs.iter_mut().filter(|(before, _)| before.is_none()) {
            let partner = free
                .iter()
                .position(|it| now.is_some_and(|now| is_same(it, now)));
            *before = partner.map(|at| free.remove(at));
        }
    }
    pairs.extend(free.into_iter().map(|removed| (Some(removed), None)));
    pairs
}
