//! Compares two tables row by row, and a row fact by fact.

use orange_engine::language::workflow::Trigger;
use orange_engine::names::Status;

use super::difference::{Change, Difference, Way};
use super::table::{Fact, Row};
use super::wording::event;

/// The triggers for which the first open transition is taken.
const TRIED_IN_ORDER: [Trigger; 6] = [
    Trigger::SpawnFailed,
    Trigger::Merged,
    Trigger::PrMerged,
    Trigger::PrClosed,
    Trigger::ChildrenDone,
    Trigger::Report,
];

/// Every difference between the rows of a status.
pub(super) fn compare(status: &Status, old: &[Row], new: &[Row]) -> Vec<Difference> {
    let (mut found, nothing) = (Vec::new(), Row::default());
    let rules: [fn(&Row, &Row) -> bool; 3] = [
        |one, two| one.way == two.way,
        |one, two| bare(one, true) == bare(two, true),
        |one, two| bare(one, false) == bare(two, false),
    ];
    for (before, now) in paired(old, new, &rules) {
        let way = now.or(before).and_then(|row| row.way.as_ref());
        let differences = match (before, now) {
            (None, _) | (_, None) if way.is_some_and(|way| *way != Way::Entering) => {
                vec![Difference {
                    new: now.map(Row::summary),
                    old: before.map(Row::summary),
                    ..difference(Change::Transition, "")
                }]
            }
            _ => facts(
                &before.unwrap_or(&nothing).facts,
                &now.unwrap_or(&nothing).facts,
            ),
        };
        found.extend(differences.into_iter().map(|difference| Difference {
            way: way.cloned(),
            ..difference
        }));
    }
    for trigger in TRIED_IN_ORDER {
        let subject = format!("the order of targets after {}", event(trigger));
        let (old, new) = (tried(old, trigger), tried(new, trigger));
        found.extend(reordered(&subject, &old, &new));
    }
    for difference in &mut found {
        difference.status = Some(status.clone());
    }
    found
}

/// The row without its roles and, unless `keeps_guard`, without its guard.
fn bare(row: &Row, keeps_guard: bool) -> Option<Way> {
    let mut way = row.way.clone();
    if let Some(Way::Leaving { by, when, .. }) = &mut way {
        by.clear();
        *when = when.take().filter(|_| keeps_guard);
    }
    way
}

/// The targets of a trigger, in the order in which they are tried.
fn tried(rows: &[Row], wanted: Trigger) -> Vec<String> {
    let targets = rows.iter().filter_map(|row| match &row.way {
        Some(Way::Leaving { to, trigger, .. }) if *trigger == wanted => Some(format!("`{to}`")),
        _ => None,
    });
    let mut targets: Vec<String> = targets.collect();
    targets.dedup();
    targets
}

/// A list of which the first open item is taken, if a new item can now precede an old one.
pub(super) fn reordered(subject: &str, old: &[String], new: &[String]) -> Option<Difference> {
    let kept: Vec<String> = old.iter().filter(|it| new.contains(it)).cloned().collect();
    (!new.starts_with(&kept)).then(|| Difference {
        new: Some(new.join(", then ")),
        old: Some(old.join(", then ")),
        ..difference(Change::Order, subject)
    })
}

fn difference(change: Change, subject: &str) -> Difference {
    Difference {
        status: None,
        way: None,
        change,
        subject: (!subject.is_empty()).then(|| subject.to_owned()),
        parameter: None,
        new: None,
        old: None,
        place: None,
    }
}

/// Every difference between the facts of two rows.
pub(super) fn facts(old: &[Fact], new: &[Fact]) -> Vec<Difference> {
    let is_alike = |a: &Fact, b: &Fact| a.change == b.change && a.subject == b.subject;
    let mut found = Vec::new();
    for pair in paired(old, new, &[Fact::eq, is_alike]) {
        match pair {
            (Some(before), Some(now)) => found.extend(parts(before, now)),
            (Some(fact), None) => found.push(Difference {
                old: Some(fact.text()),
                ..difference(fact.change, &fact.subject)
            }),
            (None, Some(fact)) => found.push(Difference {
                new: Some(fact.text()),
                place: place(fact, new),
                ..difference(fact.change, &fact.subject)
            }),
            (None, None) => {}
        }
    }
    found.extend(moved(old, new));
    found
}

/// Every difference between two facts about the same thing.
fn parts(old: &Fact, new: &Fact) -> Vec<Difference> {
    let pairs = paired(&old.parts, &new.parts, &[|one, two| one.0 == two.0]);
    let pairs = pairs.into_iter().filter_map(|(before, now)| {
        let (name, _) = now.or(before)?;
        (before != now).then(|| Difference {
            parameter: Some(*name).filter(|name| !name.is_empty()),
            new: now.map(|(_, value)| value.clone()),
            old: before.map(|(_, value)| value.clone()),
            ..difference(new.change, &new.subject)
        })
    });
    pairs.collect()
}

/// Whether the order of a fact among its neighbours matters.
fn is_ordered(fact: &Fact) -> bool {
    use Change::{ExitRule, Field, Step};
    matches!(fact.change, Step | Field | ExitRule)
}

/// The position of a new hook or rule among the others.
fn place(fact: &Fact, facts: &[Fact]) -> Option<String> {
    let is_placed = |fact: &&Fact| is_ordered(fact) && fact.change != Change::Field;
    let is_among_others = facts.iter().filter(is_placed).count() > 1;
    let earlier = facts.iter().take_while(|other| *other != fact);
    let is_rule = fact.change == Change::ExitRule;
    let tried = if is_rule { "tried " } else { "" };
    (is_placed(&fact) && is_among_others).then(|| match earlier.filter(is_placed).last() {
        Some(before) => format!("{tried}after {}", before.subject),
        None => format!("{tried}before the others"),
    })
}

/// Facts that stayed, but in another order.
fn moved(old: &[Fact], new: &[Fact]) -> Option<Difference> {
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
    (before != now).then(|| Difference {
        new: listed(&now),
        old: listed(&before),
        ..difference(Change::Order, "the order")
    })
}

/// Pairs two lists by the first rule that matches, then the next: new items come in their place,
/// removed ones come last.
fn paired<'a, T>(
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
    pairs.extend(free.into_iter().map(|gone| (Some(gone), None)));
    pairs
}
