//! A home's claim to be the runner's current incarnation.

use serde::{Deserialize, Serialize};

use crate::ids::Incarnation;
use crate::message::RegisterAnswer;
use crate::time::Period;

/// Where a home is in becoming the current incarnation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// To be registered after this incarnation.
    Due {
        seen: Incarnation,
        /// Whether this home was registered before.
        again: bool,
    },
    Registered(Incarnation),
    /// Another home was registered in place of this one. It holds nothing and stays away: two
    /// homes that register in turn would keep taking each other's work.
    Replaced,
}

impl Registration {
    pub fn new(seen: Incarnation) -> Self {
        Self::Due { seen, again: false }
    }

    pub fn current(&self) -> Option<Incarnation> {
        match self {
            Self::Registered(incarnation) => Some(*incarnation),
            Self::Due { .. } | Self::Replaced => None,
        }
    }

    /// The incarnation to name as seen, when the home has to register.
    pub fn due(&self) -> Option<Incarnation> {
        match self {
            Self::Due { seen, .. } => Some(*seen),
            Self::Registered(_) | Self::Replaced => None,
        }
    }

    /// The lease that an answer grants. One to an earlier request grants nothing.
    pub(super) fn answered(
        &mut self,
        asked: Incarnation,
        answer: &RegisterAnswer,
    ) -> Option<Period> {
        let Self::Due { seen, again } = *self else {
            return None;
        };
        if seen != asked {
            return None;
        }
        match *answer {
            RegisterAnswer::Registered {
                incarnation,
                lost_after,
            } => {
                *self = Self::Registered(incarnation);
                Some(lost_after)
            }
            RegisterAnswer::Taken {
                incarnation,
                replaced,
            } => {
                self.seek(incarnation, replaced && again, again);
                None
            }
        }
    }

    /// A beat was refused: this incarnation is over.
    pub(super) fn lost(&mut self, current: Incarnation, replaced: bool) {
        self.seek(current, replaced, true);
    }

    fn seek(&mut self, seen: Incarnation, replaced: bool, again: bool) {
        *self = if replaced {
            Self::Replaced
        } else {
            Self::Due { seen, again }
        };
    }
}
