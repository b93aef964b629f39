//! One change in behaviour, as data.

use orange_engine::language::workflow::{Target, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// One change in behaviour; its `Display` is a sentence about its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct WorkflowChange {
    /// The status it is about; absent if it concerns the whole workflow.
    pub status: Option<Status>,
    /// The transition or entry it is about; absent if it concerns the status itself.
    pub route: Option<Route>,
    /// What kind of thing changes.
    pub kind: ChangeKind,
    /// The hook, field, verb or prompt that changes, where there can be several.
    pub subject: Option<String>,
    /// The parameter that changes, if the rest of the hook stays the same.
    pub parameter: Option<&'static str>,
    /// The new value; absent if it is removed.
    pub new: Option<String>,
    /// The old value; absent if it is added.
    pub old: Option<String>,
    /// The position of a new hook among the others.
    pub place: Option<String>,
}

/// How a task enters or leaves a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "EdgeRoute")]
pub enum Route {
    /// A task enters the status, wherever it comes from.
    #[serde(rename = "entry")]
    Arrival,
    /// A new task starts in the status.
    Creation,
    /// A transition out of the status.
    Transition {
        /// The target.
        to: Target,
        /// What triggers it.
        trigger: Trigger,
        /// The roles that may request it; empty means any role.
        by: Vec<Role>,
        /// Its guard, with limits filled in.
        when: Option<String>,
    },
}

/// What kind of thing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// The state: whether it exists, and its kind.
    State,
    /// The agents that should be running.
    Expects,
    /// How long a task may stay in the status, and where it goes then.
    Timeout,
    /// How an agent is respawned.
    Respawn,
    /// Whether the transition or entry exists.
    Transition,
    /// The field values for which it applies.
    Guard,
    /// The evidence or confirmation it requires.
    Gate,
    /// The roles that may request it.
    By,
    /// The value that a field is set to.
    Field,
    /// A hook.
    #[serde(rename = "step")]
    Hook,
    /// What the exit of an agent means.
    ExitRule,
    /// The order in which hooks run or targets are tried.
    Order,
    /// Where a command such as `orange task retry` leads.
    Verb,
    /// The first value of a field.
    InitialValue,
    /// What a prompt says.
    Prompt,
    /// The sandbox that agents and commands need.
    Sandbox,
}

/// Whether something was added, removed or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// It is new.
    Added,
    /// It no longer exists.
    Removed,
    /// It is still there, but differs.
    Changed,
}

impl WorkflowChange {
    /// Whether something was added, removed or changed. An added or removed parameter counts as a
    /// change, because its hook exists before and after.
    pub fn sign(&self) -> Sign {
        match (&self.old, &self.new) {
            _ if self.parameter.is_some() => Sign::Changed,
            (None, _) => Sign::Added,
            (_, None) => Sign::Removed,
            _ => Sign::Changed,
        }
    }
}
