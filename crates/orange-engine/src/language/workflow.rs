//! A workflow after loading: names resolved, defaults filled in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::declared::Declared;
use super::exit_rules::ExitRule;
use super::gates::{Gate, GateKind};
use super::hooks::{Hook, SpawnHook};
use super::problem::Position;
use super::prompt::Prompt;
use super::verbs::{VerbPlaces, Verbs};
use super::when::{Limits, When};
use crate::document::SectionName;
use crate::names::{FieldName, GateName, PromptName, Status, WorkflowName};
use crate::role::Role;

/// A lifecycle: everything `decide` needs to know about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Workflow {
    /// The name it is bound by.
    pub name: WorkflowName,
    /// The version of the language.
    pub version: u32,
    /// What it is for, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Agent roles beside worker and reviewer.
    pub roles: Vec<Role>,
    /// Numbers that guards, exit rules and prompts may name.
    pub limits: Limits,
    /// Numeric fields and their first values.
    pub fields: BTreeMap<FieldName, i64>,
    /// Gates by name.
    pub gates: BTreeMap<GateName, Gate>,
    /// States in the order of the file.
    pub states: Vec<State>,
    /// States a task can be created in, in the order of the file.
    pub entries: Vec<Entry>,
    /// Edges in the order of the file, `"*active"` spelled out.
    pub edges: Vec<Edge>,
    /// Where each verb leads.
    pub verbs: Verbs,
    /// The only statuses a verb may be used in, where the file names them.
    #[serde(skip_serializing_if = "VerbPlaces::is_empty")]
    pub verb_places: VerbPlaces,
    /// What the death of an agent means, first match first.
    pub exit_rules: Vec<ExitRule>,
    /// Prompts by name.
    pub prompts: BTreeMap<PromptName, Prompt>,
    /// The names the file declares.
    #[serde(skip)]
    pub declared: Vec<Declared>,
    /// Sections that some gate reads; imports remember only these.
    #[serde(skip)]
    pub(super) gated_sections: Vec<SectionName>,
    /// Whether some gate asks for freshness.
    #[serde(skip)]
    pub(super) asks_for_freshness: bool,
}

/// A place a task can be in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct State {
    /// Its name.
    pub name: Status,
    /// What kind of waiting or working it is.
    pub kind: Kind,
    /// Agents that should be alive here.
    pub expects: Vec<Role>,
    /// How to bring an agent back, by role.
    pub respawn: BTreeMap<Role, Respawn>,
    /// What happens on every way in, after the edge's own hooks.
    pub on_enter: Vec<Hook>,
    /// When it has lasted too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    /// Where the file says so.
    #[serde(skip)]
    pub at: Position,
}

/// What the dashboard, the counting of slots and the sorting go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Waits for a slot.
    Queued,
    /// An agent is at it.
    Agent,
    /// A person is asked.
    Human,
    /// Waits for something else.
    Waiting,
    /// The end.
    Terminal,
}

impl Kind {
    /// Its name in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Queued => "queued",
            Kind::Agent => "agent",
            Kind::Human => "human",
            Kind::Waiting => "waiting",
            Kind::Terminal => "terminal",
        }
    }
}

/// How an agent is brought back into a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Respawn {
    /// What it is told.
    pub prompt: PromptName,
    /// What it may do.
    pub permissions: Permissions,
}

/// How far a harness lets an agent go without asking.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// Everything.
    Full,
    /// What the harness calls safe.
    Reduced,
}

/// A state that may last only so long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Timeout {
    /// Seconds.
    pub after: u64,
    /// Where it leads then.
    pub then: Status,
}

/// A state a task can be created in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// The state.
    pub status: Status,
    /// When this entry is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Field changes on the way in.
    pub set: Vec<Change>,
    /// What happens on the way in.
    pub hooks: Vec<Hook>,
    /// Where the file says so.
    #[serde(skip)]
    pub at: Position,
}

/// A way from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Edge {
    /// Where it starts.
    pub from: Status,
    /// Where it leads.
    pub to: Target,
    /// What sets it off.
    pub trigger: Trigger,
    /// Who may ask; empty means anyone.
    pub by: Vec<Role>,
    /// When it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// What must be shown.
    pub gates: Vec<Gate>,
    /// What a person is asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    /// Field changes, before the hooks.
    pub set: Vec<Change>,
    /// What happens, in order.
    pub hooks: Vec<Hook>,
    /// Whether it was written as `"*active"`.
    pub from_any: bool,
    /// Where the file says so.
    #[serde(skip)]
    pub at: Position,
}

/// Where an edge leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Target {
    /// A state.
    Status(Status),
    /// `@previous`: the status this one was entered from.
    #[serde(serialize_with = "serialize_previous")]
    Previous,
}

fn serialize_previous<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(Target::PREVIOUS)
}

impl Target {
    /// How a file writes the previous status.
    pub const PREVIOUS: &'static str = "@previous";
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Status(status) => status.fmt(formatter),
            Target::Previous => formatter.write_str(Target::PREVIOUS),
        }
    }
}

/// What sets an edge off.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Somebody asks.
    Request,
    /// An agent ended, and an exit rule leads on.
    Exit,
    /// An agent crashed too often.
    Crash,
    /// The state lasted too long.
    Timeout,
    /// An agent could not be started.
    SpawnFailed,
    /// The branch was merged.
    Merged,
    /// The pull request was merged.
    PrMerged,
    /// The pull request was closed without a merge.
    PrClosed,
    /// Every child task reached its end.
    ChildrenDone,
    /// A headless run reported.
    Report,
}

impl Trigger {
    /// Every trigger, by its name in a file.
    pub const ALL: [(&'static str, Trigger); 10] = [
        ("request", Trigger::Request),
        ("exit", Trigger::Exit),
        ("crash", Trigger::Crash),
        ("timeout", Trigger::Timeout),
        ("spawn_failed", Trigger::SpawnFailed),
        ("merged", Trigger::Merged),
        ("pr_merged", Trigger::PrMerged),
        ("pr_closed", Trigger::PrClosed),
        ("children_done", Trigger::ChildrenDone),
        ("report", Trigger::Report),
    ];

    /// Its name in a file.
    pub fn as_str(self) -> &'static str {
        Trigger::ALL
            .iter()
            .find(|(_, trigger)| *trigger == self)
            .map_or("", |(name, _)| name)
    }
}

/// A change of a numeric field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// The field.
    pub field: FieldName,
    /// What becomes of it.
    pub to: NewValue,
}

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewValue {
    /// This number.
    Exactly(i64),
    /// One more than before.
    Increment,
}

impl Workflow {
    /// Finishes a workflow by collecting the sections that its gates use.
    pub(super) fn with_gated_sections(mut self) -> Workflow {
        let gates = self.every_gate().filter_map(|gate| match &gate.kind {
            GateKind::Section(gate) => Some(gate),
            _ => None,
        });
        let asks_for_freshness = gates.clone().any(|gate| gate.fresh);
        let mut sections: Vec<SectionName> = gates.map(|gate| gate.section.clone()).collect();
        sections.sort();
        sections.dedup();
        self.gated_sections = sections;
        self.asks_for_freshness = asks_for_freshness;
        self
    }

    /// Every gate of an edge or an exit rule, with duplicates.
    pub fn every_gate(&self) -> impl Iterator<Item = &Gate> + Clone {
        let edges = self.edges.iter().flat_map(|edge| &edge.gates);
        edges.chain(self.exit_rules.iter().flat_map(|rule| &rule.has_artifact))
    }

    /// Every hook, of edges, entries and states.
    pub fn every_hook(&self) -> impl Iterator<Item = &Hook> + Clone {
        let edges = self.edges.iter().flat_map(|edge| &edge.hooks);
        let entries = self.entries.iter().flat_map(|entry| &entry.hooks);
        let states = self.states.iter().flat_map(|state| &state.on_enter);
        edges.chain(entries).chain(states)
    }

    /// The sections of TASK.md that some gate checks, in order.
    pub fn gated_sections(&self) -> &[SectionName] {
        &self.gated_sections
    }

    /// Whether some gate compares a section with what it was when the status was entered.
    pub fn asks_for_freshness(&self) -> bool {
        self.asks_for_freshness
    }

    pub fn state(&self, status: &Status) -> Option<&State> {
        self.states.iter().find(|state| state.name == *status)
    }

    /// Whether a task in this status has ended; unknown statuses have not.
    pub fn is_terminal(&self, status: &Status) -> bool {
        self.state(status)
            .is_some_and(|state| state.kind == Kind::Terminal)
    }

    /// How this role is first started; a respawn differs only in its prompt.
    pub fn first_start(&self, role: &Role) -> Option<&SpawnHook> {
        let edges = self.edges.iter().flat_map(|edge| &edge.hooks);
        let entries = self.entries.iter().flat_map(|entry| &entry.hooks);
        let states = self.states.iter().flat_map(|state| &state.on_enter);
        edges
            .chain(entries)
            .chain(states)
            .filter_map(|hook| hook.action.spawn())
            .find(|spawn| spawn.role == *role)
    }

    /// The edges that leave a status, in file order.
    pub fn edges_from<'a>(&'a self, status: &'a Status) -> impl Iterator<Item = &'a Edge> + 'a {
        self.edges.iter().filter(move |edge| edge.from == *status)
    }
}

impl Edge {
    /// Whether this role may ask for the edge.
    pub fn is_open_to(&self, role: &Role) -> bool {
        self.by.is_empty() || self.by.contains(role)
    }
}
