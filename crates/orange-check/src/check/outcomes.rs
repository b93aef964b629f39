//! Checks where a step arrives: ends, absent agents, failed starts.

use orange_engine::document::reading::Verdict;
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::language::gates::GateKind;
use orange_engine::language::workflow::{Edge, Kind};
use orange_engine::names::Status;
use orange_engine::role::Role;
use orange_engine::task::{Task, Workspace};

use super::finding::FindingCode;
use super::incidents::{Incidents, START_EFFECTS, start_failure_hint};
use super::place::Place;
use crate::explore::{Notice, Occurrence, Visit};

impl Incidents<'_> {
    /// A task that ends must release everything.
    pub(super) fn check_end(&mut self, visit: &Visit<'_>) {
        let after = &visit.outcome.task;
        if !self.workflow.is_terminal(&after.status) {
            return;
        }
        let has_workspace = after.workspace != Workspace::None;
        let alive: Vec<&Role> = alive(after);
        let requester = match &visit.step.occurrence {
            Occurrence::Request { by, .. } | Occurrence::Merge { by } => Some(by),
            _ => None,
        };
        let agent = requester.filter(|by| by.is_agent() && !self.ended_by_pass(visit));
        if !has_workspace && alive.is_empty() && agent.is_none() {
            return;
        }
        let place = Place::of_visit(self.workflow, visit);
        let status = &after.status;
        if let Some(role) = agent {
            let code = FindingCode::AgentMayFinish;
            self.note(visit, code, place.key(), place.at, || {
                let route = &place.description;
                (
                    format!("{route} lets the {role} end the task by requesting it"),
                    String::from("say who may request it: `by: human`"),
                )
            });
        }
        if let Some(failure) = &visit.step.failure {
            if has_workspace || !alive.is_empty() {
                let code = FindingCode::FailureLeaksResources;
                let label = failure.label;
                let key = format!("{} {label}", place.key());
                self.note(visit, code, key, place.hook(label), || {
                    let route = &place.description;
                    (
                        format!("when `{label}` fails, {route} releases nothing"),
                        format!(
                            "put `kill_session` and `release_workspace` before `{label}`, or give \
                             it `on_error: continue`"
                        ),
                    )
                });
            }
            return;
        }
        if has_workspace {
            let code = FindingCode::WorkspaceLeaked;
            self.note(visit, code, place.key(), place.at, || {
                let route = &place.description;
                (
                    format!("{route} reaches `{status}` with a workspace still bound"),
                    String::from("add `release_workspace` to its hooks"),
                )
            });
        }
        if let Some(role) = alive.first() {
            let code = FindingCode::AgentLeaked;
            self.note(visit, code, place.key(), place.at, || {
                let route = &place.description;
                (
                    format!("{route} reaches `{status}` with the {role} still alive"),
                    String::from("add `kill_session` to its hooks, before `release_workspace`"),
                )
            });
        }
    }

    /// Every expected agent must be running, unless one was already missing before the step.
    pub(super) fn check_absence(&mut self, visit: &Visit<'_>) {
        let after = &visit.outcome.task;
        let changed = visit.before.is_none() || entered(&visit.outcome.events).is_some();
        if !changed || visit.step.failure.is_some() {
            return;
        }
        let was_complete = visit.before.is_none_or(|before| {
            let mut expected = self.expects(&before.status).iter();
            expected.all(|role| before.is_live(role))
        });
        let missing = self
            .expects(&after.status)
            .iter()
            .find(|role| !after.is_live(role));
        if let (true, Some(role)) = (was_complete, missing) {
            let place = Place::of_visit(self.workflow, visit);
            let status = after.status.clone();
            let role = role.clone();
            let key = format!("{} {role}", place.key());
            self.note(visit, FindingCode::AgentAbsent, key, place.at, || {
                let route = &place.description;
                (
                    format!(
                        "{route} enters `{status}`, which expects the {role}, but none is running"
                    ),
                    format!(
                        "start one in its hooks (`spawn_agent` with `role: {role}`, or \
                         `notify_worker` where a worker may be alive), do not kill it, or set \
                         `expects: []` on `{status}`"
                    ),
                )
            });
        }
    }

    pub(super) fn check_requester_killed(&mut self, visit: &Visit<'_>) {
        let (Occurrence::Request { by, to }, Some(before)) = (&visit.step.occurrence, visit.before)
        else {
            return;
        };
        let Some(run) = before.runs.get(by) else {
            return;
        };
        let kills_requester = |event: &Event| match &event.fact {
            Fact::EffectPlanned(planned) => {
                matches!(&planned.effect, Effect::Kill(kill) if kill.runs.contains(&run.id))
            }
            _ => false,
        };
        let happened = visit.outcome.task.status == *to;
        if happened && visit.outcome.events.iter().any(kills_requester) {
            let place = Place::of_visit(self.workflow, visit);
            let code = FindingCode::RequesterKilled;
            self.note(visit, code, place.key(), place.at, || {
                let route = &place.description;
                (
                    format!("{route}, requested by the {by}, kills the {by} that requested it"),
                    String::from(
                        "nothing is wrong: the transition still happens. The prompt should say \
                         that this command is the last one of the session",
                    ),
                )
            });
        }
    }

    /// A start by the scheduler fails, and the task is left in a status where no agent works.
    pub(super) fn check_start_failure(&mut self, visit: &Visit<'_>) {
        let (Some(failure), Some(before)) = (&visit.step.failure, visit.before) else {
            return;
        };
        let state = self.workflow.state(&before.status);
        let queued = state.is_some_and(|state| state.kind == Kind::Queued);
        let by_scheduler = match &visit.step.occurrence {
            Occurrence::Request { by, .. } => queued && *by == Role::Engine,
            _ => false,
        };
        let status = &visit.outcome.task.status;
        let mut expects = self.expects(status).iter();
        let lacks_agent = expects.any(|role| !visit.outcome.task.is_live(role));
        if by_scheduler && lacks_agent && START_EFFECTS.contains(&failure.label) {
            let place = Place::of_visit(self.workflow, visit);
            let status = status.clone();
            let hint = start_failure_hint(self.workflow, &status);
            let label = failure.label;
            let code = FindingCode::StartFailureUnhandled;
            self.note(visit, code, place.key(), place.hook(label), || {
                let route = &place.description;
                (
                    format!(
                        "when `{label}` fails, {route} leaves the task in `{status}` without an \
                         agent"
                    ),
                    hint,
                )
            });
        }
    }

    /// Whether the last edge required a PASS, so that a verdict ended the task.
    fn ended_by_pass(&self, visit: &Visit<'_>) -> bool {
        let is_pass = |edge: &Edge| {
            let mut gates = edge.gates.iter();
            gates.any(|gate| {
                matches!(&gate.kind, GateKind::Section(it) if it.verdict == Some(Verdict::Pass))
            })
        };
        let mut notices = visit.outcome.notices.iter().rev();
        notices
            .find_map(|notice| match notice {
                Notice::EdgeTaken { edge } => self.workflow.edges.get(*edge),
                _ => None,
            })
            .is_some_and(is_pass)
    }

    fn expects(&self, status: &Status) -> &[Role] {
        let state = self.workflow.state(status);
        state.map_or(&[], |state| &state.expects)
    }
}

fn alive(task: &Task) -> Vec<&Role> {
    let runs = task.runs.iter();
    runs.filter(|(_, run)| run.state.is_live())
        .map(|(role, _)| role)
        .collect()
}

fn entered(events: &[Event]) -> Option<&Status> {
    events.iter().rev().find_map(|event| match &event.fact {
        Fact::StatusChanged(changed) => Some(&changed.to),
        _ => None,
    })
}
