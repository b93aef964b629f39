//! Proof 5: a counter bounds every cycle that needs no user.
//!
//! In the search, a counter stops one above the largest number it is compared with. So a counter
//! that bounds a cycle leads out of it, and a cycle that remains among the situations is endless.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use orange_engine::language::Workflow;
use orange_engine::names::Status;

use super::finding::{Finding, FindingCode};
use super::story::Story;
use crate::explore::{Arc, Exploration, Replay, Step};

/// How many situations of one status are tried as the start of a cycle, per component (see
/// [`components`]).
const MAX_STARTS: usize = 12;

/// How many situations closer to the task's creation are tried as the start of a cycle's story.
const MAX_NEARER_STARTS: usize = 24;

pub(super) fn find(workflow: &Workflow, explored: &Exploration) -> Vec<Finding> {
    let components = components(explored);
    let mut tried: BTreeMap<(usize, &Status), usize> = BTreeMap::new();
    let mut cycles: BTreeMap<BTreeSet<&Status>, Vec<(usize, Arc)>> = BTreeMap::new();
    for (number, node) in explored.nodes.iter().enumerate() {
        let is_inside = |arc: &&Arc| arc.is_progress && components[arc.to] == components[number];
        if unattended_arcs(explored, number).find(is_inside).is_none() {
            continue;
        }
        let tries = tried
            .entry((components[number], &node.situation.status))
            .or_default();
        *tries += 1;
        if *tries > MAX_STARTS {
            continue;
        }
        if let Some(cycle) = shortest_cycle(explored, &components, number) {
            let statuses = cycle.iter().map(|(from, _)| *from);
            let statuses = statuses.map(|from| &explored.nodes[from].situation.status);
            cycles.entry(statuses.collect()).or_insert(cycle);
        }
    }
    // A cycle that contains a smaller one is endless because of the smaller one, which is reported.
    let contains_smaller = |statuses: &BTreeSet<&Status>| {
        let mut others = cycles.keys();
        others.any(|other| {
            other.len() > 1 && other.len() < statuses.len() && other.is_subset(statuses)
        })
    };
    let mut smallest: Vec<&Vec<(usize, Arc)>> = cycles
        .iter()
        .filter(|(statuses, _)| !contains_smaller(statuses))
        .map(|(_, cycle)| cycle)
        .collect();
    smallest.sort_by_key(|cycle| cycle.first().map(|(number, _)| *number));
    smallest
        .into_iter()
        .map(|cycle| finding(workflow, explored, cycle))
        .collect()
}

/// What can happen in a situation without the user.
fn unattended_arcs(explored: &Exploration, number: usize) -> impl Iterator<Item = &Arc> {
    let arcs = explored.nodes[number].arcs.iter();
    arcs.filter(|arc| !explored.steps[arc.step].is_by_user())
}

/// For each situation, the number of its strongly connected component: the situations that lead to
/// each other without the user.
///
/// This is Tarjan's algorithm without recursion, because components may be deep.
fn components(explored: &Exploration) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let count = explored.nodes.len();
    let next: Vec<Vec<usize>> = (0..count)
        .map(|number| {
            unattended_arcs(explored, number)
                .map(|arc| arc.to)
                .collect()
        })
        .collect();
    let mut discovered = vec![UNSEEN; count];
    let mut low = vec![0; count];
    let mut component = vec![UNSEEN; count];
    let mut open: Vec<usize> = Vec::new();
    let mut counter = 0;
    for root in 0..count {
        if discovered[root] != UNSEEN {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, child)) = path.pop() {
            if child == 0 {
                discovered[node] = counter;
                low[node] = counter;
                counter += 1;
                open.push(node);
            } else {
                let done = next[node][child - 1];
                if component[done] == UNSEEN {
                    low[node] = low[node].min(low[done]);
                }
            }
            match next[node].get(child) {
                Some(to) => {
                    path.push((node, child + 1));
                    if discovered[*to] == UNSEEN {
                        path.push((*to, 0));
                    } else if component[*to] == UNSEEN {
                        low[*to] = low[*to].min(discovered[*to]);
                    }
                }
                None if low[node] == discovered[node] => {
                    while let Some(member) = open.pop() {
                        component[member] = node;
                        if member == node {
                            break;
                        }
                    }
                }
                None => {}
            }
        }
    }
    component
}

/// The shortest cycle from `start` back to `start` whose first step makes progress. Each situation
/// is paired with the arc that leaves it.
fn shortest_cycle(
    explored: &Exploration,
    components: &[usize],
    start: usize,
) -> Option<Vec<(usize, Arc)>> {
    let is_inside = |arc: &&Arc| components[arc.to] == components[start];
    let mut predecessors: BTreeMap<usize, (usize, Arc)> = BTreeMap::new();
    let mut queue = VecDeque::new();
    let firsts = unattended_arcs(explored, start).filter(|arc| arc.is_progress);
    for arc in firsts.filter(is_inside) {
        if arc.to == start {
            return Some(vec![(start, *arc)]);
        }
        if let Entry::Vacant(unseen) = predecessors.entry(arc.to) {
            unseen.insert((start, *arc));
            queue.push_back(arc.to);
        }
    }
    while let Some(number) = queue.pop_front() {
        for arc in unattended_arcs(explored, number).filter(is_inside) {
            if arc.to == start {
                let mut steps = vec![(number, *arc)];
                let mut at = number;
                while at != start {
                    let (before, arc) = predecessors.get(&at)?;
                    steps.push((*before, *arc));
                    at = *before;
                }
                steps.reverse();
                return Some(steps);
            }
            if let Entry::Vacant(unseen) = predecessors.entry(arc.to) {
                unseen.insert((number, *arc));
                queue.push_back(arc.to);
            }
        }
    }
    None
}

/// How many rounds count as endless: more than any workflow would count to.
const ROUNDS: usize = 30;

/// The nearest situation from which the cycle repeats forever.
///
/// The cycle was found where the counters have stopped, but its story can start earlier.
fn nearest_start(workflow: &Workflow, explored: &Exploration, cycle: &[(usize, Arc)]) -> usize {
    let (found, _) = cycle[0];
    let found_situation = &explored.nodes[found].situation;
    let steps: Vec<Step> = cycle
        .iter()
        .map(|(_, arc)| explored.steps[arc.step].clone())
        .collect();
    let repeats = |number: usize| {
        let path = explored.path_to(number).into_iter();
        let mut replay = Replay::new(workflow);
        path.map(|step| &explored.steps[step])
            .chain((0..ROUNDS).flat_map(|_| &steps))
            .all(|step| replay.take(step).is_ok())
    };
    (0..found)
        .filter(|number| {
            let situation = &explored.nodes[*number].situation;
            situation.status == found_situation.status && situation.alive == found_situation.alive
        })
        .take(MAX_NEARER_STARTS)
        .find(|number| repeats(*number))
        .unwrap_or(found)
}

/// Shortens repeated names to one round; the rounds differed in something that is not shown.
fn shorten(names: &mut Vec<String>) {
    let rounds = names.len().saturating_sub(1);
    let repeats = |round: usize| {
        let mut pairs = names.iter().zip(names.iter().skip(round));
        rounds.is_multiple_of(round) && pairs.all(|(one, other)| one == other)
    };
    if let Some(round) = (1..rounds).find(|round| repeats(*round)) {
        names.truncate(round + 1);
    }
}

fn finding(workflow: &Workflow, explored: &Exploration, cycle: &[(usize, Arc)]) -> Finding {
    let rotations = (0..cycle.len()).map(|first| {
        let mut cycle = cycle.to_vec();
        cycle.rotate_left(first);
        let start = nearest_start(workflow, explored, &cycle);
        (explored.path_to(start), cycle)
    });
    let nearest = rotations.min_by_key(|(path, _)| path.len());
    let (first, cycle) = nearest.unwrap_or_else(|| (Vec::new(), cycle.to_vec()));
    let status = |number: usize| &explored.nodes[number].situation.status;
    let mut names: Vec<String> = Vec::new();
    for (from, _) in cycle.iter().chain(cycle.first()) {
        let name = format!("`{}`", status(*from));
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    shorten(&mut names);
    let failing_label = cycle.iter().find_map(|(_, arc)| {
        let step = &explored.steps[arc.step];
        step.failure.as_ref().map(|failure| failure.label)
    });
    let (message, hint) = match (names.as_slice(), failing_label) {
        ([only], Some(label)) => (
            format!("from {only}, a start is retried forever while `{label}` fails"),
            String::from(
                "count the failures (`set: { spawn_failures: increment }` on the `spawn_failed` \
                 transition) and let the engine start only while `spawn_failures < 3`",
            ),
        ),
        ([only], None) => (
            format!("in {only}, an agent is restarted forever"),
            String::from("give the exit rule a `stuck_after` and a `then`, or `on_crash: mark`"),
        ),
        _ => (
            format!(
                "the cycle {} needs no human, and no counter ends it",
                names.join(" → ")
            ),
            String::from(
                "count it (`set: { attempts: increment }` on one of its transitions, with a \
                 `when` that closes it), or let only the human request one (`by: human`)",
            ),
        ),
    };
    let repeats_from = first.len();
    let steps = first
        .into_iter()
        .chain(cycle.iter().map(|(_, arc)| arc.step));
    let steps = steps.map(|step| explored.steps[step].clone()).collect();
    let mut story = Story::from_steps(workflow, steps);
    story.repeats_from = Some(repeats_from);
    let state = cycle
        .first()
        .and_then(|(from, _)| workflow.state(status(*from)));
    let at = state.map(|state| state.at);
    Finding::new(FindingCode::EndlessLoop, at, message, hint).with_story(story)
}
