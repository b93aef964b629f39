//! Queries about tasks; nothing here writes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use orange_config::clock;
use orange_effects::sandbox::Level;
use orange_engine::delegation::ChildMerge;
use orange_engine::effect::Effect;
use orange_engine::event::Event;
use orange_engine::input::{DecisionContext, Facts};
use orange_engine::names::{RunId, Status, TaskId};
use orange_engine::next_step::NextStep;
use orange_engine::next_steps;
use orange_engine::role::Role;
use orange_engine::schedule::{SchedulePlace, ScheduledTask, Wait};
use orange_engine::task::PendingState;
use orange_engine::why::{Explanation, explain};
use orange_engine::{Task, Workflow};
use orange_store::{
    ImportResult, InboxEntry, Pending, RunRecord, StoreError, StoredTask, WorkspaceRecord,
};
use serde::Serialize;

use crate::DriverError;
use crate::agents::activity::RunActivity;
use crate::agents::run_check::{RunObservation, is_dead};
use crate::context::ids;
use crate::context::run_sandbox::RunSandbox;
use crate::forge::snapshot::{PullRequestSnapshot, StoredFacts};
use crate::steps::pinned_workflow;
use crate::views::Views;
use crate::workspaces::kept::KeptWorktree;
use crate::workspaces::repository::BranchQuestion;

/// A task with everything there is to show.
#[derive(Clone, Debug)]
pub struct TaskDetails {
    /// The task and the workflow it is pinned to.
    pub stored: StoredTask,
    /// Its pending effects and their progress.
    pub pending: Vec<Pending>,
    /// Its runs, in order.
    pub runs: Vec<RunRecord>,
    pub workspace: Option<WorkspaceRecord>,
    /// The worktrees that it could not release without losing work.
    pub kept_worktrees: Vec<KeptWorktree>,
    /// Its messages, including read ones.
    pub inbox: Vec<InboxEntry>,
    /// The observed state of each agent that is recorded as alive; observing changes nothing.
    pub seen: Vec<RunObservation>,
    /// What its live agents seem to be doing, from their events.
    pub activities: Vec<RunActivity>,
    /// The roles whose agents can be respawned in its status.
    pub respawnable: Vec<Role>,
    /// What its start waits for, if it is queued, and what the starts of its agents wait for.
    pub waits: Vec<Wait>,
    /// Whether effects are due that no process performs.
    pub is_unperformed: bool,
    /// What was last seen of its pull request.
    pub pull_request: Option<PullRequestSnapshot>,
    /// Its child tasks.
    pub children: Vec<ScheduledTask>,
    /// The sandboxes of its live agents.
    pub sandboxes: Vec<AgentSandbox>,
}

/// The sandbox of a live agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct AgentSandbox {
    pub role: Role,
    pub run: RunId,
    pub level: Level,
    /// Why the agent shares the user's repository, if it has no private one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_repository: Option<String>,
}

impl fmt::Display for AgentSandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.role, self.level.word())?;
        match &self.shared_repository {
            Some(reason) => write!(formatter, ", with your repository, because {reason}"),
            None => Ok(()),
        }
    }
}

impl TaskDetails {
    /// Whether its worktree will be released, so that its unsaved work may not be saved yet.
    pub fn is_being_released(&self) -> bool {
        let mut pending = self.stored.task.pending.iter();
        pending.any(|it| {
            let is_release = matches!(it.planned.effect, Effect::ReleaseWorkspace { .. });
            is_release && it.state == PendingState::Waiting
        })
    }

    /// Its parent and children, labelled.
    pub fn family(&self) -> Vec<(&'static str, String)> {
        let parent = self.stored.task.queueing.parent.as_ref();
        let queueing = &self.stored.task.queueing;
        let parent = parent.map(|parent| match &queueing.parent_summary {
            Some(summary) => ("parent", format!("{parent} ({})", summary.trim())),
            None => ("parent", parent.to_string()),
        });
        let request = queueing.delegation.as_ref().map(|link| {
            let start = link.start.as_ref();
            let start = start.map(|it| format!("; its branch starts at {}", it.short()));
            let note = link.harness_note.as_ref().map(|note| format!("; {note}"));
            let text = format!(
                "for request {} of a report{}{}",
                link.index + 1,
                start.unwrap_or_default(),
                note.unwrap_or_default()
            );
            ("created", text)
        });
        let children = (!self.children.is_empty()).then(|| {
            let is_ended =
                |child: &&ScheduledTask| matches!(child.place, SchedulePlace::Ended { .. });
            let ended = self.children.iter().filter(is_ended).count();
            let all = self.children.len();
            let children = self.children.iter();
            let children: Vec<String> = children
                .map(|child| {
                    let merge = self.stored.task.child_merges.get(&child.task);
                    let merge = merge.map_or("", |merge| match merge {
                        ChildMerge::Merged => ", merged",
                        ChildMerge::Conflicts { .. } => ", not merged because of conflicts",
                        ChildMerge::Prevented { .. } => ", not merged",
                    });
                    format!("{} in `{}`{merge}", child.task, child.status)
                })
                .collect();
            let text = format!("{ended} of {all} finished: {}", children.join(", "));
            ("children", text)
        });
        let parent = parent.into_iter().chain(request);
        parent.chain(children).collect()
    }
}

/// Where a task can go, and what each transition still needs.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The transitions, in the order of the workflow. Those about a pull request are left out if
    /// there can be none.
    pub ways: Vec<NextStep>,
    /// Whether transitions about a pull request were left out.
    pub omits_pull_requests: bool,
    /// What could not be determined, one sentence each.
    pub unknown: Vec<String>,
    /// Whether the task was cancelled, so that it can be reopened.
    pub is_cancelled: bool,
    /// Whether the task is finished and merging its branch is left to the user.
    pub leaves_merging_to_user: bool,
}

impl Views {
    pub fn status(&self, task: &TaskId) -> Result<Status, DriverError> {
        let store = self.context.read_store()?;
        Ok(store.require(task)?.task.status)
    }

    pub fn show(&self, task: &TaskId) -> Result<TaskDetails, DriverError> {
        let store = self.context.read_store()?;
        let mut stored = store.require(task)?;
        // A repository that cannot be read must not prevent showing a task.
        let _unread = self.workspaces.refresh_child_merges(&mut stored.task);
        let runs = store.runs(task)?;
        let seen = self.agents.check_runs(&stored.task, &runs)?;
        let project = &stored.task.project;
        let kept = self.workspaces.kept_worktrees(&store, task, project);
        // An invalid workflow must not prevent showing a task.
        let workflow = pinned_workflow(&stored).ok();
        let mut activities = self.agents.activities(&stored.task, workflow.as_deref());
        // An agent that is found dead does nothing, whatever it reported last.
        activities.retain(|it| !is_dead(&seen, &it.run));
        let sandboxes = self.sandboxes(&stored.task)?;
        Ok(TaskDetails {
            sandboxes,
            kept_worktrees: kept.unwrap_or_default(),
            activities,
            respawnable: workflow
                .and_then(|it| it.state(&stored.task.status).map(|it| it.respawn.clone()))
                .map(|respawn| respawn.into_keys().collect())
                .unwrap_or_default(),
            stored,
            pending: store.pending(task)?,
            is_unperformed: self.performer.is_unperformed(&store, task)?,
            runs,
            seen,
            // Invalid settings must not prevent showing a task; the outlook reports them.
            waits: self.scheduler.waits(&store, task).unwrap_or_default(),
            pull_request: StoredFacts::load(&store, task)?.map(|it| it.snapshot),
            children: store.children(task)?,
            workspace: store.workspace_of(task)?,
            inbox: store.inbox(task)?,
        })
    }

    fn sandboxes(&self, task: &Task) -> Result<Vec<AgentSandbox>, DriverError> {
        let live = task.runs.iter().filter(|(_, run)| !run.state.is_stopped());
        let found = live.map(|(role, run)| {
            let directory = self
                .context
                .run_directory(&task.project, &task.id, &run.id)?;
            let sandbox = RunSandbox::load(&directory);
            Ok(AgentSandbox {
                role: role.clone(),
                run: run.id.clone(),
                level: sandbox.as_ref().map_or(Level::None, |it| it.level),
                shared_repository: sandbox.and_then(|it| it.shared_repository),
            })
        });
        found.collect()
    }

    /// The events of a task after a version, in order.
    pub fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Event>, DriverError> {
        let store = self.context.read_store()?;
        store.require(task)?;
        let events = store.events(task, after)?;
        Ok(events.into_iter().map(|recorded| recorded.event).collect())
    }

    pub fn why(&self, task: &TaskId) -> Result<Option<Explanation>, DriverError> {
        Ok(explain(&self.history(task, 0)?))
    }

    /// The workflow that a task is pinned to.
    pub fn workflow_of(&self, task: &TaskId) -> Result<Arc<Workflow>, DriverError> {
        let store = self.context.read_store()?;
        pinned_workflow(&store.require(task)?)
    }

    /// What every step from here would still need, as far as it can be known without changing
    /// anything.
    pub fn outlook(&self, task: &TaskId) -> Result<Outlook, DriverError> {
        let store = self.context.read_store()?;
        let stored = store.require(task)?;
        let workflow = pinned_workflow(&stored)?;
        let mut unknown = Vec::new();
        let document = match orange_store::peek(&store, task)? {
            ImportResult::Read(imported) => Some(imported.document),
            ImportResult::Unknown(reason) => {
                unknown.push(format!("TASK.md: {reason}"));
                None
            }
        };
        if let Err(error) = self.steps.limits(&Role::Engine) {
            unknown.push(format!("limits: {error}"));
        }
        let mut context = DecisionContext {
            at: clock::now(),
            fresh: ids::fresh()?,
            document,
            facts: Facts {
                entered: stored.task.entered.version,
                ..Facts::default()
            },
        };
        // A view uses what the last look showed, and does not ask the forge.
        let seen = StoredFacts::load(&store, task)?;
        context.facts.pull_request = match (&stored.task.pull_request, seen) {
            (None, _) => Some(None),
            (Some(_), Some(seen)) => Some(Some(seen.facts())),
            (Some(_), None) => None,
        };
        let mut ways = next_steps(&workflow, &stored.task, &context);
        if ways.iter().any(|way| !way.unchecked.is_empty()) {
            match self
                .workspaces
                .git_facts(&store, &stored.task, BranchQuestion::default())
            {
                Ok(facts) => context.facts.git = Some(facts),
                // Before the start there are no facts about the branch.
                Err(DriverError::NotStarted { .. }) => {}
                Err(error) => unknown.push(error.to_string()),
            }
            ways = next_steps(&workflow, &stored.task, &context);
        }
        let mut omits_pull_requests = false;
        if ways.iter().any(|way| way.trigger.is_forge())
            && !self.steps.may_be_on_forge(&stored.task)
        {
            ways.retain(|way| !way.trigger.is_forge());
            omits_pull_requests = true;
        }
        let status = &stored.task.status;
        Ok(Outlook {
            ways,
            omits_pull_requests,
            unknown,
            is_cancelled: workflow.is_cancelled(status),
            leaves_merging_to_user: workflow.leaves_merging_to_user(status),
        })
    }

    /// What was last seen of every pull request, by task.
    pub fn pull_requests(&self) -> Result<BTreeMap<TaskId, PullRequestSnapshot>, DriverError> {
        let store = match self.context.read_store() {
            Err(StoreError::Missing { .. }) => return Ok(BTreeMap::new()),
            store => store?,
        };
        let mut seen = BTreeMap::new();
        for (task, record) in store.pull_requests()? {
            // An unreadable row is as good as none.
            if let Ok(facts) = serde_json::from_str::<StoredFacts>(&record.facts) {
                seen.insert(task, facts.snapshot);
            }
        }
        Ok(seen)
    }

    /// The messages of a task, including read ones.
    pub fn inbox(&self, task: &TaskId) -> Result<Vec<InboxEntry>, DriverError> {
        let store = self.context.read_store()?;
        store.require(task)?;
        Ok(store.inbox(task)?)
    }
}
