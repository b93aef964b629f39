//! What a difference in behaviour is, as data.

use serde::Serialize;

use super::deaths::Fate;
use super::needs::Need;
use super::steps::Step;
use super::values::Values;
use crate::language::verbs::Verb;
use crate::language::workflow::{Kind, Target, Timeout, Trigger};
use crate::names::{FieldName, PromptName, Status};
use crate::role::Role;

/// One difference in behaviour; its `Display` is a sentence about its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// The status it is about; absent where it concerns the whole workflow.
    pub status: Option<Status>,
    /// The way it is seen on; absent where it concerns the status itself.
    pub way: Option<Way>,
    /// What is different.
    #[serde(flatten)]
    pub change: Change,
}

/// How a task comes into a status, or leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Way {
    /// Every way into the status.
    EveryWayIn,
    /// A task begins in the status.
    Beginning {
        /// The values it is about, where not all.
        only_if: Option<Values>,
    },
    /// A transition out of the status.
    Leaving {
        /// Where it leads.
        to: Target,
        /// What sets it off.
        trigger: Trigger,
        /// Who asks.
        #[serde(flatten)]
        who: Who,
        /// The values it is about, where not all.
        only_if: Option<Values>,
        /// The status it is about, where `@previous` leads back to several.
        back_to: Option<Status>,
    },
    /// An agent ends in the status.
    Ending {
        /// The roles it is about.
        roles: Vec<Role>,
    },
}

/// Who sets a transition off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Who {
    /// The roles that ask.
    pub by: Vec<Role>,
    /// Whether those are all there are.
    pub anyone: bool,
    /// Whether it also happens without being asked for.
    pub unasked: bool,
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// A state that was not there.
    StateAdded {
        /// Its kind.
        kind: Kind,
        /// Agents that should be alive there.
        expects: Vec<Role>,
    },
    /// A state that is gone.
    StateRemoved,
    /// Another kind of state.
    KindChanged {
        /// What it is.
        new: Kind,
        /// What it was.
        old: Kind,
    },
    /// Other agents should be alive.
    ExpectsChanged {
        /// Those that should now.
        new: Vec<Role>,
        /// Those that should before.
        old: Vec<Role>,
    },
    /// A role can be brought back.
    RespawnAdded {
        /// The role.
        role: Role,
        /// How.
        step: Step,
    },
    /// A role can no longer be brought back.
    RespawnRemoved {
        /// The role.
        role: Role,
    },
    /// A role is brought back otherwise.
    RespawnChanged {
        /// The role.
        role: Role,
        /// In what it differs.
        #[serde(flatten)]
        parameter: ParameterChange,
    },
    /// Of several roles that are gone, another one is brought back first.
    RespawnOrderChanged {
        /// The order.
        new: Vec<Role>,
        /// The order it was.
        old: Vec<Role>,
    },
    /// The state may last another time, or lead elsewhere then.
    TimeoutChanged {
        /// The timeout, if there is one.
        new: Option<Timeout>,
        /// The timeout that was, if there was one.
        old: Option<Timeout>,
    },
    /// A way that was not there.
    Opened {
        /// What it takes, and what happens; several where that depends on values.
        openings: Vec<Opening>,
        /// What it is tried before, and may keep from being taken.
        before: Vec<Target>,
    },
    /// A way that is gone.
    Closed,
    /// A way that is open for more values.
    Wider {
        /// For which.
        values: Values,
        /// What it takes for them, where nothing like it was there.
        opening: Option<Opening>,
    },
    /// A way that is open for fewer values.
    Narrower {
        /// For which it is closed now.
        values: Values,
    },
    /// A way whose guards differ in more than can be told.
    GuardChanged,
    /// Something that must be shown.
    NeedAdded {
        /// What.
        need: Need,
    },
    /// Something that need not be shown any more.
    NeedRemoved {
        /// What.
        need: Need,
    },
    /// Something else that must be shown.
    NeedChanged {
        /// What.
        new: Need,
        /// What it was.
        old: Need,
    },
    /// A person is asked first, or asked something else, or not asked.
    ConfirmChanged {
        /// The question.
        new: Option<String>,
        /// The question that was.
        old: Option<String>,
    },
    /// Something more happens.
    StepAdded {
        /// What.
        step: Step,
        /// Its place among the hooks, where that is the same on every way.
        place: Option<String>,
    },
    /// Something does not happen any more.
    StepRemoved {
        /// What.
        step: Step,
    },
    /// Something happens earlier or later.
    StepMoved {
        /// What.
        step: String,
        /// Its place among the hooks.
        place: Option<String>,
    },
    /// Something happens otherwise.
    StepChanged {
        /// What.
        step: String,
        /// In what it differs.
        #[serde(flatten)]
        parameter: ParameterChange,
    },
    /// Something else happens to the same field.
    StepReplaced {
        /// What.
        new: Step,
        /// What it was.
        old: Step,
    },
    /// Of two ways that may be open at once, the other one is taken.
    OrderChanged {
        /// What sets them off; nothing for the beginning of a task.
        trigger: Option<Trigger>,
        /// Where the one leads that is tried first.
        first: Target,
        /// Where the one leads that was tried first.
        then: Target,
    },
    /// The end of an agent leads to something more.
    FateAdded {
        /// To what, and when.
        fate: Fate,
        /// The next rule it is asked before, and may keep from being asked.
        before: Option<Fate>,
    },
    /// The end of an agent does not lead to something any more.
    FateRemoved {
        /// To what, and when.
        fate: Fate,
    },
    /// The end of an agent leads to something else.
    FateChanged {
        /// To what, and when.
        new: Fate,
        /// What it led to.
        old: Fate,
    },
    /// A rule about the end of an agent is asked earlier or later.
    FateMoved {
        /// The rule.
        fate: Fate,
        /// The rule it is asked before now; nothing where it is asked last.
        before: Option<Fate>,
    },
    /// A word of the command line leads elsewhere.
    VerbChanged {
        /// The word.
        verb: Verb,
        /// Where it leads.
        new: Vec<Target>,
        /// Where it led.
        old: Vec<Target>,
    },
    /// A word of the command line can be used in other statuses.
    VerbPlacesChanged {
        /// The word.
        verb: Verb,
        /// The only statuses it can be used in.
        new: Option<Vec<Status>>,
        /// The only ones it could be used in.
        old: Option<Vec<Status>>,
    },
    /// A field begins with another value.
    FieldChanged {
        /// The field.
        field: FieldName,
        /// Its first value.
        new: i64,
        /// What it was.
        old: i64,
    },
    /// A prompt says something else.
    PromptChanged {
        /// Its name.
        prompt: PromptName,
        /// What it says, limits filled in.
        new: String,
        /// What it said.
        old: String,
    },
}

/// A parameter with its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ParameterChange {
    /// Its name.
    pub parameter: &'static str,
    /// Its value.
    pub new: String,
    /// What it was.
    pub old: String,
}

/// What a way takes, and what happens on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Opening {
    /// The values it is open for.
    pub values: Values,
    /// What must be shown.
    pub needs: Vec<Need>,
    /// What a person is asked first.
    pub confirm: Option<String>,
    /// What happens.
    pub steps: Vec<Step>,
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

impl Change {
    /// Whether something came, went or changed.
    pub fn sign(&self) -> Sign {
        match self {
            Change::StateAdded { .. }
            | Change::RespawnAdded { .. }
            | Change::TimeoutChanged { old: None, .. }
            | Change::Opened { .. }
            | Change::Wider { .. }
            | Change::NeedAdded { .. }
            | Change::ConfirmChanged { old: None, .. }
            | Change::StepAdded { .. }
            | Change::FateAdded { .. } => Sign::Added,
            Change::StateRemoved
            | Change::RespawnRemoved { .. }
            | Change::TimeoutChanged { new: None, .. }
            | Change::Closed
            | Change::Narrower { .. }
            | Change::NeedRemoved { .. }
            | Change::ConfirmChanged { new: None, .. }
            | Change::StepRemoved { .. }
            | Change::FateRemoved { .. } => Sign::Removed,
            _ => Sign::Changed,
        }
    }
}
