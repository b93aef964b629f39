//! A workflow as a graph: states and the arrows between them.
//!
//! Nothing here decides anything. A drawing has one arrow per pair of states, however many
//! transitions there are between them, and shows only once what applies to every active state.

pub mod dot;
mod label;
pub mod mermaid;
mod shortest_path;
pub mod terminal;

use orange_engine::language::Workflow;
use orange_engine::language::when::When;
use orange_engine::language::workflow::{Edge, Kind, Target, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// A workflow as a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Graph {
    /// The states, in the order of the file.
    pub states: Vec<Node>,
    /// One arrow per pair of states, in the order of the states.
    pub edges: Vec<Arrow>,
    /// The shortest path from the first entry to an end; empty if there is none.
    pub shortest_path: Vec<Status>,
    /// What applies to every active state, by target.
    #[serde(skip)]
    common: Vec<CommonTransition>,
}

/// A state in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Node {
    /// Its name.
    pub name: Status,
    /// Its kind.
    pub kind: Kind,
    /// The agents that should be running in it.
    pub expects: Vec<Role>,
    /// Present if a task can be created in it.
    pub entry: Option<EntryCondition>,
}

/// A state in which a task can be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct EntryCondition {
    /// The guard of the entry; absent means always open.
    pub when: Option<When>,
}

/// All transitions from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Arrow {
    /// The source.
    pub from: Status,
    /// The target.
    pub to: Target,
    /// Whether the target comes after the source in the file.
    pub direction: Direction,
    /// Whether it is on the shortest path.
    pub on_shortest_path: bool,
    /// The transitions, in the order of the file.
    pub transitions: Vec<ArrowTransition>,
}

/// Whether an arrow follows the order of the file.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To a state further down in the file.
    Forward,
    /// To a state further up, to itself, or to the previous status.
    Back,
}

/// One transition of an arrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ArrowTransition {
    /// What it requires.
    #[serde(flatten)]
    pub condition: Condition,
    /// Whether its source was written as `"*active"`.
    pub from_any: bool,
    /// Whether every active state has this transition with the same condition; hooks are not
    /// compared.
    #[serde(skip)]
    is_common: bool,
}

/// What a transition requires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Condition {
    /// What triggers it.
    pub trigger: Trigger,
    /// The roles that may request it; empty means any role.
    pub by: Vec<Role>,
    /// Its guard.
    pub when: Option<When>,
    /// The names of its gates, or what an unnamed gate requires.
    pub gates: Vec<String>,
    /// The question to confirm first.
    pub confirm: Option<String>,
}

/// A transition that is the same from all active states but those in `except`, so that a drawing
/// shows it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonTransition {
    pub to: Target,
    /// Its conditions.
    pub condition: Condition,
    /// Active states without this transition, because they have a transition of their own instead.
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
                    entry: entry_condition(workflow, &state.name),
                })
                .collect(),
            edges: Vec::new(),
            shortest_path: Vec::new(),
            common: Vec::new(),
        };
        for edge in &workflow.edges {
            graph.add(edge);
        }
        graph.sort();
        graph.extract_common();
        graph.shortest_path = shortest_path::find(workflow, &graph);
        for arrow in &mut graph.edges {
            let step = [Some(&arrow.from), arrow.target()];
            let mut steps = graph.shortest_path.windows(2);
            arrow.on_shortest_path = steps.any(|pair| pair.iter().map(Some).eq(step));
        }
        graph
    }

    fn add(&mut self, edge: &Edge) {
        let condition = Condition::of(edge);
        let is_new =
            |common: &CommonTransition| common.to != edge.to || common.condition != condition;
        if edge.is_from_active && self.common.iter().all(is_new) {
            self.common.push(CommonTransition {
                to: edge.to.clone(),
                condition: condition.clone(),
                except: Vec::new(),
            });
        }
        let transition = ArrowTransition {
            condition,
            from_any: edge.is_from_active,
            is_common: false,
        };
        let mut same = self.edges.iter_mut();
        match same.find(|arrow| arrow.from == edge.from && arrow.to == edge.to) {
            Some(arrow) => arrow.transitions.push(transition),
            None => self.edges.push(Arrow {
                from: edge.from.clone(),
                to: edge.to.clone(),
                direction: self.direction(edge),
                on_shortest_path: false,
                transitions: vec![transition],
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
    fn extract_common(&mut self) {
        for common in &mut self.common {
            let mut sources: Vec<&Status> = Vec::new();
            for arrow in self.edges.iter_mut().filter(|arrow| arrow.to == common.to) {
                let mut transitions = arrow.transitions.iter_mut();
                if let Some(transition) =
                    transitions.find(|transition| transition.condition == common.condition)
                {
                    transition.is_common = true;
                    sources.push(&arrow.from);
                }
            }
            let missing = self.states.iter().filter(|node| {
                node.kind != Kind::Terminal
                    && !node.is(&common.to)
                    && !sources.contains(&&node.name)
            });
            common.except = missing.map(|node| node.name.clone()).collect();
        }
    }

    fn direction(&self, edge: &Edge) -> Direction {
        let mut from_here = self.states.iter().skip_while(|node| node.name != edge.from);
        let _from = from_here.next();
        if from_here.any(|node| node.is(&edge.to)) {
            Direction::Forward
        } else {
            Direction::Back
        }
    }

    /// The arrows to draw, each with the transitions that only its state has.
    pub fn drawn_arrows(&self) -> impl Iterator<Item = (&Arrow, Vec<&Condition>)> {
        self.edges.iter().filter_map(|arrow| {
            let own: Vec<&Condition> = arrow.own_conditions().collect();
            (!own.is_empty()).then_some((arrow, own))
        })
    }

    /// The transitions of every active state, by target.
    pub fn common(&self) -> impl Iterator<Item = (&Target, &[CommonTransition])> {
        let same = |a: &CommonTransition, b: &CommonTransition| a.to == b.to;
        let groups = self.common.chunk_by(same);
        groups.filter_map(|group| Some((&group.first()?.to, group)))
    }

    /// Whether some arrow leads back to wherever the task came from.
    pub fn leads_to_previous(&self) -> bool {
        self.edges.iter().any(|arrow| arrow.to == Target::Previous)
    }
}

impl Node {
    /// Whether `target` is this state.
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

    /// The conditions of the transitions that are not common to every active state.
    fn own_conditions(&self) -> impl Iterator<Item = &Condition> {
        let own = self
            .transitions
            .iter()
            .filter(|transition| !transition.is_common);
        own.map(|transition| &transition.condition)
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

fn entry_condition(workflow: &Workflow, status: &Status) -> Option<EntryCondition> {
    let mut entries = workflow.entries.iter();
    let entry = entries.find(|entry| entry.status == *status)?;
    Some(EntryCondition {
        when: entry.when.clone(),
    })
}
