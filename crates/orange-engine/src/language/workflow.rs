//! A workflow after loading: names resolved, defaults filled in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::declarations::Declaration;
use super::exit_rules::ExitRule;
use super::gates::{Gate, GateKind};
use super::hooks::{Hook, SpawnHook};
use super::problem::Position;
use super::prompt::Prompt;
use super::verbs::{VerbSources, Verbs};
use super::when::{Limits, When};
use crate::document::SectionName;
use crate::names::{FieldName, GateName, PromptName, Status, WorkflowName};
use crate::role::Role;

/// A lifecycle: everything `decide` needs to know about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Workflow {
    /// Its name.
    pub name: WorkflowName,
    /// The version of the language.
    pub version: u32,
    /// What it is for, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The sandbox that its agents and commands need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
    /// Agent roles in addition to worker and reviewer.
    pub roles: Vec<Role>,
    /// Numbers that guards, exit rules and prompts may name.
    pub limits: Limits,
    /// Numeric fields and their initial values.
    pub fields: BTreeMap<FieldName, i64>,
    /// Gates by name.
    pub gates: BTreeMap<GateName, Gate>,
    /// States in the order of the file.
    pub states: Vec<State>,
    /// States a task can be created in, in the order of the file.
    pub entries: Vec<Entry>,
    /// Edges in the order of the file, with `"*active"` expanded.
    pub edges: Vec<Edge>,
    /// Where each verb leads.
    pub verbs: Verbs,
    /// The statuses in which a verb may be used, where the file restricts them.
    #[serde(skip_serializing_if = "VerbSources::is_empty")]
    pub verb_sources: VerbSources,
    /// What happens when an agent exits; the first matching rule decides.
    pub exit_rules: Vec<ExitRule>,
    /// Prompts by name.
    pub prompts: BTreeMap<PromptName, Prompt>,
    /// The names the file declares.
    #[serde(skip)]
    pub declared: Vec<Declaration>,
    /// Sections that some gate reads; imports remember only these.
    #[serde(skip)]
    pub(super) gated_sections: Vec<SectionName>,
    /// Whether some gate requires a fresh section.
    #[serde(skip)]
    pub(super) asks_for_freshness: bool,
}

/// What a sandbox must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Everything that a sandbox of orange can.
    Full,
}

impl SandboxLevel {
    /// Its name in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxLevel::Full => "full",
        }
    }
}

/// A place a task can be in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct State {
    /// Its name.
    pub name: Status,
    /// Its kind.
    pub kind: Kind,
    /// The roles whose agents should be running here.
    pub expects: Vec<Role>,
    /// How to respawn an agent, by role.
    pub respawn: BTreeMap<Role, Respawn>,
    /// Hooks for every edge into this state, after those of the edge.
    pub on_enter: Vec<Hook>,
    /// How long it may last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    /// Its position in the file.
    #[serde(skip)]
    pub at: Position,
}

/// The kind of a state, used by the dashboard, for limits and for sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The task waits to be started.
    Queued,
    /// An agent is working.
    Agent,
    /// The task waits for the user.
    Human,
    /// The task waits for something else.
    Waiting,
    /// The task has ended.
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

/// How an agent is respawned in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Respawn {
    /// The name of its prompt.
    pub prompt: PromptName,
    /// What it may do without asking.
    pub permissions: Permissions,
}

/// What a harness lets an agent do without asking.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// Everything.
    Full,
    /// What the harness considers safe.
    Reduced,
}

/// How long a state may last, and what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Timeout {
    /// How long it may last, in seconds.
    pub after: u64,
    /// The status after that.
    pub then: Status,
}

/// A state a task can be created in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// The state.
    pub status: Status,
    /// The guard of this entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Field changes, before the hooks.
    pub set: Vec<Change>,
    /// The hooks, in order.
    pub hooks: Vec<Hook>,
    /// Its position in the file.
    #[serde(skip)]
    pub at: Position,
}

/// A transition from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Edge {
    /// The status it starts from.
    pub from: Status,
    /// The status it leads to.
    pub to: Target,
    /// What triggers it.
    pub trigger: Trigger,
    /// The roles that may request it; if empty, any role.
    pub by: Vec<Role>,
    /// Its guard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The evidence it requires.
    pub gates: Vec<Gate>,
    /// A question that the user must confirm first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    /// Field changes, before the hooks.
    pub set: Vec<Change>,
    /// The hooks, in order.
    pub hooks: Vec<Hook>,
    /// Whether its source was written as `"*active"`.
    pub is_from_active: bool,
    /// Its position in the file.
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

/// What triggers an edge.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A request.
    Request,
    /// An agent exited, and an exit rule takes the edge.
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
    /// Checks of the pull request failed, also when they ran again.
    PrFailing,
    /// The pull request conflicts with its base.
    PrConflicting,
    /// Reviewers made points about the pull request.
    PrFeedback,
    /// The pull request leaves nothing to fix, and none of its checks is running.
    PrReady,
    /// Every child task has ended.
    ChildrenDone,
    /// A headless run wrote its report.
    Report,
}

impl Trigger {
    /// Every trigger, by its name in a file.
    pub const ALL: [(&'static str, Trigger); 14] = [
        ("request", Trigger::Request),
        ("exit", Trigger::Exit),
        ("crash", Trigger::Crash),
        ("timeout", Trigger::Timeout),
        ("spawn_failed", Trigger::SpawnFailed),
        ("merged", Trigger::Merged),
        ("pr_merged", Trigger::PrMerged),
        ("pr_closed", Trigger::PrClosed),
        ("pr_failing", Trigger::PrFailing),
        ("pr_conflicting", Trigger::PrConflicting),
        ("pr_feedback", Trigger::PrFeedback),
        ("pr_ready", Trigger::PrReady),
        ("children_done", Trigger::ChildrenDone),
        ("report", Trigger::Report),
    ];

    /// Whether it is about the pull request.
    pub fn is_forge(self) -> bool {
        matches!(
            self,
            Trigger::PrMerged
                | Trigger::PrClosed
                | Trigger::PrFailing
                | Trigger::PrConflicting
                | Trigger::PrFeedback
                | Trigger::PrReady
        )
    }

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
    /// Its new value.
    pub to: NewValue,
}

/// The new value of a field.
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
    pub fn requires_freshness(&self) -> bool {
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

    /// Every agent role that some status expects, in the order of the file.
    pub fn agent_roles(&self) -> Vec<Role> {
        let mut roles: Vec<Role> = Vec::new();
        for role in self.states.iter().flat_map(|state| &state.expects) {
            if !roles.contains(role) {
                roles.push(role.clone());
            }
        }
        roles
    }

    /// Whether a run can plan how to split a task.
    pub fn can_plan(&self) -> bool {
        self.planning_starts().next().is_some()
    }

    /// The prompt of a run of this role that only plans how to split a task.
    pub(crate) fn plan_prompt(&self, role: &Role) -> Option<&PromptName> {
        let mut starts = self.planning_starts().filter(|spawn| spawn.role == *role);
        starts.find_map(|spawn| spawn.plan.as_ref())
    }

    fn planning_starts(&self) -> impl Iterator<Item = &SpawnHook> {
        let starts = self.every_hook().filter_map(|hook| hook.action.spawn());
        starts.filter(|spawn| spawn.plan.is_some())
    }

    /// How this role is first started; a respawn differs only in its prompt and its permissions.
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

    /// The first entry that starts a reviewer and no worker: work that exists is reviewed there.
    pub fn review_entry(&self) -> Option<&Status> {
        let starts = |entry: &Entry, role: &Role| {
            let state = self.state(&entry.status);
            let on_enter = state.into_iter().flat_map(|state| &state.on_enter);
            let mut hooks = entry.hooks.iter().chain(on_enter);
            hooks.any(|hook| hook.action.spawn().is_some_and(|it| it.role == *role))
        };
        let mut entries = self.entries.iter();
        let found = entries.find(|it| starts(it, &Role::Reviewer) && !starts(it, &Role::Worker));
        found.map(|entry| &entry.status)
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
