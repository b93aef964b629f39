//! Compares the allowed policy with the one on the default branch.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{PinnedPolicy, PolicyFile, Project};
use orange_effects::git::CommittedEntry;
use orange_engine::names::{CommitId, ProjectName};

use super::{default_commit, policy_entries};
use crate::DriverError;
use crate::workspaces::Workspaces;

/// How long a comparison counts for a list that is made again and again.
const FRESH: Duration = Duration::from_secs(10);

/// The latest comparison of each project in this process.
static LATEST: Mutex<BTreeMap<(PathBuf, String), Latest>> = Mutex::new(BTreeMap::new());

struct Latest {
    state: PolicyState,
    until: Deadline,
}

/// Whether a repository has a policy, and whether the user allowed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyState {
    /// There is none.
    None,
    /// The default branch has one at this commit, which is not used.
    NotAllowed { commit: CommitId },
    /// The allowed one is used, and the default branch has the same.
    Allowed { pinned: Box<PinnedPolicy> },
    /// The allowed one is used, but the default branch has another or none.
    Changed {
        pinned: Box<PinnedPolicy>,
        commit: CommitId,
        /// Whether the default branch has none any more.
        is_removed: bool,
    },
}

impl PolicyState {
    /// The command that shows and allows what the default branch has; `None` if nothing is to do.
    pub fn command(&self, project: &ProjectName) -> Option<String> {
        match self {
            PolicyState::None | PolicyState::Allowed { .. } => None,
            PolicyState::Changed {
                is_removed: true, ..
            } => Some(format!("orange allow --revoke --project {project}")),
            PolicyState::NotAllowed { .. } | PolicyState::Changed { .. } => {
                Some(format!("orange allow --project {project}"))
            }
        }
    }
}

impl fmt::Display for PolicyState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyState::None => formatter.write_str("none"),
            PolicyState::NotAllowed { commit } => {
                write!(
                    formatter,
                    "not allowed, so not used (commit {})",
                    commit.short()
                )
            }
            PolicyState::Allowed { pinned } => {
                write!(formatter, "allowed (commit {})", pinned.commit.short())
            }
            PolicyState::Changed {
                pinned,
                commit,
                is_removed,
            } => {
                let (now, allowed) = (commit.short(), pinned.commit.short());
                let what = if *is_removed { "removed" } else { "changed" };
                write!(
                    formatter,
                    "{what} at commit {now}; the one that you allowed (commit {allowed}) stays in use"
                )
            }
        }
    }
}

impl Workspaces {
    /// Compares the allowed policy with the one on the default branch. Reads no file of it: git
    /// knows the contents by their ids.
    pub fn policy_state(&self, project: &Project) -> Result<PolicyState, DriverError> {
        let pinned = PinnedPolicy::load(&self.context.home, &project.name)?;
        self.compare(project, pinned)
    }

    /// The state, if the user allowed a policy; for a list that is made again and again.
    pub(crate) fn recent_policy_state(
        &self,
        project: &Project,
    ) -> Result<Option<PolicyState>, DriverError> {
        let Some(pinned) = PinnedPolicy::load(&self.context.home, &project.name)? else {
            return Ok(None);
        };
        let latest = || LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (project.path.clone(), pinned.hash.clone());
        if let Some(known) = latest().get(&key).filter(|it| !it.until.has_passed()) {
            return Ok(Some(known.state.clone()));
        }
        let state = self.compare(project, Some(pinned))?;
        let until = Deadline::after(FRESH);
        let kept = state.clone();
        latest().insert(key, Latest { state: kept, until });
        Ok(Some(state))
    }

    fn compare(
        &self,
        project: &Project,
        pinned: Option<PinnedPolicy>,
    ) -> Result<PolicyState, DriverError> {
        let git = self.open_repository(project)?;
        let commit = default_commit(&git, project)?;
        let Some(pinned) = pinned.map(Box::new) else {
            return Ok(if policy_entries(&git, &commit)?.is_empty() {
                PolicyState::None
            } else {
                PolicyState::NotAllowed { commit }
            });
        };
        if pinned.commit == commit {
            return Ok(PolicyState::Allowed { pinned });
        }
        let entries = policy_entries(&git, &commit)?;
        Ok(if has_same_files(&pinned, &entries) {
            PolicyState::Allowed { pinned }
        } else {
            PolicyState::Changed {
                pinned,
                commit,
                is_removed: entries.is_empty(),
            }
        })
    }
}

fn has_same_files(pinned: &PinnedPolicy, entries: &[CommittedEntry]) -> bool {
    let is_same = |(file, entry): (&PolicyFile, &CommittedEntry)| {
        entry.is_file
            && entry.path.to_str() == Some(file.path.as_str())
            && entry.object == file.object
    };
    pinned.files.len() == entries.len() && pinned.files.iter().zip(entries).all(is_same)
}
