//! Delegation: what ties a child to the request that it is for.

use serde::{Deserialize, Serialize};

use crate::effect::EffectId;
use crate::names::{BranchName, CommitId};

/// The request of a report that a child was created for. A request has one child, however often
/// its creation is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct DelegationLink {
    /// The parent's effect that creates the children of one attempt. A counter of the workflow
    /// would not do, because it starts again when the user starts the task again.
    pub attempt: EffectId,
    /// The position of the request in the report, counted from 0.
    pub index: u64,
    /// The parent's commit, at which the child's branch starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommitId>,
    /// Why the child does not run on the harness that the report suggested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_note: Option<String>,
}

/// What became of the branch of a child that is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ChildMerge {
    /// The parent's branch contains it.
    Merged,
    /// It changed the same lines or files as the parent's branch; both are left as they are.
    Conflicts {
        /// The child's branch.
        branch: BranchName,
        /// The conflicting files.
        files: Vec<String>,
    },
    /// Something else prevented the merge; both branches are left as they are.
    Prevented {
        /// The child's branch.
        branch: BranchName,
        /// What prevented it.
        reason: String,
    },
}
