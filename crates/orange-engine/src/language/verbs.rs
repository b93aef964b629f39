//! Verbs: words of the command line that the workflow maps to edges.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::hooks::Action;
use super::workflow::{Kind, Target, Workflow};
use crate::names::Status;

/// Where each verb leads: the first target with an open edge from the current status.
pub type Verbs = BTreeMap<Verb, Vec<Target>>;

/// The only statuses in which a verb may be used, where the file restricts them.
pub type VerbSources = BTreeMap<Verb, Vec<Status>>;

/// A word of the command line that takes an edge, such as `merge`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Start the work.
    Spawn,
    /// Merge the branch.
    Merge,
    /// Cancel the task.
    Cancel,
    /// Report that the work is complete.
    Complete,
    /// Report that the work is stuck.
    Stuck,
    /// Send the work back with a message.
    RequestChanges,
    /// Start the work again.
    Retry,
    /// Start the work again after a blocker.
    Unblock,
}

impl Verb {
    /// Every verb, by its name in a file.
    pub const ALL: [(&'static str, Verb); 8] = [
        ("spawn", Verb::Spawn),
        ("merge", Verb::Merge),
        ("cancel", Verb::Cancel),
        ("complete", Verb::Complete),
        ("stuck", Verb::Stuck),
        ("request-changes", Verb::RequestChanges),
        ("retry", Verb::Retry),
        ("unblock", Verb::Unblock),
    ];

    /// Its name in a file and on the command line.
    pub fn as_str(self) -> &'static str {
        Verb::ALL
            .iter()
            .find(|(_, verb)| *verb == self)
            .map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Workflow {
    /// Whether a task in this status was cancelled: it has ended, the verb `cancel` leads here, and
    /// `merge` does not.
    pub fn is_cancelled(&self, status: &Status) -> bool {
        let leads_here = |verb: Verb| {
            let mut targets = self.verbs.get(&verb).into_iter().flatten();
            targets.any(|target| *target == Target::Status(status.clone()))
        };
        self.is_terminal(status) && leads_here(Verb::Cancel) && !leads_here(Verb::Merge)
    }

    /// Whether a task in this status has finished with its branch unmerged, because merging it is
    /// left to the user.
    pub fn leaves_merging_to_user(&self, status: &Status) -> bool {
        let merges = self
            .verbs
            .get(&Verb::Merge)
            .is_some_and(|it| !it.is_empty());
        let mut hooks = self.every_hook();
        let has_worktree = hooks.any(|it| matches!(it.action, Action::AcquireWorkspace { .. }));
        self.is_terminal(status) && !self.is_cancelled(status) && !merges && has_worktree
    }

    /// Whether a verb can be used in a status.
    ///
    /// Only queued work can be spawned, and only in a status that asks the user can changes be
    /// requested or a blocked task be unblocked. The file may restrict the statuses further.
    pub fn is_verb_available(&self, verb: Verb, status: &Status) -> bool {
        let kind = self.state(status).map(|state| state.kind);
        let fits = match verb {
            Verb::Spawn => kind == Some(Kind::Queued),
            Verb::RequestChanges | Verb::Unblock => kind == Some(Kind::Human),
            _ => true,
        };
        let places = self.verb_sources.get(&verb);
        fits && places.is_none_or(|places| places.contains(status))
    }
}
