//! What is noticed during the search: the first of each kind.
//!
//! The search goes from near to far, so the first is the one with the shortest story.

use std::collections::{BTreeMap, BTreeSet};

use super::exits;
use super::finding::{Finding, FindingCode};
use super::limits::limits;
use super::place::Place;
use super::story::Story;
use crate::effect::Effect;
use crate::event::{Event, Fact};
use crate::explore::{Explored, Happening, Notice, Step, Visit};
use crate::language::workflow::Kind;
use crate::language::{Position, Workflow};
use crate::names::{FieldName, Status};
use crate::role::Role;
use crate::task::{Task, Workspace};

/// The first sighting of something.
struct Incident {
    at: Option<Position>,
    message: String,
    hint: String,
    node: Option<usize>,
    step: Step,
}

/// Collects what a search shows.
pub(super) struct Incidents<'w> {
    workflow: &'w Workflow,
    limits: BTreeMap<FieldName, i64>,
    taken: BTreeSet<usize>,
    found: BTreeMap<(FindingCode, String), Incident>,
}

impl<'w> Incidents<'w> {
    pub(super) fn new(workflow: &'w Workflow) -> Incidents<'w> {
        Incidents {
            workflow,
            limits: limits(workflow),
            taken: BTreeSet::new(),
            found: BTreeMap::new(),
        }
    }

    /// The edges that were taken, by their place.
    pub(super) fn taken(&self) -> &BTreeSet<usize> {
        &self.taken
    }

    /// Looks at one step of the search.
    pub(super) fn see(&mut self, visit: &Visit<'_>) {
        self.see_notices(visit);
        self.see_end(visit);
        self.see_absence(visit);
        self.see_asker_ended(visit);
        if let Some((at, message, hint)) = exits::refused(self.workflow, visit) {
            let key = at.to_string();
            self.note(visit, FindingCode::ExitRefused, key, Some(at), || {
                (message, hint)
            });
        }
    }

    fn note(
        &mut self,
        visit: &Visit<'_>,
        code: FindingCode,
        key: String,
        at: Option<Position>,
        say: impl FnOnce() -> (String, String),
    ) {
        self.found.entry((code, key)).or_insert_with(|| {
            let (message, hint) = say();
            Incident {
                at,
                message,
                hint,
                node: visit.node,
                step: visit.step.clone(),
            }
        });
    }

    fn see_notices(&mut self, visit: &Visit<'_>) {
        let mut taken = None;
        for notice in &visit.played.notices {
            match notice {
                Notice::Took { edge } => {
                    self.taken.insert(*edge);
                    taken = Some(*edge);
                }
                Notice::Counted { field, value } => {
                    let limit = self.limits.get(field).copied();
                    if let Some(limit) = limit.filter(|limit| value > limit) {
                        let place = Place::of(self.workflow, visit.step, taken);
                        self.see_exceeded(visit, &place, field, limit);
                    }
                }
                _ => {
                    let place = Place::of(self.workflow, visit.step, taken);
                    self.see_lack(visit, &place, notice);
                }
            }
        }
    }

    fn see_exceeded(
        &mut self,
        visit: &Visit<'_>,
        place: &Place<'_>,
        field: &FieldName,
        limit: i64,
    ) {
        let code = FindingCode::LimitExceeded;
        self.note(visit, code, field.to_string(), place.at, || {
            let way = &place.way;
            (
                format!("{way} counts `{field}` beyond its limit of {limit}"),
                format!(
                    "close it with `when: {field} < {limit}`, or begin a new count there with \
                     `set: {{ {field}: 0 }}`"
                ),
            )
        });
    }

    fn see_lack(&mut self, visit: &Visit<'_>, place: &Place<'_>, notice: &Notice) {
        let way = &place.way;
        match notice {
            Notice::GateWithoutWorkspace => {
                let code = FindingCode::GateWithoutWorkspace;
                self.note(visit, code, place.key(), place.at, || {
                    (
                        format!("{way} asks a command, and no workspace is held to run it in"),
                        String::from(
                            "put the gate on a transition from a state that holds a workspace",
                        ),
                    )
                });
            }
            Notice::NoWorkspace { label } => {
                let code = FindingCode::HookWithoutWorkspace;
                let key = format!("{} {label}", place.key());
                self.note(visit, code, key, place.hook(label), || {
                    (
                        format!("{way} runs `{label}` where no workspace is held"),
                        format!(
                            "add `acquire_workspace` before `{label}`; it does nothing where one \
                             is held"
                        ),
                    )
                });
            }
            Notice::Doubled { role } => {
                let code = FindingCode::AgentDoubled;
                let key = format!("{} {role}", place.key());
                self.note(visit, code, key, place.at, || {
                    (
                        format!("{way} starts a second {role} beside one that is alive"),
                        format!(
                            "end it first (`kill_session`, or `kill_agent` with `role: {role}`), \
                             or tell the one that is there (`notify_worker`)"
                        ),
                    )
                });
            }
            Notice::NobodyToTell { role } => {
                let code = FindingCode::NobodyToTell;
                let at = place.hook("notify_worker");
                let to = &visit.played.task.status;
                self.note(visit, code, place.key(), at, || {
                    (
                        format!("{way} tells the {role} something, and none may be there"),
                        format!(
                            "give `{to}` a `respawn` for the {role}, so that it is brought when \
                             it is gone"
                        ),
                    )
                });
            }
            Notice::Took { .. } | Notice::Counted { .. } => {}
        }
    }

    /// An end must let go of everything.
    fn see_end(&mut self, visit: &Visit<'_>) {
        let after = &visit.played.task;
        if !self.workflow.is_terminal(&after.status) {
            return;
        }
        let holds = after.workspace != Workspace::None;
        let alive: Vec<&Role> = alive(after);
        let asked = match &visit.step.happening {
            Happening::Ask { by, .. } | Happening::Merge { by } => Some(by),
            _ => None,
        };
        let agent = asked.filter(|by| by.is_agent());
        if !holds && alive.is_empty() && agent.is_none() {
            return;
        }
        let place = Place::of_visit(self.workflow, visit);
        let status = &after.status;
        if let Some(role) = agent {
            let code = FindingCode::AgentMayFinish;
            self.note(visit, code, place.key(), place.at, || {
                let way = &place.way;
                (
                    format!("{way} lets the {role} end the task by asking for it"),
                    String::from("say who may ask: `by: human`"),
                )
            });
        }
        if let Some(failing) = &visit.step.fails {
            if holds || !alive.is_empty() {
                let code = FindingCode::FailureKeepsHold;
                let label = failing.label;
                let key = format!("{} {label}", place.key());
                self.note(visit, code, key, place.hook(label), || {
                    let way = &place.way;
                    (
                        format!("when `{label}` fails, {way} lets go of nothing"),
                        format!(
                            "put `kill_session` and `release_workspace` before `{label}`, or give \
                             it `on_error: continue`"
                        ),
                    )
                });
            }
            return;
        }
        if holds {
            let code = FindingCode::WorkspaceLeaked;
            self.note(visit, code, place.key(), place.at, || {
                let way = &place.way;
                (
                    format!("{way} reaches `{status}` with a workspace still bound"),
                    String::from("add `release_workspace` to its hooks"),
                )
            });
        }
        if let Some(role) = alive.first() {
            let code = FindingCode::AgentLeaked;
            self.note(visit, code, place.key(), place.at, || {
                let way = &place.way;
                (
                    format!("{way} reaches `{status}` with the {role} still alive"),
                    String::from("add `kill_session` to its hooks, before `release_workspace`"),
                )
            });
        }
    }

    /// Who is expected must be there, unless somebody was missing before.
    fn see_absence(&mut self, visit: &Visit<'_>) {
        let after = &visit.played.task;
        let changed = visit.before.is_none() || entered(&visit.played.events).is_some();
        if !changed || visit.step.fails.is_some() {
            return;
        }
        let expects = |status: &Status| {
            let state = self.workflow.state(status);
            state.map_or(&[] as &[Role], |state| &state.expects)
        };
        let was_complete = visit.before.is_none_or(|before| {
            let mut expected = expects(&before.status).iter();
            expected.all(|role| before.is_live(role))
        });
        let missing = expects(&after.status)
            .iter()
            .find(|role| !after.is_live(role));
        if let (true, Some(role)) = (was_complete, missing) {
            let place = Place::of_visit(self.workflow, visit);
            let status = after.status.clone();
            let role = role.clone();
            let key = format!("{} {role}", place.key());
            self.note(visit, FindingCode::AgentAbsent, key, place.at, || {
                let way = &place.way;
                (
                    format!("{way} enters `{status}`, which expects the {role}, and none is there"),
                    format!(
                        "start one on the way (`spawn_agent`), do not end it, or say that \
                         `{status}` expects nobody (`expects: []`)"
                    ),
                )
            });
        }
    }

    fn see_asker_ended(&mut self, visit: &Visit<'_>) {
        let (Happening::Ask { by, to }, Some(before)) = (&visit.step.happening, visit.before)
        else {
            return;
        };
        let Some(run) = before.runs.get(by) else {
            return;
        };
        let ends = |event: &Event| match &event.fact {
            Fact::EffectPlanned(planned) => {
                matches!(&planned.effect, Effect::Kill(kill) if kill.runs.contains(&run.id))
            }
            _ => false,
        };
        let happened = visit.played.task.status == *to;
        if happened && visit.played.events.iter().any(ends) {
            let place = Place::of_visit(self.workflow, visit);
            self.note(visit, FindingCode::AskerEnded, place.key(), place.at, || {
                let way = &place.way;
                (
                    format!("{way}, asked for by the {by}, ends the {by} that asked"),
                    String::from(
                        "nothing is wrong: the transition happens all the same. The prompt should \
                         say that the command is the last one of the session",
                    ),
                )
            });
        }
    }

    /// The findings, each with its story.
    pub(super) fn into_findings(self, explored: &Explored) -> Vec<Finding> {
        let workflow = self.workflow;
        let mut roots: BTreeSet<Status> = BTreeSet::new();
        let mut findings = Vec::new();
        let mut found: Vec<_> = self.found.into_iter().collect();
        // Situations are numbered from near to far.
        found.sort_by_key(|(_, incident)| incident.node);
        for ((code, _), incident) in found {
            let way = incident.node.map(|node| explored.way_to(node));
            let way = way.unwrap_or_default().into_iter();
            let mut steps: Vec<Step> = way.map(|step| explored.steps[step].clone()).collect();
            steps.push(incident.step);
            let story = Story::tell(workflow, steps);
            let finding = Finding::new(code, incident.at, incident.message, incident.hint);
            match failed_start(&story).filter(|_| code == FindingCode::HookWithoutWorkspace) {
                None => findings.push(finding.told(story)),
                // One start that fails and is not answered is one finding, whatever follows.
                Some((label, status)) => {
                    if roots.insert(status.clone()) {
                        findings.push(unanswered(workflow, finding, label, &status).told(story));
                    }
                }
            }
        }
        findings
    }
}

/// The start on the way that failed, and where it left the task.
fn failed_start(story: &Story) -> Option<(&'static str, Status)> {
    let mut steps = story.steps.iter().zip(&story.told);
    steps.find_map(|(step, told)| {
        let failing = step.fails.as_ref()?;
        Some((failing.label, told.status.clone()))
    })
}

fn unanswered(workflow: &Workflow, finding: Finding, label: &str, status: &Status) -> Finding {
    let queued = workflow
        .states
        .iter()
        .find(|state| state.kind == Kind::Queued);
    let to = queued.map_or("STATE", |state| state.name.as_str());
    Finding {
        at: workflow.state(status).map(|state| state.at),
        message: format!(
            "when `{label}` fails on the way into `{status}`, the task stays there without a \
             workspace, and later {}",
            finding.message
        ),
        hint: format!(
            "say what follows: `- {{ from: {status}, to: {to}, trigger: spawn_failed, hooks: \
             [kill_session, release_workspace] }}`; or add `acquire_workspace` before what needs \
             it, where it does nothing while one is held"
        ),
        ..finding
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
