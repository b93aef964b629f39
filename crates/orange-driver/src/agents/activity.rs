//! What live agents seem to be doing; advisory only.

use std::collections::BTreeMap;

use orange_config::clock;
use orange_engine::activity::{Activity, ActivityState, AgentEvent};
use orange_engine::attention::working_roles;
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_engine::permission::PermissionRequest;
use orange_engine::role::Role;
use orange_engine::task::{Run, RunState};
use orange_engine::time::Timestamp;
use orange_engine::{Task, Workflow};
use orange_store::{TaskRow, latest_agent_events, silent_since};

use crate::agents::Agents;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunActivity {
    pub role: Role,
    pub run: RunId,
    /// What the agent seems to be doing, judged by the events that it reported.
    pub activity: Activity,
    /// Its requests for permission that wait for an answer.
    pub requests: Vec<PermissionRequest>,
}

/// The agents of a task, and what its status expects of them.
struct LiveAgents<'a> {
    project: &'a ProjectName,
    task: &'a TaskId,
    runs: &'a BTreeMap<Role, Run>,
    /// The roles for whose work the status waits.
    working_roles: &'a [Role],
    /// When the task entered its status.
    entered_at: Timestamp,
}

impl Agents {
    /// What the live agents of a task seem to be doing.
    pub(crate) fn activities(&self, task: &Task, workflow: Option<&Workflow>) -> Vec<RunActivity> {
        let working_roles = workflow.and_then(|workflow| {
            let state = workflow.state(&task.status)?;
            Some(working_roles(workflow, state))
        });
        self.activities_of(&LiveAgents {
            project: &task.project,
            task: &task.id,
            runs: &task.runs,
            working_roles: &working_roles.unwrap_or_default(),
            entered_at: task.entered.at,
        })
    }

    /// Like `activities`, for a caller that has only the task's row.
    pub(crate) fn row_activities(&self, row: &TaskRow) -> Vec<RunActivity> {
        self.activities_of(&LiveAgents {
            project: &row.project,
            task: &row.id,
            runs: &row.runs,
            working_roles: &row.working_roles,
            entered_at: row.entered_at.unwrap_or_default(),
        })
    }

    fn activities_of(&self, agents: &LiveAgents<'_>) -> Vec<RunActivity> {
        let (project, task) = (agents.project, agents.task);
        let now = clock::now();
        let live = agents.runs.iter().filter(|(_, run)| run.state.is_live());
        live.map(|(role, run)| {
            let requests = self.open_requests(project, task, &run.id);
            let mut activity = self.activity(project, task, run, now);
            // Only an interactive run can be idle: a headless run exits when it has nothing left to
            // do.
            if agents.working_roles.contains(role) && !run.headless {
                activity.expect_work(agents.entered_at, now);
            }
            if !requests.is_empty() {
                // An open request counts even if a later event says otherwise: another tool of the
                // same agent may have reported that event.
                activity.state = ActivityState::WaitingForPermission;
            } else if activity.state == ActivityState::WaitingForPermission
                && let Some(request) = activity
                    .evidence
                    .as_ref()
                    .and_then(|it| it.request.as_ref())
                && self.is_abandoned(project, task, &run.id, request)
            {
                activity.state = ActivityState::Unknown;
            }
            RunActivity {
                role: role.clone(),
                run: run.id.clone(),
                activity,
                requests,
            }
        })
        .collect()
    }

    fn activity(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &Run,
        now: Timestamp,
    ) -> Activity {
        let events = self.events_of(project, task, &run.id);
        // A run that is still being started cannot report anything.
        if events.is_empty()
            && run.state == RunState::Alive
            && let Ok(directory) = self.context.run_directory(project, task, &run.id)
            && let Some(since) = silent_since(&directory)
        {
            return Activity::without_events(since, now);
        }
        Activity::from_events(&events)
    }

    /// The last events that a run reported; none if its file cannot be read.
    pub(crate) fn events_of(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
    ) -> Vec<AgentEvent> {
        let directory = self.context.run_directory(project, task, run).ok();
        let events = directory.and_then(|directory| latest_agent_events(&directory).ok());
        events.unwrap_or_default()
    }
}
