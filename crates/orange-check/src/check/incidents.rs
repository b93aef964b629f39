//! Collects what the search notices: the first of each kind.
//!
//! The search goes from near to far, so the first one has the shortest story.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::event::Fact;
use orange_engine::language::workflow::{Kind, Trigger};
use orange_engine::language::{Position, Workflow};
use orange_engine::names::{FieldName, Status};

use super::exits;
use super::finding::{Finding, FindingCode};
use super::limits::limits;
use super::place::Place;
use super::story::Story;
use crate::explore::{Explored, Happening, Notice, Step, Visit, led_to, rules};

/// The first occurrence of something.
struct Incident {
    at: Option<Position>,
    message: String,
    hint: String,
    node: Option<usize>,
    step: Step,
}

/// Collects the findings of a search.
pub(super) struct Incidents<'w> {
    pub(super) workflow: &'w Workflow,
    limits: BTreeMap<FieldName, i64>,
    taken: BTreeSet<usize>,
    led: BTreeSet<(Position, Status)>,
    found: BTreeMap<(FindingCode, String), Incident>,
}

impl<'w> Incidents<'w> {
    pub(super) fn new(workflow: &'w Workflow) -> Incidents<'w> {
        Incidents {
            workflow,
            limits: limits(workflow),
            taken: BTreeSet::new(),
            led: BTreeSet::new(),
            found: BTreeMap::new(),
        }
    }

    /// The edges that were taken, by index.
    pub(super) fn taken(&self) -> &BTreeSet<usize> {
        &self.taken
    }

    /// The exit rules that led somewhere, and where.
    pub(super) fn led(&self) -> &BTreeSet<(Position, Status)> {
        &self.led
    }

    /// Checks one step of the search.
    pub(super) fn see(&mut self, visit: &Visit<'_>) {
        self.see_notices(visit);
        self.see_end(visit);
        self.see_absence(visit);
        self.see_unanswered(visit);
        self.see_asker_ended(visit);
        self.see_led(visit);
        if let Some((at, message, hint)) = exits::refused(self.workflow, visit) {
            let key = at.to_string();
            self.note(visit, FindingCode::ExitRefused, key, Some(at), || {
                (message, hint)
            });
        }
    }

    /// Records which rule handled a death, and where it led.
    fn see_led(&mut self, visit: &Visit<'_>) {
        let (Happening::Die { role, .. }, Some(before)) = (&visit.step.happening, visit.before)
        else {
            return;
        };
        let mut events = visit.played.events.iter();
        let to = events.find_map(|event| match &event.fact {
            Fact::StatusChanged(changed) if changed.trigger == Trigger::Exit => Some(&changed.to),
            _ => None,
        });
        let Some(to) = to else { return };
        let shown = &visit.step.shown.gates;
        let mut rules = rules(self.workflow, &before.status, role).filter(|rule| {
            let mut gates = rule.has_artifact.iter();
            led_to(rule).contains(&to) && gates.all(|gate| shown.contains(gate))
        });
        if let Some(rule) = rules.next() {
            self.led.insert((rule.at, to.clone()));
        }
    }

    pub(super) fn note(
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
                    "close it with `when: {field} < {limit}`, or begin a new count, there or where \
                     a person decides before it, with `set: {{ {field}: 0 }}`"
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
                            "if another agent is meant, say which: `role: NAME`; else end the first \
                             (`kill_session`, or `kill_agent` with `role: {role}`), or tell it \
                             (`notify_worker`)"
                        ),
                    )
                });
            }
            Notice::Evicted { role } => {
                let code = FindingCode::AgentEvicted;
                let key = format!("{} {role}", place.key());
                let at = place.hook("release_workspace");
                self.note(visit, code, key, at, || {
                    (
                        format!("{way} gives the workspace back while the {role} is alive in it"),
                        String::from("put `kill_session` before `release_workspace`"),
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

    /// The findings, each with its story.
    pub(super) fn into_findings(self, explored: &Explored) -> Vec<Finding> {
        let workflow = self.workflow;
        let mut roots: BTreeSet<Status> = BTreeSet::new();
        let mut unanswered_starts = Vec::new();
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
            let of_start = code == FindingCode::HookWithoutWorkspace;
            match failed_effect(&story).filter(|_| of_start) {
                None if code == FindingCode::StartUnanswered => {
                    unanswered_starts.push(finding.told(story));
                }
                None => findings.push(finding.told(story)),
                // A failed effect that no edge handles is one finding, whatever follows.
                Some((label, status)) => {
                    if roots.insert(status.clone()) {
                        findings.push(unanswered(workflow, finding, label, &status).told(story));
                    }
                }
            }
        }
        // A failed start with worse consequences was already reported.
        findings.extend(unanswered_starts.into_iter().filter(|finding| {
            let story = finding.story.as_ref().and_then(failed_effect);
            story.is_none_or(|(_, status)| !roots.contains(&status))
        }));
        findings
    }
}

/// The effect in the story that failed, and where it left the task.
fn failed_effect(story: &Story) -> Option<(&'static str, Status)> {
    let mut steps = story.steps.iter().zip(&story.told);
    steps.find_map(|(step, told)| {
        let failing = step.fails.as_ref()?;
        Some((failing.label, told.status.clone()))
    })
}

fn unanswered(workflow: &Workflow, finding: Finding, label: &str, status: &Status) -> Finding {
    Finding {
        at: workflow.state(status).map(|state| state.at),
        message: format!(
            "when `{label}` fails on the way into `{status}`, the task stays there without a \
             workspace, and later {}",
            finding.message
        ),
        hint: if STARTS.contains(&label) {
            format!(
                "{}; or add `acquire_workspace` before what needs it, where it does nothing while \
                 one is held",
                say_what_follows(workflow, status)
            )
        } else {
            format!("give `{label}` `on_error: continue`, or put it after `acquire_workspace`")
        },
        ..finding
    }
}

/// The effects whose failure triggers `spawn_failed`.
pub(super) const STARTS: [&str; 4] = [
    "acquire_workspace",
    "spawn_agent",
    "spawn_reviewer",
    "run_headless",
];

/// The edge that would handle a failed start.
pub(super) fn say_what_follows(workflow: &Workflow, status: &Status) -> String {
    let queued = workflow
        .states
        .iter()
        .find(|state| state.kind == Kind::Queued);
    let to = queued.map_or("STATE", |state| state.name.as_str());
    format!(
        "say what follows: `- {{ from: {status}, to: {to}, trigger: spawn_failed, set: {{ \
         spawn_failures: increment }}, hooks: [kill_session, release_workspace] }}`, and let the \
         engine start only while `spawn_failures < 3`"
    )
}
