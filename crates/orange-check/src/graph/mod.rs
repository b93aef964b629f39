//! A workflow as a drawing: states and the arrows between them.
//!
//! Nothing here decides anything. A drawing has one arrow per pair of states, however many
//! transitions there are between them, and shows only once what applies to every active state.

pub mod dot;
mod label;
pub mod mermaid;
mod shortest;
pub mod terminal;

use orange_engine::language::Workflow;
use orange_engine::language::when::When;
use orange_engine::language::workflow::{Edge, Kind, Target, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// What a picture of a workflow shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Graph {
    /// The states, in the order of the file.
    pub states: Vec<Node>,
    /// One arrow per pair of states, in the order of the states.
    pub edges: Vec<Arrow>,
    /// From the first entry to an end; empty when no such way was found.
    pub shortest_way: Vec<Status>,
    /// What holds for every active state, by the state it leads to.
    #[serde(skip)]
    common: Vec<Common>,
}

/// A state in a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Node {
    /// Its name.
    pub name: Status,
    /// What kind of waiting or working it is.
    pub kind: Kind,
    /// Agents that should be alive here.
    pub expects: Vec<Role>,
    /// Present when a task can be created here.
    pub entry: Option<Opening>,
}

/// A state in which a task can be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Opening {
    /// When this entry is open; nothing means always.
    pub when: Option<When>,
}

/// Every transition from one state to one other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Arrow {
    /// Where it starts.
    pub from: Status,
    /// Where it leads.
    pub to: Target,
    /// Where that stands in the file.
    pub course: Course,
    /// Whether it is a step of the shortest way.
    pub on_shortest_way: bool,
    /// The transitions, in the order of the file.
    pub ways: Vec<Way>,
}

/// Whether an arrow follows the order of the file.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// To a state further down.
    Onward,
    /// To a state further up, to itself, or to the previous one.
    Back,
}

/// One transition of an arrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Way {
    /// What is common to it wherever it starts.
    #[serde(flatten)]
    pub condition: Condition,
    /// Whether it was written as `"*active"`.
    pub from_any: bool,
    /// Whether it looks like one that was: it may still differ in its hooks.
    #[serde(skip)]
    is_common: bool,
}

/// What must come together for a transition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Condition {
    /// What sets it off.
    pub trigger: Trigger,
    /// Who may ask; empty means anyone.
    pub by: Vec<Role>,
    /// When it is open.
    pub when: Option<When>,
    /// What must be shown: names of gates, or what a gate without a name asks for.
    pub gates: Vec<String>,
    /// What a person is asked first.
    pub confirm: Option<String>,
}

/// A transition that is the same for every active state, so a drawing shows it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    pub to: Target,
    /// Its conditions.
    pub condition: Condition,
    /// Active states that it does not leave, because they have one of their own.
    pub except: Vec<Status>,
}

impl Graph {
    pub fn of(workflow: &Workflow) -> Graph {
        let mut graph = Graph {
            states: workflow
                .states
                .iter()
                .map(|state| Node {
                    name: state.name.clone(),
                    kind: state.kind,
                    expects: state.expects.clone(),
                    entry: opening(workflow, &state.name),
                })
                .collect(),
            edges: Vec::new(),
            shortest_way: Vec::new(),
            common: Vec::new(),
        };
        for edge in &workflow.edges {
            graph.add(edge);
        }
        graph.sort();
        graph.tell_once();
        graph.shortest_way = shortest::find(workflow, &graph);
        for arrow in &mut graph.edges {
            let step = [Some(&arrow.from), arrow.target()];
            let mut steps = graph.shortest_way.windows(2);
            arrow.on_shortest_way = steps.any(|pair| pair.iter().map(Some).eq(step));
        }
        graph
    }

    fn add(&mut self, edge: &Edge) {
        let condition = Condition::of(edge);
        let is_new = |common: &Common| common.to != edge.to || common.condition != condition;
        if edge.from_any && self.common.iter().all(is_new) {
            self.common.push(Common {
                to: edge.to.clone(),
                condition: condition.clone(),
                except: Vec::new(),
            });
        }
        let way = Way {
            condition,
            from_any: edge.from_any,
            is_common: false,
        };
        let mut same = self.edges.iter_mut();
        match same.find(|arrow| arrow.from == edge.from && arrow.to == edge.to) {
            Some(arrow) => arrow.ways.push(way),
            None => self.edges.push(Arrow {
                from: edge.from.clone(),
                to: edge.to.clone(),
                course: self.course(edge),
                on_shortest_way: false,
                ways: vec![way],
            }),
        }
    }

    fn sort(&mut self) {
        let states = std::mem::take(&mut self.states);
        let place = |to: &Target| states.iter().position(|node| node.is(to));
        let place = |to: &Target| place(to).unwrap_or(usize::MAX);
        self.edges
            .sort_by_key(|arrow| (place(&Target::Status(arrow.from.clone())), place(&arrow.to)));
        self.common.sort_by_key(|common| place(&common.to));
        self.states = states;
    }

    /// Finds the transitions that are the same for every active state.
    fn tell_once(&mut self) {
        for common in &mut self.common {
            let mut sources: Vec<&Status> = Vec::new();
            for arrow in self.edges.iter_mut().filter(|arrow| arrow.to == common.to) {
                let mut ways = arrow.ways.iter_mut();
                if let Some(way) = ways.find(|way| way.condition == common.condition) {
                    way.is_common = true;
                    sources.push(&arrow.from);
                }
            }
            let active = self.states.iter().filter(|node| {
                node.kind != Kind::Terminal
                    && !node.is(&common.to)
                    && !sources.contains(&&node.name)
            });
            common.except = active.map(|node| node.name.clone()).collect();
        }
    }

    fn course(&self, edge: &Edge) -> Course {
        let mut from_here = self.states.iter().skip_while(|node| node.name != edge.from);
        let _from = from_here.next();
        if from_here.any(|node| node.is(&edge.to)) {
            Course::Onward
        } else {
            Course::Back
        }
    }

    /// The arrows to draw, each with the transitions that only its state has.
    pub fn drawn(&self) -> impl Iterator<Item = (&Arrow, Vec<&Condition>)> {
        self.edges.iter().filter_map(|arrow| {
            let own: Vec<&Condition> = arrow.own().collect();
            (!own.is_empty()).then_some((arrow, own))
        })
    }

    /// The transitions of every active state, by target.
    pub fn common(&self) -> impl Iterator<Item = (&Target, &[Common])> {
        let same = |a: &Common, b: &Common| a.to == b.to;
        let groups = self.common.chunk_by(same);
        groups.filter_map(|group| Some((&group.first()?.to, group)))
    }

    /// Whether some arrow leads back to wherever the task came from.
    pub fn leads_to_previous(&self) -> bool {
        self.edges.iter().any(|arrow| arrow.to == Target::Previous)
    }
}

impl Node {
    /// Whether an arrow leads here.
    fn is(&self, target: &Target) -> bool {
        matches!(target, Target::Status(status) if *status == self.name)
    }
}

impl Arrow {
    /// The state it leads to, unless that depends on where the task came from.
    pub fn target(&self) -> Option<&Status> {
        match &self.to {
            Target::Status(status) => Some(status),
            Target::Previous => None,
        }
    }

    /// The transitions that are not shown once for every active state.
    fn own(&self) -> impl Iterator<Item = &Condition> {
        let own = self.ways.iter().filter(|way| !way.is_common);
        own.map(|way| &way.condition)
    }
}

impl Condition {
    fn of(edge: &Edge) -> Condition {
        Condition {
            trigger: edge.trigger,
            by: edge.by.clone(),
            when: edge.when.clone(),
            gates: edge.gates.iter().map(label::gate).collect(),
            confirm: edge.confirm.clone(),
        }
    }
}

fn opening(workflow: &Workflow, status: &Status) -> Option<Opening> {
    let mut entries = workflow.entries.iter();
    let entry = entries.find(|entry| entry.status == *status)?;
    Some(Opening {
        when: entry.when.clone(),
    })
}
