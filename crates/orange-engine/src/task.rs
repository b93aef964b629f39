//! A task: the fold of its events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::{SectionHash, SectionName};
use crate::effect::{Effect, EffectId, PlannedEffect};
use crate::evidence::Evidence;
use crate::language;
use crate::language::workflow::Trigger;
use crate::names::{
    BranchName, CommitId, FieldName, HarnessName, ProjectName, RunId, Status, TaskId, WorkflowName,
    WorkspaceName,
};
use crate::report::Report;
use crate::role::Role;
use crate::time::Timestamp;

/// Everything that was decided about a task, and nothing that was only observed.
///
/// It is made and changed by [`apply`](crate::apply::apply) alone, live and in replay.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Task {
    /// Its identity; never changes.
    pub id: TaskId,
    /// Its project.
    pub project: ProjectName,
    /// The workflow it is pinned to.
    pub workflow: WorkflowName,
    /// How many events made it what it is.
    pub version: u64,
    /// Where it is.
    pub status: Status,
    /// How it came there.
    pub entered: Entered,
    /// What is to be done.
    pub summary: String,
    /// Where it is done.
    pub branch: BranchName,
    /// With what.
    pub harness: HarnessName,
    /// With what it is reviewed.
    pub review_harness: HarnessName,
    /// How its agents are set, where somebody said so.
    #[serde(default, skip_serializing_if = "Tuning::is_unset")]
    pub tuning: Tuning,
    /// When its work is started, compared with others.
    #[serde(flatten)]
    pub queueing: Queueing,
    /// The fields a workflow counts in.
    pub fields: BTreeMap<FieldName, i64>,
    /// Crashes in the present status, or in the one before until its hooks have finished.
    pub crash_count: i64,
    /// Whether those crashes were in the status before.
    pub crashes_are_old: bool,
    /// The latest error and how often it came in a row.
    pub last_error: Option<LastError>,
    /// Whether a workspace is held.
    pub workspace: Workspace,
    /// The latest run of each role that was not ended by us.
    pub runs: BTreeMap<Role, Run>,
    /// What gates remember of each section they read.
    pub sections: BTreeMap<SectionName, SectionMemory>,
    /// The commit that was handed over; a merge takes no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// The report of the present attempt's run.
    pub report: Option<Report>,
    /// Child tasks, with how they ended.
    pub children: BTreeMap<TaskId, Option<Status>>,
    /// Effects that are not done.
    pub pending: Vec<PendingEffect>,
    /// The plan of the latest transition while its effects are not all done.
    pub unsettled: Option<u64>,
    /// Why a person should look; emptied by the next transition.
    pub attention: Vec<String>,
    /// Whether it was put away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_deleted: bool,
}

/// How the agents of a task are set; what nobody said is the agent's own choice.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Tuning {
    /// Which model is used; by the reviewer too, if it is the same harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks; the reviewer too, if it is the same harness and nothing else is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How hard the reviewer thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_effort: Option<String>,
}

/// When the work of a task is started, compared with others.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Queueing {
    /// The larger, the sooner.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// The tasks that have to be done first.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub after: BTreeSet<TaskId>,
    /// The task that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Whether its first start happens by itself, as soon as nothing stands in the way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starts_itself: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it may skip by reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Tuning {
    pub fn is_unset(&self) -> bool {
        *self == Tuning::default()
    }
}

/// How a task came into its status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Entered {
    /// From which status; `None` at the beginning.
    pub from: Option<Status>,
    /// Set off by what; `None` at the beginning.
    pub trigger: Option<Trigger>,
    /// Who asked.
    pub by: Role,
    /// When.
    pub at: Timestamp,
    /// By which event.
    pub version: u64,
}

/// The commit that was handed over for review, and who passed it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Submission {
    /// The branch's commit when it was handed over, or when it passed.
    pub commit: CommitId,
    /// Who passed it; `None` while nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_by: Option<Role>,
}

/// An error that may come again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct LastError {
    /// Its text.
    pub error: String,
    /// How often it came in a row.
    pub times: i64,
}

/// Whether a task holds a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "state", content = "name", rename_all = "snake_case")]
pub enum Workspace {
    /// It holds none.
    None,
    /// One is being bound.
    Wanted,
    /// It holds this one.
    Bound(WorkspaceName),
    /// The one it holds is being given back.
    Leaving(Option<WorkspaceName>),
}

impl Workspace {
    /// Whether an agent can be started in it, now or once it is bound.
    pub fn is_held(&self) -> bool {
        matches!(self, Workspace::Wanted | Workspace::Bound(_))
    }
}

/// One start of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Run {
    /// Its identity.
    pub id: RunId,
    /// Whether it runs without a terminal and reports as JSON.
    pub headless: bool,
    /// How far it has come.
    pub state: RunState,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// It is being started.
    Starting,
    /// It was started and is not known to have ended.
    Alive,
    /// We are ending it, so its death means nothing.
    Ending,
    /// It ended by itself; its death was judged.
    Ended {
        /// How we know.
        evidence: Evidence,
    },
}

impl RunState {
    /// Whether it runs or is about to.
    pub fn is_live(&self) -> bool {
        matches!(self, RunState::Starting | RunState::Alive)
    }
}

/// What gates remember of a section.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct SectionMemory {
    /// What it is now.
    pub hash: Option<SectionHash>,
    /// What it was when the status was entered.
    pub at_entry: Option<SectionHash>,
    /// Who asked for a status with it as it is now.
    pub brought_by: BTreeSet<Role>,
}

impl SectionMemory {
    /// A section that existed when the status was entered.
    pub(crate) fn old(hash: SectionHash) -> SectionMemory {
        SectionMemory {
            hash: Some(hash),
            at_entry: Some(hash),
            brought_by: BTreeSet::new(),
        }
    }

    /// Whether it exists and differs from what it was when the status was entered.
    pub fn is_fresh(&self) -> bool {
        self.hash.is_some() && self.hash != self.at_entry
    }
}

/// An effect that is not done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct PendingEffect {
    /// The effect.
    #[serde(flatten)]
    pub planned: PlannedEffect,
    /// Whether it will be performed.
    pub state: PendingState,
}

/// Whether a pending effect will be performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PendingState {
    /// It waits for its turn.
    Waiting,
    /// It failed for good.
    GivenUp {
        /// Why.
        error: String,
    },
    /// An earlier one of its plan failed.
    Stopped,
}

impl Task {
    /// The number that a guard reads; a field that the task does not have counts as zero.
    pub fn value(&self, field: &FieldName) -> i64 {
        match field.as_str() {
            language::CRASH_COUNT => self.crash_count,
            language::SAME_ERRORS => self.last_error.as_ref().map_or(0, |last| last.times),
            language::SUMMARY_CHARS => count(self.summary.trim().chars().count()),
            language::CHILDREN_OPEN => {
                count(self.children.values().filter(|end| end.is_none()).count())
            }
            _ => self.fields.get(field).copied().unwrap_or(0),
        }
    }

    pub fn pending_effect(&self, id: EffectId) -> Option<&PendingEffect> {
        self.pending.iter().find(|pending| pending.planned.id == id)
    }

    /// Whether an agent of this role runs or is about to.
    pub fn is_live(&self, role: &Role) -> bool {
        self.runs.get(role).is_some_and(|run| run.state.is_live())
    }

    /// Whether a run is live or starting, or a pending effect is about to end it.
    pub fn has_use_for(&self, run: &RunId) -> bool {
        let is_live = |known: &Run| known.id == *run && known.state.is_live();
        let is_named = |effect: &Effect| match effect {
            Effect::Spawn(spawn) => spawn.run == *run,
            Effect::NotifyRole(notify) => {
                notify.otherwise.as_ref().is_some_and(|it| it.run == *run)
            }
            Effect::Kill(kill) => kill.runs.contains(run),
            _ => false,
        };
        let waits = self.pending.iter();
        let mut waits = waits.filter(|pending| pending.state == PendingState::Waiting);
        self.runs.values().any(is_live) || waits.any(|it| is_named(&it.planned.effect))
    }

    /// Whether a pending message will start this role if no agent is running.
    pub fn is_being_notified(&self, role: &Role) -> bool {
        self.pending.iter().any(|pending| {
            matches!(&pending.planned.effect, Effect::NotifyRole(notify) if notify.role == *role)
                && pending.state == PendingState::Waiting
        })
    }

    /// The merge that is pending.
    pub fn merging(&self) -> Option<EffectId> {
        self.pending
            .iter()
            .find(|pending| {
                matches!(pending.planned.effect, Effect::Merge(_))
                    && pending.state == PendingState::Waiting
            })
            .map(|pending| pending.planned.id)
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl fmt::Display for Submission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = self.commit.short();
        match &self.passed_by {
            Some(role) => write!(formatter, "{commit}, passed by the {role}"),
            None => write!(formatter, "{commit}, handed over and not reviewed"),
        }
    }
}
