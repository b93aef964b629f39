//! Every way out of a status, by who asks for it.
//!
//! What a file means depends on the trigger: a request is a matter of who asks; a pull request that
//! is merged is a fact, whose gates nobody asks; an exit rule takes a request of the engine where
//! there is no edge of its own. A [`Passage`] has only what matters for its trigger, so that what
//! does not matter is no difference.

use std::collections::{BTreeMap, BTreeSet};

use super::change::Opening;
use super::deaths;
use super::needs::{Need, needs, told};
use super::steps::{Step, steps};
use super::values::Values;
use crate::language::Workflow;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Entry, State, Target, Trigger};
use crate::names::Status;
use crate::role::Role;

/// Which passages can be compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// What sets them off; nothing where a task begins.
    pub(super) trigger: Option<Trigger>,
    pub(super) to: Target,
    /// Who asks; nobody where it happens.
    pub(super) role: Option<Role>,
}

/// The ways of one key: for no values are two of them open.
#[derive(Clone, Debug, Default)]
pub(super) struct Passages {
    pub(super) all: Vec<Passage>,
    /// Whether they are requests that stand in, and so are told of as requests.
    pub(super) is_borrowed: bool,
}

/// One edge or entry, as far as it matters.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    /// The values it is open for.
    pub(super) values: Values,
    pub(super) needs: BTreeSet<Need>,
    pub(super) confirm: Option<String>,
    /// What happens, by the status it leads to: `@previous` can be several.
    pub(super) landings: BTreeMap<Status, Vec<Step>>,
    /// Its own part of what happens.
    pub(super) own_steps: Vec<Step>,
}

/// Passages of one trigger that happen by themselves, in the order in which they are tried.
pub(super) type Queue = Vec<(Target, Passage)>;

/// Every way out of a status.
pub(super) fn leaving(
    workflow: &Workflow,
    state: &State,
    roles: &BTreeSet<Role>,
) -> BTreeMap<Key, Passages> {
    let out = Out::of(workflow, state);
    let mut found = BTreeMap::new();
    for to in out.targets() {
        for role in roles {
            let edges = out.edges_to(to, Trigger::Request);
            let edges = edges.into_iter().filter(|edge| edge.is_open_to(role));
            out.add(&mut found, Trigger::Request, to, Some(role), edges, false);
        }
    }
    if let Some((to, edges, is_borrowed)) = out.merge() {
        for role in roles {
            let edges = edges.iter().copied().filter(|edge| edge.is_open_to(role));
            out.add(
                &mut found,
                Trigger::Merged,
                to,
                Some(role),
                edges,
                is_borrowed,
            );
        }
    }
    for (_, trigger) in Trigger::ALL {
        for (to, edges) in out.happening(trigger) {
            out.add(&mut found, trigger, to, None, edges.into_iter(), false);
        }
    }
    for (trigger, to) in deaths::led_to(workflow, state, roles) {
        let to = Target::Status(to);
        let (edges, is_borrowed) = out.open_by_rule(&to, trigger);
        let edges = edges.into_iter();
        out.add(&mut found, trigger, &to, None, edges, is_borrowed);
    }
    found
}

/// The values for which an exit rule finds a way to a status.
pub(super) fn found_by_rule(
    workflow: &Workflow,
    state: &State,
    to: &Status,
    trigger: Trigger,
) -> Values {
    let to = Target::Status(to.clone());
    let (edges, _) = Out::of(workflow, state).open_by_rule(&to, trigger);
    let values = edges.iter().map(|edge| Values::of(edge.when.as_ref()));
    values.fold(Values::none(), Values::or)
}

/// What happens by itself, in the order in which it is tried.
pub(super) fn queue(workflow: &Workflow, state: &State, trigger: Trigger) -> Queue {
    let out = Out::of(workflow, state);
    let edges = out.edges.iter().filter(|edge| edge.trigger == trigger);
    edges
        .filter(|edge| is_fact(trigger) || edge.is_open_to(&Role::Engine))
        .map(|edge| (edge.to.clone(), out.passage(edge, None)))
        .collect()
}

/// Whether the trigger is something that has happened, so that gates and roles are not asked.
fn is_fact(trigger: Trigger) -> bool {
    matches!(
        trigger,
        Trigger::Merged | Trigger::PrMerged | Trigger::PrClosed
    )
}

/// The triggers of which the first edge that is open is taken.
pub(super) const QUEUED: [Trigger; 6] = [
    Trigger::SpawnFailed,
    Trigger::Merged,
    Trigger::PrMerged,
    Trigger::PrClosed,
    Trigger::ChildrenDone,
    Trigger::Report,
];

/// The edges out of one status.
struct Out<'a> {
    workflow: &'a Workflow,
    state: &'a State,
    edges: Vec<&'a Edge>,
    /// The states that a task can have come from.
    previous: Vec<&'a State>,
}

impl<'a> Out<'a> {
    fn of(workflow: &'a Workflow, state: &'a State) -> Out<'a> {
        let here = Target::Status(state.name.clone());
        let edges: Vec<&Edge> = workflow.edges_from(&state.name).collect();
        let leading_here = workflow.edges.iter().filter(|edge| edge.to == here);
        let mut sources: BTreeSet<&Status> = leading_here.map(|edge| &edge.from).collect();
        // Who is sent back from a state comes from it, too.
        let backward = workflow.edges.iter().filter(|it| it.to == Target::Previous);
        sources.extend(backward.map(|edge| &edge.from).filter(|from| {
            let mut own = edges.iter();
            own.any(|edge| matches!(&edge.to, Target::Status(to) if to == *from))
        }));
        let states = workflow.states.iter();
        Out {
            workflow,
            state,
            previous: states.filter(|it| sources.contains(&it.name)).collect(),
            edges,
        }
    }

    fn targets(&self) -> BTreeSet<&'a Target> {
        self.edges.iter().map(|edge| &edge.to).collect()
    }

    fn edges_to(&self, to: &Target, trigger: Trigger) -> Vec<&'a Edge> {
        let edges = self.edges.iter().copied();
        edges
            .filter(|edge| edge.to == *to && edge.trigger == trigger)
            .collect()
    }

    /// The edges of a trigger, or the requests that stand in for them.
    fn by_rule(&self, to: &Target, trigger: Trigger) -> (Vec<&'a Edge>, bool) {
        let own = self.edges_to(to, trigger);
        if own.is_empty() {
            return (self.edges_to(to, Trigger::Request), true);
        }
        (own, false)
    }

    /// The edges that an exit rule can take.
    fn open_by_rule(&self, to: &Target, trigger: Trigger) -> (Vec<&'a Edge>, bool) {
        let (mut edges, is_borrowed) = self.by_rule(to, trigger);
        edges.retain(|edge| edge.is_open_to(&Role::Engine));
        (edges, is_borrowed)
    }

    /// Where a merge that somebody asks for leads.
    fn merge(&self) -> Option<(&'a Target, Vec<&'a Edge>, bool)> {
        let targets = self.workflow.verbs.get(&Verb::Merge)?;
        targets.iter().find_map(|to| {
            let (edges, is_borrowed) = self.by_rule(to, Trigger::Merged);
            (!edges.is_empty()).then_some((to, edges, is_borrowed))
        })
    }

    /// What a trigger leads to that nobody asks for and no rule.
    fn happening(&self, trigger: Trigger) -> Vec<(&'a Target, Vec<&'a Edge>)> {
        let timeout = self.state.timeout.as_ref().map(|timeout| &timeout.then);
        let is_taken = |edge: &&'a Edge| match trigger {
            Trigger::Request | Trigger::Exit | Trigger::Crash => false,
            Trigger::Merged | Trigger::PrMerged | Trigger::PrClosed => true,
            Trigger::Timeout => {
                edge.is_open_to(&Role::Engine)
                    && matches!(&edge.to, Target::Status(to) if Some(to) == timeout)
            }
            Trigger::SpawnFailed | Trigger::ChildrenDone | Trigger::Report => {
                edge.is_open_to(&Role::Engine)
            }
        };
        let targets = self.targets().into_iter();
        targets
            .map(|to| {
                let mut edges = self.edges_to(to, trigger);
                edges.retain(|edge| is_taken(edge));
                (to, edges)
            })
            .collect()
    }

    fn add(
        &self,
        found: &mut BTreeMap<Key, Passages>,
        trigger: Trigger,
        to: &Target,
        role: Option<&Role>,
        edges: impl Iterator<Item = &'a Edge>,
        is_borrowed: bool,
    ) {
        let all = disjoint(edges.map(|edge| self.passage(edge, role)));
        if all.is_empty() {
            return;
        }
        let key = Key {
            trigger: Some(trigger),
            to: to.clone(),
            role: role.cloned(),
        };
        found.insert(key, Passages { all, is_borrowed });
    }

    fn passage(&self, edge: &Edge, role: Option<&Role>) -> Passage {
        let is_fact = role.is_none() && is_fact(edge.trigger);
        // The engine is never asked back.
        let is_asked_back = role.is_some_and(|role| *role != Role::Engine);
        let landings = self.landings(edge).into_iter().map(|state| {
            let hooks = edge.hooks.iter().chain(&state.on_enter);
            (state.name.clone(), steps(self.workflow, &edge.set, hooks))
        });
        Passage {
            values: Values::of(edge.when.as_ref()),
            needs: if is_fact {
                BTreeSet::new()
            } else {
                needs(&edge.gates)
            },
            confirm: edge.confirm.clone().filter(|_| is_asked_back),
            landings: landings.collect(),
            own_steps: steps(self.workflow, &edge.set, &edge.hooks),
        }
    }

    /// The states that an edge can lead to.
    fn landings(&self, edge: &Edge) -> Vec<&'a State> {
        match &edge.to {
            Target::Status(status) => self.workflow.state(status).into_iter().collect(),
            Target::Previous => self.previous.clone(),
        }
    }
}

/// Every entry, in the order in which they are tried.
pub(super) fn entries(workflow: &Workflow) -> Queue {
    let entry = |entry: &Entry| {
        let state = workflow.state(&entry.status)?;
        let all = entry.hooks.iter().chain(&state.on_enter);
        let all = steps(workflow, &entry.set, all);
        let passage = Passage {
            values: Values::of(entry.when.as_ref()),
            needs: BTreeSet::new(),
            confirm: None,
            landings: BTreeMap::from([(entry.status.clone(), all)]),
            own_steps: steps(workflow, &entry.set, &entry.hooks),
        };
        Some((Target::Status(entry.status.clone()), passage))
    };
    workflow.entries.iter().filter_map(entry).collect()
}

/// The ways a task can begin in a status.
pub(super) fn beginning(workflow: &Workflow, status: &Status) -> Passages {
    let here = entries(workflow).into_iter().filter_map(|(to, passage)| {
        let is_here = matches!(&to, Target::Status(to) if to == status);
        is_here.then_some(passage)
    });
    Passages {
        all: disjoint(here),
        is_borrowed: false,
    }
}

/// Leaves to each passage the values that no earlier one takes; one without any is never taken.
fn disjoint(passages: impl Iterator<Item = Passage>) -> Vec<Passage> {
    let mut all: Vec<Passage> = Vec::new();
    for mut passage in passages {
        for earlier in &all {
            if let Ok(rest) = passage.values.without(&earlier.values) {
                passage.values = rest;
            }
        }
        if !passage.values.is_empty() {
            all.push(passage);
        }
    }
    all
}

impl Passage {
    /// What it takes and what happens, for somebody who has never seen it.
    pub(super) fn opening(&self) -> Opening {
        let mut landings = self.landings.values();
        let steps = match (landings.next(), landings.next()) {
            (Some(only), None) => only.clone(),
            _ => self.own_steps.clone(),
        };
        Opening {
            values: self.values.clone(),
            needs: told(self.needs.iter().cloned()),
            confirm: self.confirm.clone(),
            steps,
        }
    }

    /// Whether both can be open at once.
    pub(super) fn meets(&self, other: &Passage) -> bool {
        let mut pairs = self
            .needs
            .iter()
            .flat_map(|need| other.needs.iter().map(move |another| (need, another)));
        self.values.meets(&other.values) && !pairs.any(|(one, two)| one.excludes(two))
    }
}
