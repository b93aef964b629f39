//! Which parts of a task can still matter, by status.
//!
//! A number matters only where a guard can read it before it is set again, and only up to one above
//! the largest constant it is compared with. That keeps the situations few and finite. Crashes are
//! counted in every status, up to the limit of its exit rules.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::language::exit_rules::ExitOutcome;
use orange_engine::language::hooks::{Action, Hook};
use orange_engine::language::when::{Comparison, When};
use orange_engine::language::workflow::{Change, Edge, NewValue, Target, Trigger};
use orange_engine::language::{self, Workflow};
use orange_engine::names::{FieldName, Status};

type Fields = BTreeSet<FieldName>;

#[derive(Clone, Debug)]
pub struct Relevance {
    /// The fields that guards read and workflows set, with the value above which nothing differs.
    counters: Vec<(FieldName, i64)>,
    /// The fields that may be read before they are set again, by status.
    live: BTreeMap<Status, Fields>,
    /// Statuses with an edge back to the status that they were entered from.
    returning: BTreeSet<Status>,
    /// Statuses in which a new child matters, and how many children matter.
    children: BTreeSet<Status>,
    max_children: i64,
    /// How many crashes matter, by status.
    crashes: BTreeMap<Status, i64>,
    /// How many repeated errors matter.
    max_errors: i64,
    /// The summary lengths that guards distinguish.
    summaries: Vec<usize>,
    /// Statuses in which it matters whether there is a pull request.
    pull_request: BTreeSet<Status>,
}

impl Relevance {
    /// Finds out what matters in a workflow.
    pub fn of(workflow: &Workflow) -> Relevance {
        let comparisons: Vec<&Comparison> =
            every_guard(workflow).flat_map(When::comparisons).collect();
        let beyond = |field: &str| {
            let values = comparisons
                .iter()
                .filter(|comparison| comparison.field.as_str() == field)
                .map(|comparison| comparison.value.saturating_add(1));
            values.max()
        };
        let most = |field: &str| beyond(field).map_or(0, |value| value.max(1));
        let counters = workflow.fields.keys();
        let counters = counters
            .filter_map(|field| {
                let most = beyond(field.as_str())?;
                Some((field.clone(), most))
            })
            .collect();
        let waits = |status: &Status| {
            workflow
                .edges_from(status)
                .any(|edge| edge.trigger == Trigger::ChildrenDone)
        };
        let reads_children = |status: &Status| {
            guards_of(workflow, status)
                .flat_map(When::comparisons)
                .any(|comparison| comparison.field.as_str() == language::CHILDREN_OPEN)
        };
        let statuses = || workflow.states.iter().map(|state| &state.name);
        Relevance {
            counters,
            live: live_fields(workflow),
            returning: statuses()
                .filter(|status| {
                    let mut edges = workflow.edges_from(status);
                    edges.any(|edge| edge.to == Target::Previous)
                })
                .cloned()
                .collect(),
            children: statuses()
                .filter(|status| waits(status) || reads_children(status))
                .cloned()
                .collect(),
            max_children: most(language::CHILDREN_OPEN).max(1),
            crashes: statuses()
                .map(|status| {
                    let limits =
                        workflow
                            .exit_rules
                            .iter()
                            .filter_map(|rule| match &rule.outcome {
                                ExitOutcome::Crash(crash) if rule.status == *status => {
                                    crash.stuck_after
                                }
                                _ => None,
                            });
                    let from_guards = most(language::CRASH_COUNT);
                    (status.clone(), limits.max().unwrap_or(0).max(from_guards))
                })
                .collect(),
            max_errors: most(language::SAME_ERRORS),
            summaries: summaries(&comparisons),
            pull_request: pull_request_statuses(workflow),
        }
    }

    /// Whether it matters in this status that there is a pull request.
    pub(super) fn reads_pull_request(&self, status: &Status) -> bool {
        self.pull_request.contains(status)
    }

    /// The counters, in the order of their values in a situation.
    pub(super) fn counters(&self) -> impl Iterator<Item = &FieldName> {
        self.counters.iter().map(|(field, _)| field)
    }

    /// The values of the counters, as far as they matter in this status.
    pub(super) fn values(&self, status: &Status, value: impl Fn(&FieldName) -> i64) -> Vec<i64> {
        let live = self.live.get(status);
        self.counters
            .iter()
            .map(|(field, most)| {
                let matters = live.is_some_and(|live| live.contains(field));
                if matters { value(field).min(*most) } else { 0 }
            })
            .collect()
    }

    /// Whether it matters where this status was entered from.
    pub(super) fn returns(&self, status: &Status) -> bool {
        self.returning.contains(status)
    }

    /// How many open children matter in this status or later.
    pub(super) fn max_children(&self, status: &Status) -> i64 {
        let live = self.live.get(status);
        if live.is_some_and(|live| live.contains(language::CHILDREN_OPEN)) {
            self.max_children
        } else {
            0
        }
    }

    /// Whether it matters that a child is created here rather than later.
    pub(super) fn wants_children(&self, status: &Status) -> bool {
        self.children.contains(status)
    }

    /// How many crashes matter in this status.
    pub(super) fn max_crashes(&self, status: &Status) -> i64 {
        self.crashes.get(status).copied().unwrap_or(0)
    }

    /// How many equal errors in a row matter in this status.
    pub(super) fn max_errors(&self, status: &Status) -> i64 {
        let live = self.live.get(status);
        if live.is_some_and(|live| live.contains(language::SAME_ERRORS)) {
            self.max_errors
        } else {
            0
        }
    }

    /// The summary lengths that guards distinguish.
    pub(super) fn summaries(&self) -> &[usize] {
        &self.summaries
    }

    /// Whether the length of the summary matters in this status.
    pub(super) fn reads_summary(&self, status: &Status) -> bool {
        let live = self.live.get(status);
        self.summaries.len() > 1 && live.is_some_and(|live| live.contains(language::SUMMARY_CHARS))
    }
}

fn summaries(comparisons: &[&Comparison]) -> Vec<usize> {
    let read = comparisons
        .iter()
        .filter(|comparison| comparison.field.as_str() == language::SUMMARY_CHARS);
    let mut lengths = BTreeSet::from([1]);
    for comparison in read {
        for near in -1..=1 {
            // Summaries longer than a document can hold make no difference.
            let length = comparison.value.saturating_add(near).clamp(0, 100_000);
            lengths.extend(usize::try_from(length));
        }
        lengths.insert(0);
    }
    lengths.into_iter().collect()
}

fn every_guard(workflow: &Workflow) -> impl Iterator<Item = &When> {
    let edges = workflow.edges.iter().filter_map(|edge| edge.when.as_ref());
    let entries = workflow.entries.iter();
    let entries = entries.filter_map(|entry| entry.when.as_ref());
    edges.chain(entries).chain(
        workflow
            .exit_rules
            .iter()
            .flat_map(|rule| cases(&rule.outcome)),
    )
}

fn cases(outcome: &ExitOutcome) -> impl Iterator<Item = &When> {
    let cases = match outcome {
        ExitOutcome::Advance(cases) => cases.as_slice(),
        _ => &[],
    };
    cases.iter().filter_map(|case| case.when.as_ref())
}

fn guards_of<'a>(workflow: &'a Workflow, status: &'a Status) -> impl Iterator<Item = &'a When> {
    let edges = workflow.edges_from(status);
    let rules = workflow.exit_rules.iter();
    edges.filter_map(|edge| edge.when.as_ref()).chain(
        rules
            .filter(move |rule| rule.status == *status)
            .flat_map(|rule| cases(&rule.outcome)),
    )
}

/// For each status, the fields that may be read before they are set again.
///
/// An edge keeps alive in its source the fields that it reads, and those that are alive in its
/// target unless it sets them. An edge for a failed start can only be taken right after an edge
/// that starts something, so the fields it needs are kept apart, in `arriving`, and matter only to
/// edges that start something.
fn live_fields(workflow: &Workflow) -> BTreeMap<Status, Fields> {
    let mut live: BTreeMap<Status, Fields> = BTreeMap::new();
    let mut arriving: BTreeMap<Status, Fields> = BTreeMap::new();
    for state in &workflow.states {
        let own = workflow
            .exit_rules
            .iter()
            .filter(|rule| rule.status == state.name)
            .flat_map(|rule| cases(&rule.outcome))
            .flat_map(When::comparisons)
            .map(|comparison| comparison.field.clone());
        live.insert(state.name.clone(), own.collect());
        arriving.insert(state.name.clone(), Fields::new());
    }
    loop {
        let mut changed = false;
        for edge in &workflow.edges {
            let mut needed = fields_read(edge);
            for to in targets(workflow, edge) {
                let sets = overwritten_fields(workflow, edge, to);
                let mut after = live.get(to).cloned().unwrap_or_default();
                if starts_something(workflow, edge, to) || edge.trigger == Trigger::SpawnFailed {
                    after.extend(arriving.get(to).into_iter().flatten().cloned());
                }
                needed.extend(after.into_iter().filter(|field| !sets.contains(field)));
            }
            let known = match edge.trigger {
                Trigger::SpawnFailed => &mut arriving,
                _ => &mut live,
            };
            let known = known.entry(edge.from.clone()).or_default();
            let before = known.len();
            known.extend(needed);
            changed |= known.len() != before;
        }
        if !changed {
            return live;
        }
    }
}

/// The statuses from which a task can reach an edge that waits for an event of the pull request,
/// without opening a pull request on the way.
fn pull_request_statuses(workflow: &Workflow) -> BTreeSet<Status> {
    let mut found: BTreeSet<Status> = BTreeSet::new();
    loop {
        let before = found.len();
        for edge in &workflow.edges {
            let leads_there = targets(workflow, edge).into_iter().any(|to| {
                let mut hooks = hooks(workflow, edge, to);
                found.contains(to)
                    && !hooks.any(|hook| matches!(hook.action, Action::CreatePr { .. }))
            });
            if edge.trigger.is_forge() || leads_there {
                found.insert(edge.from.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn fields_read(edge: &Edge) -> Fields {
    let comparisons = edge.when.iter().flat_map(When::comparisons);
    let fields = comparisons.map(|comparison| comparison.field.clone());
    let waits = edge.trigger == Trigger::ChildrenDone;
    let children = waits.then(|| FieldName::new(language::CHILDREN_OPEN));
    fields.chain(children).collect()
}

/// The statuses that an edge may lead to. An edge to the previous status may lead to any.
fn targets<'a>(workflow: &'a Workflow, edge: &'a Edge) -> Vec<&'a Status> {
    match &edge.to {
        Target::Status(status) => vec![status],
        Target::Previous => workflow.states.iter().map(|state| &state.name).collect(),
    }
}

fn hooks<'a>(
    workflow: &'a Workflow,
    edge: &'a Edge,
    to: &Status,
) -> impl Iterator<Item = &'a Hook> {
    let on_enter = workflow
        .state(to)
        .map_or(&[] as &[Hook], |state| &state.on_enter);
    edge.hooks.iter().chain(on_enter)
}

fn overwritten_fields(workflow: &Workflow, edge: &Edge, to: &Status) -> Fields {
    let by_hooks = hooks(workflow, edge, to).filter_map(|hook| match &hook.action {
        Action::SetField(change) => Some(change),
        _ => None,
    });
    let exactly = |change: &&Change| matches!(change.to, NewValue::Exactly(_));
    let changes = edge.set.iter().chain(by_hooks).filter(exactly);
    changes.map(|change| change.field.clone()).collect()
}

fn starts_something(workflow: &Workflow, edge: &Edge, to: &Status) -> bool {
    hooks(workflow, edge, to).any(|hook| {
        matches!(
            hook.action,
            Action::AcquireWorkspace { .. } | Action::SpawnAgent(_)
        )
    })
}
