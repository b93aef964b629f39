//! A task: the fold of its events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::delegation::{ChildMerge, DelegationLink};
use crate::document::{SectionHash, SectionName};
use crate::effect::{Effect, EffectId, PlannedEffect};
use crate::error_fingerprint::fingerprint;
use crate::evidence::Evidence;
use crate::forge::issue::IssueLink;
use crate::forge::pull_request::PullRequestLink;
use crate::forge::reaction::ReactionRecord;
use crate::format;
use crate::job::JobLink;
use crate::language;
use crate::language::workflow::Trigger;
use crate::names::{
    BranchName, CommitId, FieldName, GroupName, HarnessName, ProjectName, RunId, Status, TaskId,
    WorkflowName, WorkspaceName,
};
use crate::report::Report;
use crate::role::Role;
use crate::routing::{Choice, Profile, Route, RoutedBy, Routing, Split};
use crate::time::Timestamp;
use crate::wording::actor;

/// Everything that was decided about a task, and nothing that was only observed.
///
/// Only [`apply`](crate::apply::apply) creates and changes it, live and in replay.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Task {
    /// The id of the task; it never changes.
    pub id: TaskId,
    /// Its project.
    pub project: ProjectName,
    /// The workflow it is pinned to.
    pub workflow: WorkflowName,
    /// The number of events recorded for it.
    pub version: u64,
    /// The newest format of its events; an engine that does not know it cannot continue the task.
    #[serde(default = "format::first", skip_serializing_if = "format::is_first")]
    pub format: u32,
    /// Its status.
    pub status: Status,
    /// How it entered that status.
    pub entered: StatusEntry,
    /// What the task should do, in a sentence.
    pub summary: String,
    /// Its git branch.
    pub branch: BranchName,
    /// The harness that does the work.
    pub harness: HarnessName,
    /// The harness that reviews the work.
    pub review_harness: HarnessName,
    /// Model and effort of its agents, where set.
    #[serde(default, skip_serializing_if = "AgentSettings::is_unset")]
    pub agent_settings: AgentSettings,
    /// Its labels, and why it has its harness.
    #[serde(default, skip_serializing_if = "Routing::is_unset")]
    pub routing: Routing,
    /// When its work starts relative to other tasks.
    #[serde(flatten)]
    pub queueing: Queueing,
    /// The numeric fields of its workflow.
    pub fields: BTreeMap<FieldName, i64>,
    /// Crashes in the current status, or in the previous one until the hooks have finished.
    pub crash_count: i64,
    /// Whether those crashes happened in the previous status.
    pub crash_count_is_stale: bool,
    /// The latest error and how often it occurred in a row.
    pub last_error: Option<LastError>,
    /// How many runs in a row ended because the service behind their harness failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub postponements: i64,
    /// The workspace it holds, if any.
    pub workspace: Workspace,
    /// The latest run of each role that orange did not end, or that the user stopped.
    pub runs: BTreeMap<Role, Run>,
    /// What gates remember of each section they read.
    pub sections: BTreeMap<SectionName, SectionRecord>,
    /// The commit that was submitted for review; a merge takes it unless the request names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// The issue it was created for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueLink>,
    /// The job it was created for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobLink>,
    /// The pull request of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestLink>,
    /// What was done about the pull request so far.
    #[serde(default, skip_serializing_if = "ReactionRecord::is_empty")]
    pub reactions: ReactionRecord,
    /// The report of the current attempt.
    pub report: Option<Report>,
    /// Child tasks, with the status they ended in.
    pub children: BTreeMap<TaskId, Option<Status>>,
    /// What became of the branches of the children that are done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub child_merges: BTreeMap<TaskId, ChildMerge>,
    /// Effects that have not been performed.
    pub pending: Vec<PendingEffect>,
    /// The plan of the latest transition while its effects are not all done.
    pub unfinished_plan: Option<u64>,
    /// Why the task needs the user; cleared by the next transition.
    pub attention: Vec<String>,
    /// Messages of transitions that no agent has received yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<TransitionMessage>,
    /// Whether it was deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_deleted: bool,
}

/// Model and effort of a task's agents; what is not set is the agent's own choice.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct AgentSettings {
    /// The model; also for the reviewer if it uses the same harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort; also for a reviewer on the same harness that has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The reasoning effort of the reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_effort: Option<String>,
}

/// How a task relates to other tasks: when its work starts, and which tasks do the same work.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Queueing {
    /// A higher priority starts sooner.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// The tasks that must be done first.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub after: BTreeSet<TaskId>,
    /// The parent task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The parent's summary when this task was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_summary: Option<String>,
    /// How many ancestors it has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub depth: u32,
    /// The request of the parent's report that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationLink>,
    /// Whether orange starts it for the first time, as soon as nothing holds it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starts_automatically: bool,
    /// The tasks that do the same work with other agents; one of them is kept in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it may skip by reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it may skip by reference"
)]
fn is_none(number: &u32) -> bool {
    *number == 0
}

impl Queueing {
    /// How many ancestors the task has; at least one in a history from before they were counted.
    pub fn ancestors(&self) -> u32 {
        self.depth.max(u32::from(self.parent.is_some()))
    }
}

impl AgentSettings {
    pub fn is_unset(&self) -> bool {
        *self == AgentSettings::default()
    }
}

/// How a task entered its status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct StatusEntry {
    /// The previous status; `null` if the task was created here.
    pub from: Option<Status>,
    /// What triggered the change; `null` if the task was created here.
    pub trigger: Option<Trigger>,
    /// The role that requested it.
    pub by: Role,
    /// When the task entered it.
    pub at: Timestamp,
    /// The version of the event.
    pub version: u64,
}

/// The commit that was submitted for review, and the role that passed it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Submission {
    /// The branch's commit when it was submitted, or when it passed.
    pub commit: CommitId,
    /// The role that passed it; absent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_by: Option<Role>,
    /// The role whose review failed it and ended the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_by: Option<Role>,
}

/// The message of a transition, on its way to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct TransitionMessage {
    /// The role that wrote it.
    pub by: Role,
    /// The message.
    pub text: String,
    /// The plan of its transition.
    pub plan: u64,
    /// The role that was started with it; the next agent of this role needs it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_by: Option<Role>,
}

impl Task {
    /// The harness that was chosen for it, and why, once that is decided.
    pub fn choice(&self) -> Option<Choice> {
        let route = self.routing.route.clone()?;
        Some(Choice {
            split: self.routing.split,
            ..self.choice_by(route)
        })
    }

    /// The harness that it has, because nothing chose another one.
    pub fn default_choice(&self) -> Choice {
        self.choice_by(Route {
            by: RoutedBy::Default,
            reason: String::from("no rule matches the task"),
            profile: Profile::default(),
            skills: Vec::new(),
        })
    }

    fn choice_by(&self, route: Route) -> Choice {
        Choice {
            harness: self.harness.clone(),
            model: self.agent_settings.model.clone(),
            effort: self.agent_settings.effort.clone(),
            route,
            split: Split::No,
        }
    }
}

/// An error and how often it occurred in a row.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct LastError {
    /// The error.
    pub error: String,
    /// How often it occurred in a row.
    pub times: i64,
    /// The branch's commit, if a run left work to do and changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_at: Option<CommitId>,
}

impl LastError {
    /// Whether this error is the last one again, apart from numbers, paths and other details.
    fn is_repeated_by(&self, other: &LastError) -> bool {
        match (&self.unchanged_at, &other.unchanged_at) {
            (None, None) => fingerprint(&self.error) == fingerprint(&other.error),
            (one, other) => one == other,
        }
    }

    /// The error that is recorded after `last`.
    pub(crate) fn after(last: Option<&LastError>, mut error: LastError) -> LastError {
        if let Some(last) = last.filter(|last| last.is_repeated_by(&error)) {
            error.times = last.times.saturating_add(1);
        }
        error
    }
}

/// Whether a task holds a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "state", content = "name", rename_all = "snake_case")]
pub enum Workspace {
    /// It holds none.
    None,
    /// One is being bound.
    Acquiring,
    /// It holds this one.
    Bound(WorkspaceName),
    /// Its workspace is being released.
    Releasing(Option<WorkspaceName>),
}

impl Workspace {
    /// Whether an agent can be started in it, now or once it is bound.
    pub fn is_held(&self) -> bool {
        matches!(self, Workspace::Acquiring | Workspace::Bound(_))
    }
}

/// One start of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Run {
    /// The id of the run.
    pub id: RunId,
    /// Whether it runs without a terminal and writes a JSON report.
    pub headless: bool,
    /// Whether it only plans how to split the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plans: bool,
    /// Its state.
    pub state: RunState,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// It is being started.
    Starting,
    /// It was started and is not known to have ended.
    Alive,
    /// Orange is ending it, so its exit means nothing.
    Ending,
    /// It ended by itself, and the exit rules were applied; or the user stopped it.
    Ended {
        /// How the process ended.
        evidence: Evidence,
    },
}

impl RunState {
    /// Whether it runs or is about to.
    pub fn is_live(&self) -> bool {
        matches!(self, RunState::Starting | RunState::Alive)
    }

    /// Whether it is over, however it ended.
    pub fn has_ended(&self) -> bool {
        matches!(self, RunState::Ended { .. })
    }

    /// Whether the user stopped it.
    pub fn is_stopped(&self) -> bool {
        let stopped = Evidence::Stopped;
        matches!(self, RunState::Ended { evidence } if *evidence == stopped)
    }
}

/// What gates remember of a section.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct SectionRecord {
    /// Its current hash.
    pub hash: Option<SectionHash>,
    /// Its hash when the status was entered.
    pub at_entry: Option<SectionHash>,
    /// The roles that requested a status with its current content.
    pub submitted_by: BTreeSet<Role>,
}

impl SectionRecord {
    /// A section that existed when the status was entered.
    pub(crate) fn existing(hash: SectionHash) -> SectionRecord {
        SectionRecord {
            hash: Some(hash),
            at_entry: Some(hash),
            submitted_by: BTreeSet::new(),
        }
    }

    /// Whether it exists and differs from what it was when the status was entered.
    pub fn is_fresh(&self) -> bool {
        self.hash.is_some() && self.hash != self.at_entry
    }
}

/// An effect that has not been performed.
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
    /// It failed permanently.
    Failed {
        /// The error.
        error: String,
    },
    /// An earlier effect of its plan failed.
    Stopped,
}

impl Task {
    /// The value of a field for a guard; zero if the task does not have the field.
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

    /// Whether this run only plans how to split the task.
    pub(crate) fn is_planned_by(&self, run: &RunId) -> bool {
        self.runs.values().any(|it| it.id == *run && it.plans)
    }

    /// Whether a run is live or starting, or a pending effect will start or kill it.
    pub fn needs_run(&self, run: &RunId) -> bool {
        let is_live = |known: &Run| known.id == *run && known.state.is_live();
        let is_named = |effect: &Effect| match effect {
            Effect::Spawn(spawn) => spawn.run == *run,
            Effect::NotifyRole(notify) => notify
                .spawn_if_absent
                .as_ref()
                .is_some_and(|it| it.run == *run),
            Effect::Kill(kill) => kill.runs.contains(run),
            _ => false,
        };
        let waiting = self.pending.iter();
        let mut waiting = waiting.filter(|pending| pending.state == PendingState::Waiting);
        self.runs.values().any(is_live) || waiting.any(|it| is_named(&it.planned.effect))
    }

    /// Whether a pending message will start an agent of this role if none is running.
    pub fn is_being_notified(&self, role: &Role) -> bool {
        self.pending.iter().any(|pending| {
            matches!(&pending.planned.effect, Effect::NotifyRole(notify)
                if notify.role == *role && notify.spawn_if_absent.is_some())
                && pending.state == PendingState::Waiting
        })
    }

    /// The merge that is pending.
    pub fn pending_merge(&self) -> Option<EffectId> {
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
        match (&self.passed_by, &self.failed_by) {
            (Some(role), _) => write!(formatter, "{commit}, passed by {}", actor(role)),
            (None, Some(role)) => {
                write!(formatter, "{commit}, submitted; failed by {}", actor(role))
            }
            (None, None) => write!(formatter, "{commit}, submitted; no agent has reviewed it"),
        }
    }
}
