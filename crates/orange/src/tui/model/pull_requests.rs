//! The pull requests of tasks, as last seen.

use std::collections::{BTreeMap, BTreeSet};

use orange_driver::{PullRequestHeadline, PullRequestSnapshot};
use orange_engine::names::{ProjectName, TaskId};

use crate::tui::theme::Tone;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequests {
    pub seen: BTreeMap<TaskId, PullRequestSnapshot>,
    /// The projects that have a repository on a forge.
    pub projects: BTreeSet<ProjectName>,
}

impl PullRequests {
    /// The number of a task's pull request, and a sign for its most important state.
    pub fn cell(&self, task: &TaskId) -> Option<(Tone, String)> {
        let seen = self.seen.get(task)?;
        let (tone, sign) = match seen.headline() {
            PullRequestHeadline::Merged => (Tone::Good, "M"),
            PullRequestHeadline::Closed => (Tone::Warn, "C"),
            PullRequestHeadline::Conflicting => (Tone::Bad, "!"),
            PullRequestHeadline::Failing => (Tone::Bad, "✗"),
            PullRequestHeadline::Changes => (Tone::Warn, "±"),
            PullRequestHeadline::Queued => (Tone::Dim, "»"),
            PullRequestHeadline::Running => (Tone::Dim, "…"),
            PullRequestHeadline::Passing => (Tone::Good, "✓"),
            PullRequestHeadline::Open => (Tone::Dim, ""),
        };
        Some((tone, format!("#{}{sign}", seen.number)))
    }
}
