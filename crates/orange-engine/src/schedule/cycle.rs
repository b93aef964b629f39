//! Finds tasks that would wait for each other forever.

use std::collections::{BTreeMap, BTreeSet};

use super::{SchedulePlace, ScheduledTask};
use crate::names::TaskId;

/// The path from a dependency of a new task back to its parent, which waits for the new task.
///
/// No task can depend on one that does not exist yet, so a cycle can only close through the parent:
/// it waits for its children, and some of them wait for it.
pub fn find_cycle(
    all: &[ScheduledTask],
    parent: Option<&TaskId>,
    after: &BTreeSet<TaskId>,
) -> Option<Vec<TaskId>> {
    let parent = parent?;
    let by_id: BTreeMap<&TaskId, &ScheduledTask> = all.iter().map(|it| (&it.task, it)).collect();
    let mut children: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for standing in all {
        if let Some(above) = &standing.parent {
            children.entry(above).or_default().push(&standing.task);
        }
    }
    let mut ways: Vec<Vec<&TaskId>> = after.iter().map(|it| vec![it]).collect();
    let mut seen: BTreeSet<&TaskId> = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let Some(last) = way.last().copied() else {
            continue;
        };
        if last == parent {
            return Some(way.into_iter().cloned().collect());
        }
        let standing = by_id.get(last).copied();
        let Some(standing) = standing.filter(|it| !matches!(it.place, SchedulePlace::Ended { .. }))
        else {
            continue;
        };
        if !seen.insert(last) {
            continue;
        }
        let below = children.get(last).into_iter().flatten().copied();
        for next in standing.after.iter().chain(below) {
            let mut longer = way.clone();
            longer.push(next);
            ways.push(longer);
        }
    }
    None
}
