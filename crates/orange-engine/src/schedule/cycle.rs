//! Finds tasks that would wait for each other forever.

use std::collections::{BTreeMap, BTreeSet};

use super::{SchedulePlace, ScheduledTask};
use crate::names::TaskId;

/// The path from a dependency of a new task to the new task's parent, if there is one.
///
/// No task can depend on one that does not exist yet, so a cycle can only close through the parent:
/// the parent waits for its children, including the new task, and on this path the new task waits
/// for the parent.
pub fn find_cycle(
    all: &[ScheduledTask],
    parent: Option<&TaskId>,
    after: &BTreeSet<TaskId>,
) -> Option<Vec<TaskId>> {
    let parent = parent?;
    let by_id: BTreeMap<&TaskId, &ScheduledTask> = all.iter().map(|it| (&it.task, it)).collect();
    let mut children: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for scheduled in all {
        if let Some(its_parent) = &scheduled.parent {
            children
                .entry(its_parent)
                .or_default()
                .push(&scheduled.task);
        }
    }
    let mut paths: Vec<Vec<&TaskId>> = after.iter().map(|it| vec![it]).collect();
    let mut seen: BTreeSet<&TaskId> = BTreeSet::new();
    while let Some(path) = paths.pop() {
        let Some(last) = path.last().copied() else {
            continue;
        };
        if last == parent {
            return Some(path.into_iter().cloned().collect());
        }
        let scheduled = by_id.get(last).copied();
        let Some(scheduled) =
            scheduled.filter(|it| !matches!(it.place, SchedulePlace::Ended { .. }))
        else {
            continue;
        };
        if !seen.insert(last) {
            continue;
        }
        let its_children = children.get(last).into_iter().flatten().copied();
        for next in scheduled.after.iter().chain(its_children) {
            let mut longer = path.clone();
            longer.push(next);
            paths.push(longer);
        }
    }
    None
}
