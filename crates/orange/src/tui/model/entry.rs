//! A task in the list, with everything known about it.

use orange_driver::{AgentState, DiffSize, TaskRow, TaskSummary};
use orange_engine::activity::ActivityState;
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Kind;
use orange_engine::next_step::NextStep;
use orange_engine::permission::PermissionRequest;
use orange_engine::task::RunState;

use super::list::Zone;

#[derive(Clone, Debug)]
pub struct Entry {
    /// The row in the store, as of the list's commit.
    pub row: TaskRow,
    /// The observed state of its agents; `None` before the first observation.
    pub agent_state: Option<AgentState>,
    /// What the agent reports that it is doing; a hint, never a status.
    pub activity: Option<ActivityState>,
    /// What its agents ask the user to permit.
    pub requests: Vec<PermissionRequest>,
    /// Its possible next steps and more; `None` until they are read.
    pub glance: Option<TaskSummary>,
    /// The size of its changes; `None` until they are measured.
    pub extent: Option<DiffSize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnterAction {
    Attach,
    Spawn,
    Respawn,
    View,
}

impl Entry {
    /// A task of which only the row is known.
    pub fn new(row: TaskRow) -> Entry {
        Entry {
            row,
            agent_state: None,
            activity: None,
            requests: Vec::new(),
            glance: None,
            extent: None,
        }
    }

    /// Replaces the recorded row. Observations stay until the next one, unless the agents have
    /// changed.
    pub fn set_row(&mut self, row: TaskRow) {
        if self.row.runs != row.runs {
            (self.agent_state, self.activity) = (None, None);
            self.requests.clear();
        }
        // The transitions of the old status do not apply to the new one.
        if self.row.status != row.status {
            self.glance = None;
        }
        self.row = row;
    }

    pub fn zone(&self) -> Zone {
        match self.row.kind {
            _ if !self.row.attention.is_empty() || self.user_request().is_some() => Zone::NeedsYou,
            Some(Kind::Human) | None => Zone::NeedsYou,
            Some(Kind::Agent) => Zone::Running,
            Some(Kind::Waiting | Kind::Queued | Kind::Terminal) => Zone::QueueAndDone,
        }
    }

    /// Why an agent waits for the user outside of the workflow, as the agent itself reports.
    pub fn user_request(&self) -> Option<ActivityState> {
        if !self.requests.is_empty() {
            return Some(ActivityState::WaitingForPermission);
        }
        let waiting = self.activity.filter(|state| state.is_waiting());
        waiting.filter(|_| self.row.kind != Some(Kind::Human) && self.has_agent())
    }

    /// The state of its agents. An observation counts only while an agent is recorded as alive,
    /// because it may be older than the record.
    pub fn agent(&self) -> AgentState {
        let mut runs = self.row.runs.values();
        let observed = self
            .agent_state
            .filter(|_| runs.any(|run| run.state == RunState::Alive));
        observed.unwrap_or_else(|| AgentState::from_record(&self.row))
    }

    /// Whether it has an agent that can be shown or sent a message.
    pub fn has_agent(&self) -> bool {
        let is_live = self.row.runs.values().any(|run| run.state.is_live());
        is_live && self.agent() != AgentState::Dead
    }

    /// Whether the user stopped the agent that ended last.
    pub fn is_stopped(&self) -> bool {
        let mut runs = self.row.runs.values();
        runs.any(|run| run.state.is_stopped()) && self.agent() == AgentState::None
    }

    pub fn enter_action(&self) -> EnterAction {
        if self.has_agent() {
            return EnterAction::Attach;
        }
        if self.way(Verb::Spawn).is_some() {
            return EnterAction::Spawn;
        }
        let can_respawn = self.glance.as_ref().is_some_and(|it| it.respawn.is_some());
        match (can_respawn, self.row.runs.is_empty()) {
            (true, _) => EnterAction::Respawn,
            // A dead agent's pane still shows its last output.
            (false, false) => EnterAction::Attach,
            (false, true) => EnterAction::View,
        }
    }

    /// Whether `Enter` starts an agent.
    pub fn can_start(&self) -> bool {
        matches!(
            self.enter_action(),
            EnterAction::Spawn | EnterAction::Respawn
        )
    }

    /// The transitions that the user may request.
    pub fn ways(&self) -> impl Iterator<Item = &NextStep> {
        let ways = self.glance.iter().flat_map(|glance| &glance.ways);
        ways.filter(|way| way.is_open_to_user() && way.to.is_some())
    }

    /// The transition that a verb stands for; prefers one that is not missing anything.
    pub fn way(&self, verb: Verb) -> Option<&NextStep> {
        let means = |way: &&NextStep| way.verbs.contains(&verb);
        let open = self.ways().filter(means).find(|way| way.missing.is_empty());
        open.or_else(|| self.ways().find(means))
    }

    /// Whether its branch is at another commit than the submitted one, so that a merge is refused.
    pub fn has_new_commits(&self) -> bool {
        let submission = self.glance.as_ref().and_then(|it| it.submission.as_ref());
        let head = self.extent.as_ref().and_then(|it| it.head.as_ref());
        submission
            .zip(head)
            .is_some_and(|(submission, head)| submission.commit != *head)
    }

    /// Whether its status is one in which a task has a worktree.
    pub fn has_worktree(&self) -> bool {
        !matches!(self.row.kind, Some(Kind::Queued | Kind::Terminal))
    }

    pub fn is_ended(&self) -> bool {
        self.row.kind == Some(Kind::Terminal)
    }

    /// The first line of the summary that is not empty.
    pub fn summary(&self) -> &str {
        let mut lines = self.row.summary.lines();
        let first = lines.find(|line| !line.trim().is_empty());
        first.unwrap_or("(no summary: the agent asks)").trim()
    }

    pub fn search_text(&self) -> String {
        let row = &self.row;
        format!(
            "{} {} {} {} {}",
            row.id, row.branch, row.status, row.project, row.summary
        )
    }
}
