//! The task list: what needs the user first, then what runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use orange_config::Catalog;
use orange_effects::tmux::{Listing, Observation, TmuxError};
use orange_engine::activity::ActivityState;
use orange_engine::language::load;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{ProjectName, RunId, Status, TaskId};
use orange_engine::permission::PermissionRequest;
use orange_engine::task::{Run, RunState};
use orange_engine::time::Timestamp;
use orange_store::{RowFilter, RunRecord, Store, StoreError, TaskRow};

use crate::DriverError;
use crate::agents::run_check::RunObservation;
use crate::perform::warn_unperformed::add_warnings;
use crate::views::Views;
use crate::views::missing_worktrees::add_missing_worktrees;

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Only those of this project.
    pub project: Option<ProjectName>,
    /// Only those in this status.
    pub status: Option<Status>,
    /// Also finished ones.
    pub include_finished: bool,
}

/// Tasks as of one commit, most urgent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// The last commit that it includes.
    pub sequence: u64,
    pub tasks: Vec<TaskRow>,
    agent_states: BTreeMap<TaskId, AgentState>,
    activity_states: BTreeMap<TaskId, ActivityState>,
}

impl Overview {
    /// The state of a task's agents.
    pub fn agent(&self, task: &TaskRow) -> AgentState {
        let observed = self.agent_states.get(&task.id).copied();
        observed.unwrap_or_else(|| worst_state(task, &[]))
    }

    /// What the agents of a task seem to be doing; if they differ, what most needs the user.
    pub fn activity_state(&self, task: &TaskRow) -> ActivityState {
        let state = self.activity_states.get(&task.id).copied();
        state.unwrap_or(ActivityState::Unknown)
    }
}

/// The result of checking a task's agents; the worst one if there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentState {
    /// There is no agent, or it is being started or ended, or the user has stopped it.
    None,
    /// The agent is running.
    Alive,
    /// The agent's state cannot be determined.
    Unknown,
    /// The agent has exited on its own.
    Dead,
}

impl Views {
    /// The requested tasks, with one check of all agents; writes nothing.
    pub fn list(&self, filter: &ListFilter) -> Result<Overview, DriverError> {
        let store = match self.context.read_store() {
            // A home without a database has no tasks, which is not an error.
            Err(StoreError::Missing { .. }) => return Ok(Overview::default()),
            store => store?,
        };
        // A failure here must not prevent the listing.
        let unperformed = self.performer.unperformed_tasks(&store).unwrap_or_default();
        let listed = store.rows(&RowFilter {
            project: filter.project.clone(),
            status: filter.status.clone(),
            without_ended: !filter.include_finished && filter.status.is_none(),
            extra_tasks: unperformed.clone(),
        })?;
        let mut tasks = listed.rows;
        add_warnings(&mut tasks, &unperformed);
        add_missing_worktrees(&store, &mut tasks)?;
        let agent_states = self.agents_in(&store, &tasks);
        // An agent that is found dead does nothing, whatever it reported last.
        let is_alive = |row: &&TaskRow| agent_states.get(&row.id) == Some(&AgentState::Alive);
        let activity_states = self.activity_states(tasks.iter().filter(is_alive));
        // Without a supervisor, nothing has noticed the exit yet. It needs the user now.
        if !self.context.is_supervised() {
            for row in &mut tasks {
                if agent_states.get(&row.id) == Some(&AgentState::Dead) {
                    row.attention.push(String::from("its agent has exited"));
                }
            }
        }
        // Rows come sorted by id, and the sort is stable, so ties stay in that order.
        tasks.sort_by_cached_key(|row| {
            let activity = activity_states.get(&row.id);
            let needs_user = activity.is_some_and(|state| state.is_waiting());
            (if needs_user { 0 } else { rank(row) }, since(row))
        });
        Ok(Overview {
            sequence: listed.sequence,
            tasks,
            agent_states,
            activity_states,
        })
    }

    /// The deleted tasks, of this project if one is given.
    pub fn deleted(&self, project: Option<&ProjectName>) -> Result<Overview, DriverError> {
        let store = match self.context.read_store() {
            Err(StoreError::Missing { .. }) => return Ok(Overview::default()),
            store => store?,
        };
        let tasks = store.deleted_tasks()?.into_iter();
        let tasks = tasks.filter(|task| project.is_none_or(|it| *it == task.project));
        Ok(Overview {
            sequence: store.sequence()?,
            tasks: tasks.map(|task| TaskRow::of_deleted(&task)).collect(),
            ..Overview::default()
        })
    }

    /// The statuses of every workflow that a task is pinned to or could be created with.
    pub fn statuses(&self) -> Result<Vec<Status>, DriverError> {
        let mut texts = match self.context.read_store() {
            Err(StoreError::Missing { .. }) => Vec::new(),
            store => store?.workflow_texts()?,
        };
        let catalog = Catalog::load(&self.context.home)?;
        let projects = self.context.projects()?.projects;
        // Doctor reports a policy that cannot be used.
        let policies = projects.iter().map(|it| self.context.policy(&it.name));
        for policy in policies.filter_map(Result::ok).flatten() {
            texts.extend(policy.workflows().iter().map(|it| it.text.clone()));
        }
        // A file that cannot be read has no statuses; `orange workflow list` reports it.
        let sources = catalog
            .sources()
            .iter()
            .filter_map(|source| source.read().ok());
        texts.extend(sources.map(|text| String::from_utf8_lossy(&text).into_owned()));
        let workflows = texts.iter().filter_map(|text| load(text).workflow);
        let states = workflows.flat_map(|workflow| workflow.states);
        let statuses: BTreeSet<Status> = states.map(|state| state.name).collect();
        Ok(statuses.into_iter().collect())
    }

    /// The state of the agents that are recorded as alive in these tasks, from one tmux listing.
    pub fn agents(&self, tasks: &[TaskRow]) -> Result<BTreeMap<TaskId, AgentState>, DriverError> {
        let store = self.context.read_store()?;
        Ok(self.agents_in(&store, tasks))
    }

    fn agents_in(&self, store: &Store, tasks: &[TaskRow]) -> BTreeMap<TaskId, AgentState> {
        let observations = self.observations_in(store, tasks);
        let alive = tasks.iter().filter(|row| is_believed_alive(row));
        let states = alive.map(|row| {
            let observations = observations.get(&row.id);
            let state = observations.map(|it| worst_state(row, it));
            (row.id.clone(), state.unwrap_or(AgentState::Unknown))
        });
        states.collect()
    }

    /// The agents that are recorded as alive in these tasks, from one tmux listing. A task whose
    /// agents cannot be checked is left out, because that must not prevent a listing.
    pub(super) fn observations_in(
        &self,
        store: &Store,
        tasks: &[TaskRow],
    ) -> BTreeMap<TaskId, Vec<RunObservation>> {
        let alive: Vec<&TaskRow> = tasks.iter().filter(|row| is_believed_alive(row)).collect();
        if alive.is_empty() {
            return BTreeMap::new();
        }
        let listing = self.context.tmux.list();
        let runs = store.runs_of(alive.iter().map(|row| &row.id));
        let runs = runs.unwrap_or_default();
        let checked = alive.into_iter().filter_map(|row| {
            let observations = self.observe_row(runs.get(&row.id)?, row, &listing);
            Some((row.id.clone(), observations.ok()?))
        });
        checked.collect()
    }

    /// What the agents that are recorded as alive in these tasks seem to be doing.
    pub fn activity_states<'a>(
        &self,
        tasks: impl IntoIterator<Item = &'a TaskRow>,
    ) -> BTreeMap<TaskId, ActivityState> {
        let alive = tasks.into_iter().filter(|row| is_believed_alive(row));
        alive
            .map(|row| (row.id.clone(), self.worst_activity(row)))
            .collect()
    }

    /// What the agents that are recorded as alive in these tasks ask the user to permit; tasks
    /// without a request are left out.
    pub fn permission_requests<'a>(
        &self,
        tasks: impl IntoIterator<Item = &'a TaskRow>,
    ) -> BTreeMap<TaskId, Vec<PermissionRequest>> {
        let mut waiting = BTreeMap::new();
        for row in tasks.into_iter().filter(|row| is_believed_alive(row)) {
            let live = row.runs.values().filter(|run| run.state.is_live());
            let requests =
                live.flat_map(|run| self.agents.open_requests(&row.project, &row.id, &run.id));
            let requests: Vec<PermissionRequest> = requests.collect();
            if !requests.is_empty() {
                waiting.insert(row.id.clone(), requests);
            }
        }
        waiting
    }

    fn worst_activity(&self, row: &TaskRow) -> ActivityState {
        let activities = self.agents.row_activities(row);
        let activities = activities.into_iter().map(|it| it.activity.state);
        activities
            .max_by_key(|state| match state {
                ActivityState::Unknown => 0,
                ActivityState::Idle => 1,
                ActivityState::Working => 2,
                ActivityState::WaitingForInput
                | ActivityState::WaitingForPermission
                | ActivityState::Failed
                | ActivityState::Silent
                | ActivityState::Stalled => 3,
            })
            .unwrap_or(ActivityState::Unknown)
    }

    fn observe_row(
        &self,
        records: &[RunRecord],
        row: &TaskRow,
        listing: &Result<Listing, TmuxError>,
    ) -> Result<Vec<RunObservation>, DriverError> {
        let alive = row.runs.iter().filter(|(_, run)| is_alive(run));
        let observe = |run: &RunId| {
            self.agents
                .observe_in(listing, &row.project, &row.id, records, run)
        };
        let observations = alive.map(|(role, run)| {
            Ok(RunObservation {
                role: role.clone(),
                run: run.id.clone(),
                observation: observe(&run.id)?,
            })
        });
        observations.collect()
    }
}

fn is_believed_alive(row: &TaskRow) -> bool {
    row.runs.values().any(is_alive)
}

fn is_alive(run: &Run) -> bool {
    run.state == RunState::Alive
}

impl AgentState {
    /// The state of a task's agents without checking them.
    pub fn from_record(row: &TaskRow) -> AgentState {
        worst_state(row, &[])
    }
}

/// The worst of the recorded and observed states.
fn worst_state(row: &TaskRow, observations: &[RunObservation]) -> AgentState {
    let states = row.runs.values().map(|run| match &run.state {
        RunState::Starting | RunState::Ending => AgentState::None,
        state @ RunState::Ended { .. } if state.is_stopped() => AgentState::None,
        RunState::Ended { .. } => AgentState::Dead,
        RunState::Alive => match observations.iter().find(|it| it.run == run.id) {
            Some(found) => match found.observation {
                Observation::Alive => AgentState::Alive,
                Observation::Dead(_) => AgentState::Dead,
                Observation::Unknown(_) => AgentState::Unknown,
            },
            None => AgentState::Unknown,
        },
    });
    states.max().unwrap_or(AgentState::None)
}

/// Tasks that need the user first, then running, waiting, queued and finished ones.
fn rank(row: &TaskRow) -> u8 {
    match row.kind {
        _ if !row.attention.is_empty() => 0,
        Some(Kind::Human) | None => 0,
        Some(Kind::Agent) => 1,
        Some(Kind::Waiting) => 2,
        Some(Kind::Queued) => 3,
        Some(Kind::Terminal) => 4,
    }
}

/// The sort key within a rank: the longest waiting first; of finished tasks, the latest first.
fn since(row: &TaskRow) -> (i64, Reverse<i64>) {
    let millis = row.entered_at.map_or(i64::MIN, Timestamp::millis);
    if row.kind == Some(Kind::Terminal) {
        return (0, Reverse(millis));
    }
    (millis, Reverse(0))
}

#[cfg(test)]
mod tests {
    use orange_engine::evidence::Evidence;
    use orange_engine::role::Role;

    use super::*;

    fn row(id: &str, kind: Kind, at: i64) -> TaskRow {
        TaskRow {
            id: TaskId::new(id),
            project: ProjectName::new("app"),
            status: Status::new("x"),
            kind: Some(kind),
            need: None,
            working_roles: Vec::new(),
            respawnable: Vec::new(),
            branch: String::new(),
            summary: String::new(),
            round: 0,
            entered_at: Some(Timestamp::from_millis(at)),
            attention: Vec::new(),
            runs: BTreeMap::new(),
            children: orange_store::ChildCount::default(),
            parent: None,
        }
    }

    #[test]
    fn tasks_that_need_you_come_first_longest_waiting_first() {
        let mut rows = [
            row("ended", Kind::Terminal, 1),
            row("ended-last", Kind::Terminal, 2),
            row("queued", Kind::Queued, 1),
            row("waiting", Kind::Waiting, 1),
            row("running", Kind::Agent, 2),
            row("running-long", Kind::Agent, 1),
            row("asked", Kind::Human, 3),
            row("in-trouble", Kind::Agent, 2),
        ];
        rows[7].attention.push("why".to_owned());
        rows.sort_by_key(|row| (rank(row), since(row)));
        let order: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            order,
            [
                "in-trouble",
                "asked",
                "running-long",
                "running",
                "waiting",
                "queued",
                "ended-last",
                "ended"
            ]
        );
    }

    #[test]
    fn the_worst_agent_state_is_shown() {
        let mut row = row("x", Kind::Agent, 1);
        assert_eq!(worst_state(&row, &[]), AgentState::None);
        let run = |id: &str, state: RunState| Run {
            id: RunId::new(id),
            headless: false,
            plans: false,
            state,
        };
        row.runs.insert(Role::Worker, run("w", RunState::Alive));
        let seen = |observation| RunObservation {
            role: Role::Worker,
            run: RunId::new("w"),
            observation,
        };
        assert_eq!(worst_state(&row, &[]), AgentState::Unknown);
        assert_eq!(
            worst_state(&row, &[seen(Observation::Alive)]),
            AgentState::Alive
        );
        let evidence = Evidence::Closed;
        row.runs
            .insert(Role::Reviewer, run("r", RunState::Ended { evidence }));
        assert_eq!(
            worst_state(&row, &[seen(Observation::Alive)]),
            AgentState::Dead
        );
    }
}
