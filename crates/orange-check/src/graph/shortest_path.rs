//! The shortest path from the first entry to an end.

use std::collections::{BTreeMap, VecDeque};

use orange_engine::language::Workflow;
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::Status;

use super::{Arrow, Graph};

/// The path with the fewest arrows on which nothing fails and the task is not cancelled.
///
/// Of two equally short paths, the one through states that come first in the file.
pub(super) fn find(workflow: &Workflow, graph: &Graph) -> Vec<Status> {
    let Some(entry) = workflow.entries.first() else {
        return Vec::new();
    };
    let mut predecessors: BTreeMap<&Status, Option<&Status>> = BTreeMap::new();
    predecessors.insert(&entry.status, None);
    let mut queue = VecDeque::from([&entry.status]);
    while let Some(status) = queue.pop_front() {
        if workflow.is_terminal(status) {
            let mut path = vec![status.clone()];
            let mut step = status;
            while let Some(Some(before)) = predecessors.get(step) {
                path.push((*before).clone());
                step = before;
            }
            path.reverse();
            return path;
        }
        let arrows = graph.edges.iter().filter(|arrow| arrow.from == *status);
        for arrow in arrows.filter(|arrow| is_usual(workflow, arrow)) {
            if let Some(to) = arrow.target()
                && !predecessors.contains_key(to)
            {
                predecessors.insert(to, Some(status));
                queue.push_back(to);
            }
        }
    }
    Vec::new()
}

fn is_usual(workflow: &Workflow, arrow: &Arrow) -> bool {
    let cancelled = workflow.verbs.get(&Verb::Cancel);
    let cancels = cancelled.is_some_and(|targets| targets.contains(&arrow.to));
    !cancels
        && arrow
            .own_conditions()
            .any(|condition| !is_failure(condition.trigger))
}

fn is_failure(trigger: Trigger) -> bool {
    match trigger {
        Trigger::Crash
        | Trigger::Timeout
        | Trigger::SpawnFailed
        | Trigger::PrClosed
        | Trigger::PrFailing
        | Trigger::PrConflicting
        | Trigger::PrFeedback => true,
        Trigger::Request
        | Trigger::Exit
        | Trigger::Merged
        | Trigger::PrMerged
        | Trigger::PrReady
        | Trigger::ChildrenDone
        | Trigger::Report => false,
    }
}
