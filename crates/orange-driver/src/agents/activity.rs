//! What live agents seem to be doing; advisory only.

use std::collections::BTreeMap;

use orange_config::clock;
use orange_engine::Task;
use orange_engine::activity::{Activity, ActivityState, AgentEvent};
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_engine::permission::PermissionRequest;
use orange_engine::role::Role;
use orange_engine::task::{Run, RunState};
use orange_engine::time::Timestamp;
use orange_store::{latest_agent_events, silent_since};

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

impl Agents {
    /// What the live agents of a task seem to be doing.
    pub(crate) fn activities(&self, task: &Task) -> Vec<RunActivity> {
        self.activities_of(&task.project, &task.id, &task.runs)
    }

    /// Like `activities`, for a caller that has only the runs.
    pub(crate) fn activities_of(
        &self,
        project: &ProjectName,
        task: &TaskId,
        runs: &BTreeMap<Role, Run>,
    ) -> Vec<RunActivity> {
        let now = clock::now();
        let live = runs.iter().filter(|(_, run)| run.state.is_live());
        live.map(|(role, run)| {
            let requests = self.open_requests(project, task, &run.id);
            let mut activity = self.activity(project, task, run, now);
            if !requests.is_empty() {
                // Another tool of the same agent may have reported something since the request.
                activity.state = ActivityState::WaitingForPermission;
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
