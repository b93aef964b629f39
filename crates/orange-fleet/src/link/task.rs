//! One held task: which commits the log has, and which come next.

use serde::{Deserialize, Serialize};

use crate::chain::{Commit, Head};
use crate::ids::{Epoch, TaskId};
use crate::message::{AppendResult, Claim, Summary, TaskAppend, Text};

/// The most bytes of events that one append carries, unless a single commit is larger.
pub const BATCH_BYTES: usize = 256 * 1024;

/// What a runner knows about a task that it holds.
///
/// The commits stay in the runner's store; calls that need them take them as `local`, complete and
/// in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskLink {
    epoch: Epoch,
    /// Up to here the commits are in the server's log.
    acknowledged: Head,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Active,
    GivingBack,
    /// The local copy and the log disagree under the same epoch.
    Halted,
}

/// Whether a task is still held after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holding {
    Kept,
    Halted,
    Lost,
}

impl TaskLink {
    pub(super) fn new(epoch: Epoch, head: Head) -> Self {
        Self {
            epoch,
            acknowledged: head,
            state: State::Active,
        }
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn acknowledged(&self) -> Head {
        self.acknowledged
    }

    /// Whether commits and effects of the task may follow.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// Whether the local copy and the log disagree.
    pub fn is_halted(&self) -> bool {
        self.state == State::Halted
    }

    pub fn is_giving_back(&self) -> bool {
        self.state == State::GivingBack
    }

    /// The commits that the log lacks.
    pub fn unacknowledged<'a>(&self, local: &'a [Commit]) -> &'a [Commit] {
        let known = local.partition_point(|it| it.last <= self.acknowledged.version);
        local.get(known..).unwrap_or_default()
    }

    /// The next append. Repeating it until it is answered is safe.
    ///
    /// `texts` finds the texts that a commit names; `summary` is the task after a commit.
    pub fn next_append(
        &self,
        task: &TaskId,
        local: &[Commit],
        texts: impl Fn(&Commit) -> Vec<Text>,
        summary: impl Fn(&Commit) -> Summary,
    ) -> Option<TaskAppend> {
        if !self.is_active() {
            return None;
        }
        let commits = batch(self.unacknowledged(local));
        let last = commits.last()?;
        Some(TaskAppend {
            task: task.clone(),
            epoch: self.epoch,
            base: self.acknowledged.version,
            texts: commits.iter().flat_map(texts).collect(),
            summary: summary(last),
            commits: commits.to_vec(),
        })
    }

    pub(super) fn answered(&mut self, result: &AppendResult, local: &[Commit]) -> Holding {
        match result {
            AppendResult::Ok { version } => {
                let mut heads = local.iter().map(Commit::head);
                if let Some(head) = heads.find(|it| it.version == *version)
                    && head.version > self.acknowledged.version
                {
                    self.acknowledged = head;
                }
                Holding::Kept
            }
            AppendResult::Fenced => Holding::Lost,
            AppendResult::Behind { head } if contains(local, *head) => {
                self.acknowledged = *head;
                Holding::Kept
            }
            AppendResult::Behind { .. } | AppendResult::Conflict => {
                self.state = State::Halted;
                Holding::Halted
            }
        }
    }

    /// This task under the epoch of a claim, when the local copy continues the claim's log.
    pub(super) fn continued(&self, claim: &Claim, local: &[Commit]) -> Option<Self> {
        let continues = !self.is_halted() && contains(local, claim.head);
        continues.then(|| Self::new(claim.epoch, claim.head))
    }

    pub(super) fn give_back(&mut self, local: &[Commit]) -> bool {
        let is_complete = self.unacknowledged(local).is_empty();
        if self.is_halted() || !is_complete {
            return false;
        }
        self.state = State::GivingBack;
        true
    }
}

/// As many of the first commits as one append may carry, and at least one.
fn batch(commits: &[Commit]) -> &[Commit] {
    let mut bytes = 0_usize;
    let sizes = commits.iter().map(|commit| {
        let events = commit.events.iter().map(|it| it.as_str().len());
        bytes = bytes.saturating_add(events.sum());
        bytes
    });
    let fitting = sizes.take_while(|total| *total <= BATCH_BYTES).count();
    commits.get(..fitting.max(1)).unwrap_or(commits)
}

/// Whether a log with these commits passes through a head.
fn contains(local: &[Commit], head: Head) -> bool {
    head == Head::default() || local.iter().any(|it| it.head() == head)
}
