//! Restarts the agents that were lost with their machine.

use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::evidence::Evidence;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::{PendingState, RunState};
use orange_store::{Store, TaskFilter};

use super::answer::{Answer, ChangeReport};
use super::ask::TaskRequest;
use super::wait::WaitPolicy;
use crate::DriverError;
use crate::agents::observe::TaskCheck;
use crate::context::background::StartedProcess;
use crate::request::Requests;
use crate::steps::pinned_workflow;

/// A task that had lost agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RespawnReport {
    pub task: TaskId,
    /// The roles that were restarted.
    pub roles: Vec<Role>,
    /// Why other roles could not be restarted, one sentence each.
    pub problems: Vec<String>,
    /// Whether everything planned for the task is done.
    pub is_settled: bool,
}

/// What was done about agents that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostAgents {
    /// The tasks whose agents were lost with their tmux server or machine.
    pub reports: Vec<RespawnReport>,
    /// The tasks whose agents ended in another way. Whether to restart them is up to the user.
    pub exited: Vec<TaskId>,
}

/// The requests made for one task.
#[derive(Default)]
struct RespawnRequests {
    roles: Vec<Role>,
    problems: Vec<String>,
    events: Vec<Event>,
}

impl Requests {
    /// Restarts every agent that is provably gone with its tmux server or its machine.
    ///
    /// Also performs what an earlier call planned and no process performed, so that the next call
    /// finishes an interrupted one. A task that fails does not block the others.
    pub fn respawn_lost(&self, bound: Duration) -> Result<LostAgents, DriverError> {
        self.callers.require_user("respawn every lost agent")?;
        let mut store = self.context.store()?;
        let (mut affected, mut exited) = (Vec::new(), Vec::new());
        let tasks = store.list(&TaskFilter::default())?.tasks;
        let tasks: Vec<TaskId> = tasks.into_iter().map(|it| it.task.id).collect();
        // Check all tasks at once, because a missing agent is judged only after a pause.
        let checked = self.agents.observe_each(&tasks)?;
        // Start all performers before waiting for any of them, so that they work at the same time.
        for TaskCheck {
            task: id, problem, ..
        } in checked
        {
            let mut requests = RespawnRequests::default();
            if let Some(problem) = problem {
                requests.problems.push(problem.to_string());
            }
            if let Err(error) = self.request_respawns(&mut store, &id, &mut requests) {
                requests.problems.push(error.to_string());
            }
            if let Err(error) = self.context.leave_to_performer(&store, &id) {
                requests.problems.push(error.to_string());
            }
            if !requests.roles.is_empty() || !requests.problems.is_empty() {
                affected.push((id, requests));
            } else if !gone_roles(&store, &id, is_unexpected)?.is_empty() {
                exited.push(id);
            }
        }
        let deadline = Deadline::after(bound);
        let mut reports = Vec::new();
        for (task, mut requests) in affected {
            let waiting = WaitPolicy::Detached(deadline.remaining());
            let events = std::mem::take(&mut requests.events);
            let settled = self.settle(&mut store, &task, events, waiting, StartedProcess::none());
            let is_settled = matches!(settled, Ok(Answer::Done(_)));
            match settled {
                Ok(Answer::Done(changed)) => move_failed_roles(&changed, &mut requests),
                Ok(_) => {}
                Err(error) => requests.problems.push(error.to_string()),
            }
            reports.push(RespawnReport {
                task,
                roles: requests.roles,
                problems: requests.problems,
                is_settled,
            });
        }
        Ok(LostAgents { reports, exited })
    }

    /// Requests a restart of the lost agents of a task.
    fn request_respawns(
        &self,
        store: &mut Store,
        id: &TaskId,
        requests: &mut RespawnRequests,
    ) -> Result<(), DriverError> {
        for role in gone_roles(store, id, is_lost)? {
            let request = TaskRequest {
                task: id.clone(),
                request: Request::new(
                    Role::Human,
                    RequestKind::Respawn {
                        role: Some(role.clone()),
                    },
                ),
                waiting: WaitPolicy::Skip,
            };
            match self.ask(&request)? {
                Answer::Done(changed) | Answer::StillRunning(changed) => {
                    requests.roles.push(role);
                    requests.events.extend(changed.events);
                }
                Answer::AlreadyDone(_) => requests.roles.push(role),
                Answer::Refused(refusal) => requests.problems.push(refusal.to_string()),
            }
        }
        Ok(())
    }
}

/// Moves the roles whose start failed to the problems.
fn move_failed_roles(changed: &ChangeReport, requests: &mut RespawnRequests) {
    for event in &changed.events {
        let Fact::EffectPlanned(planned) = &event.fact else {
            continue;
        };
        let state = changed.task.pending_effect(planned.id);
        let (Effect::Spawn(spawn), Some(PendingState::Failed { error })) =
            (&planned.effect, state.map(|pending| &pending.state))
        else {
            continue;
        };
        requests.roles.retain(|role| *role != spawn.role);
        requests
            .problems
            .push(format!("cannot start the {}: {error}", spawn.role));
    }
}

fn is_lost(evidence: &Evidence) -> bool {
    *evidence == Evidence::Environment
}

/// Whether an agent ended for an unknown reason. This excludes agents that the user stopped, and
/// agents without quota or login, which cannot work before that changes.
fn is_unexpected(evidence: &Evidence) -> bool {
    let is_known = *evidence == Evidence::Stopped || evidence.is_harness_failure();
    !is_lost(evidence) && !is_known
}

/// The roles that the status needs and whose agent has ended with evidence that `is_gone` accepts.
fn gone_roles(
    store: &Store,
    id: &TaskId,
    is_gone: fn(&Evidence) -> bool,
) -> Result<Vec<Role>, DriverError> {
    let stored = store.require(id)?;
    let workflow = pinned_workflow(&stored)?;
    let task = &stored.task;
    let Some(state) = workflow.state(&task.status) else {
        return Ok(Vec::new());
    };
    let roles = task.runs.iter().filter(|(role, run)| {
        let is_needed = state.expects.contains(role) || state.respawn.contains_key(*role);
        matches!(&run.state, RunState::Ended { evidence } if is_gone(evidence)) && is_needed
    });
    Ok(roles.map(|(role, _)| role.clone()).collect())
}
