//! Registration: a home becomes the runner's next incarnation.

use serde::{Deserialize, Serialize};

use crate::capability::Capabilities;
use crate::ids::{HomeId, Incarnation, RunnerId};
use crate::time::Period;

/// Register a home as the incarnation after the one that it has seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Register {
    pub runner: RunnerId,
    pub home: HomeId,
    /// The incarnation that this home knows to be current. Compared, so that a late copy of an
    /// earlier registration changes nothing.
    pub seen: Incarnation,
    /// After how long without a beat the server may give its tasks to others.
    pub lost_after: Period,
    pub capabilities: Capabilities,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RegisterAnswer {
    Registered {
        incarnation: Incarnation,
        /// What the server has granted, counted from when it received the call.
        lost_after: Period,
    },
    /// The incarnation is not the one that was seen.
    Taken {
        incarnation: Incarnation,
        /// Whether it belongs to another home.
        replaced: bool,
    },
}
