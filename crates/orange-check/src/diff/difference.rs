//! One difference in behaviour, as data.

use orange_engine::language::workflow::{Target, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// One difference in behaviour; its `Display` is a sentence about its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// The status it is about; absent where it concerns the whole workflow.
    pub status: Option<Status>,
    /// The row of that status; absent where it concerns the status itself.
    pub way: Option<Way>,
    /// What kind of thing differs.
    pub change: Change,
    /// Which one differs, where a row can have several: a hook, a field, a verb, a prompt.
    pub subject: Option<String>,
    /// The parameter that differs, where the rest of the hook is the same.
    pub parameter: Option<&'static str>,
    /// What it is; absent when it is gone.
    pub new: Option<String>,
    /// What it was; absent when it is new.
    pub old: Option<String>,
    /// Where a new hook stands among the others.
    pub place: Option<String>,
}

/// A row of a status: how a task enters or leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Way {
    /// A task enters the status, wherever it comes from.
    Entering,
    /// A new task starts in the status.
    Beginning,
    /// A transition out of the status.
    Leaving {
        /// Where it leads.
        to: Target,
        /// What sets it off.
        trigger: Trigger,
        /// Who may ask; empty means anyone.
        by: Vec<Role>,
        /// When it is open, limits filled in.
        when: Option<String>,
    },
}

/// What kind of thing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The state: whether it exists, and its kind.
    State,
    /// The agents that should be alive.
    Expects,
    /// How long the status may last, and where it leads then.
    Timeout,
    /// How an agent is respawned.
    Respawn,
    /// Whether the row exists at all.
    Transition,
    /// The values for which the row applies.
    Guard,
    /// What must be shown, or confirmed by the human.
    Gate,
    /// Who may ask.
    By,
    /// What becomes of a field.
    Field,
    /// A hook.
    Step,
    /// What the exit of an agent means.
    ExitRule,
    /// The order in which things are done or tried.
    Order,
    /// Where a command such as `orange task retry` leads.
    Verb,
    /// The first value of a field.
    InitialValue,
    /// What a prompt says.
    Prompt,
}

/// Whether something came, went or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// It was not there.
    Added,
    /// It is gone.
    Removed,
    /// It is there, and different.
    Changed,
}

impl Difference {
    /// Whether something was added, removed or changed; a parameter only changes its hook.
    pub fn sign(&self) -> Sign {
        match (&self.old, &self.new) {
            _ if self.parameter.is_some() => Sign::Changed,
            (None, _) => Sign::Added,
            (_, None) => Sign::Removed,
            _ => Sign::Changed,
        }
    }
}
