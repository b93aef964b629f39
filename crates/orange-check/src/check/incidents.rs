//! Collects what the search notices: the first of each kind.
//!
//! The search visits the situations closest to the creation of the task first, so the first finding
//! of a kind has the shortest story.

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
use crate::explore::{Exploration, Notice, Occurrence, Step, Visit, rule_targets, rules};

/// The first time that the search saw something to report.
struct Incident {
    at: Option<Position>,
    message: String,
    hint: String,
    /// The situation before the step; `None` if the step creates the task.
    node: Option<usize>,
    step: Step,
}

/// Collects the findings of a search.
pub(super) struct Incidents<'w> {
    pub(super) workflow: &'w Workflow,
    /// The value that each counter should not exceed.
    limits: BTreeMap<FieldName, i64>,
    taken_edges: BTreeSet<usize>,
    used_exit_rules: BTreeSet<(Position, Status)>,
    /// The first incident of each code and key; the key tells places in the workflow apart.
    found: BTreeMap<(FindingCode, String), Incident>,
}

impl<'w> Incidents<'w> {
    pub(super) fn new(workflow: &'w Workflow) -> Incidents<'w> {
        Incidents {
            workflow,
            limits: limits(workflow),
            taken_edges: BTreeSet::new(),
            used_exit_rules: BTreeSet::new(),
            found: BTreeMap::new(),
        }
    }

    /// The edges that were taken, by index.
    pub(super) fn taken_edges(&self) -> &BTreeSet<usize> {
        &self.taken_edges
    }

    /// The exit rules that led somewhere, and where.
    pub(super) fn used_exit_rules(&self) -> &BTreeSet<(Position, Status)> {
        &self.used_exit_rules
    }

    /// Checks one step of the search.
    pub(super) fn check_visit(&mut self, visit: &Visit<'_>) {
        self.check_notices(visit);
        self.check_end(visit);
        self.check_absence(visit);
        self.check_start_failure(visit);
        self.check_requester_killed(visit);
        self.record_exit_rule(visit);
        if let Some((at, message, hint)) = exits::find_refusal(self.workflow, visit) {
            let key = at.to_string();
            self.note(visit, FindingCode::ExitRefused, key, Some(at), || {
                (message, hint)
            });
        }
    }

    /// Records which rule handled a death, and where it led.
    fn record_exit_rule(&mut self, visit: &Visit<'_>) {
        let (Occurrence::Die { role, .. }, Some(before)) = (&visit.step.occurrence, visit.before)
        else {
            return;
        };
        let mut events = visit.outcome.events.iter();
        let to = events.find_map(|event| match &event.fact {
            Fact::StatusChanged(changed) if changed.trigger == Trigger::Exit => Some(&changed.to),
            _ => None,
        });
        let Some(to) = to else { return };
        let shown = &visit.step.evidence.gates;
        let mut rules = rules(self.workflow, &before.status, role).filter(|rule| {
            let mut gates = rule.has_artifact.iter();
            rule_targets(rule).contains(&to) && gates.all(|gate| shown.contains(gate))
        });
        if let Some(rule) = rules.next() {
            self.used_exit_rules.insert((rule.at, to.clone()));
        }
    }

    pub(super) fn note(
        &mut self,
        visit: &Visit<'_>,
        code: FindingCode,
        key: String,
        at: Option<Position>,
        describe: impl FnOnce() -> (String, String),
    ) {
        self.found.entry((code, key)).or_insert_with(|| {
            let (message, hint) = describe();
            Incident {
                at,
                message,
                hint,
                node: visit.node,
                step: visit.step.clone(),
            }
        });
    }

    fn check_notices(&mut self, visit: &Visit<'_>) {
        let mut taken = None;
        for notice in &visit.outcome.notices {
            match notice {
                Notice::EdgeTaken { edge } => {
                    self.taken_edges.insert(*edge);
                    taken = Some(*edge);
                }
                Notice::FieldIncremented { field, value } => {
                    let limit = self.limits.get(field).copied();
                    if let Some(limit) = limit.filter(|limit| value > limit) {
                        let place = Place::of(self.workflow, visit.step, taken);
                        self.check_limit(visit, &place, field, limit);
                    }
                }
                _ => {
                    let place = Place::of(self.workflow, visit.step, taken);
                    self.check_notice(visit, &place, notice);
                }
            }
        }
    }

    fn check_limit(&mut self, visit: &Visit<'_>, place: &Place<'_>, field: &FieldName, limit: i64) {
        let code = FindingCode::LimitExceeded;
        self.note(visit, code, field.to_string(), place.at, || {
            let route = &place.description;
            (
                format!("{route} counts `{field}` beyond its limit of {limit}"),
                format!(
                    "close the transition with `when: {field} < {limit}`, or reset the counter \
                     with `set: {{ {field}: 0 }}`, on this transition or on one that the human \
                     requests before it"
                ),
            )
        });
    }

    fn check_notice(&mut self, visit: &Visit<'_>, place: &Place<'_>, notice: &Notice) {
        let route = &place.description;
        match notice {
            Notice::GateWithoutWorkspace => {
                let code = FindingCode::GateWithoutWorkspace;
                self.note(visit, code, place.key(), place.at, || {
                    (
                        format!(
                            "{route} has a command gate, but no workspace is held to run it in"
                        ),
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
                        format!("{route} runs `{label}` where no workspace is held"),
                        format!(
                            "add `acquire_workspace` before `{label}`; it does nothing if one is \
                             already held"
                        ),
                    )
                });
            }
            Notice::AgentDuplicated { role } => {
                let code = FindingCode::AgentDuplicated;
                let key = format!("{} {role}", place.key());
                self.note(visit, code, key, place.at, || {
                    (
                        format!("{route} starts a second {role} while one is alive"),
                        format!(
                            "if you mean another agent, name it: `role: NAME`; else kill the first \
                             (`kill_session`, or `kill_agent` with `role: {role}`), or send it a \
                             message (`notify_worker`)"
                        ),
                    )
                });
            }
            Notice::AgentEvicted { role } => {
                let code = FindingCode::AgentEvicted;
                let key = format!("{} {role}", place.key());
                let at = place.hook("release_workspace");
                self.note(visit, code, key, at, || {
                    (
                        format!("{route} releases the workspace while the {role} is alive in it"),
                        String::from("put `kill_session` before `release_workspace`"),
                    )
                });
            }
            Notice::RecipientMissing { role } => {
                let code = FindingCode::RecipientMissing;
                let at = place.hook("notify_worker");
                let to = &visit.outcome.task.status;
                self.note(visit, code, place.key(), at, || {
                    (
                        format!(
                            "{route} sends the {role} a message, but the {role} may not be running"
                        ),
                        format!(
                            "give `{to}` a `respawn` for the {role}, so that it is started if it \
                             is not running"
                        ),
                    )
                });
            }
            Notice::EdgeTaken { .. } | Notice::FieldIncremented { .. } => {}
        }
    }

    /// The findings, each with its story.
    pub(super) fn into_findings(self, explored: &Exploration) -> Vec<Finding> {
        let workflow = self.workflow;
        let mut roots: BTreeSet<Status> = BTreeSet::new();
        let mut unanswered_starts = Vec::new();
        let mut findings = Vec::new();
        let mut found: Vec<_> = self.found.into_iter().collect();
        // The lower a situation's number, the closer it is to the creation of the task.
        found.sort_by_key(|(_, incident)| incident.node);
        for ((code, _), incident) in found {
            let path = incident.node.map(|node| explored.path_to(node));
            let path = path.unwrap_or_default().into_iter();
            let mut steps: Vec<Step> = path.map(|step| explored.steps[step].clone()).collect();
            steps.push(incident.step);
            let story = Story::from_steps(workflow, steps);
            let finding = Finding::new(code, incident.at, incident.message, incident.hint);
            let lacks_workspace = code == FindingCode::HookWithoutWorkspace;
            match failed_effect(&story).filter(|_| lacks_workspace) {
                None if code == FindingCode::StartFailureUnhandled => {
                    unanswered_starts.push(finding.with_story(story));
                }
                None => findings.push(finding.with_story(story)),
                // A failed effect that no edge handles is one finding, whatever follows.
                Some((label, status)) => {
                    if roots.insert(status.clone()) {
                        findings.push(
                            unhandled_start_failure(workflow, finding, label, &status)
                                .with_story(story),
                        );
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
    let mut steps = story.played_steps.iter().zip(&story.steps);
    steps.find_map(|(step, shown)| {
        let failure = step.failure.as_ref()?;
        Some((failure.label, shown.status.clone()))
    })
}

fn unhandled_start_failure(
    workflow: &Workflow,
    finding: Finding,
    label: &str,
    status: &Status,
) -> Finding {
    Finding {
        at: workflow.state(status).map(|state| state.at),
        message: format!(
            "when `{label}` fails while the task enters `{status}`, the task stays there without \
             a workspace, and later {}",
            finding.message
        ),
        hint: if START_EFFECTS.contains(&label) {
            format!(
                "{}; or add `acquire_workspace` before the hooks that need it; it does nothing if \
                 one is already held",
                start_failure_hint(workflow, status)
            )
        } else {
            format!("give `{label}` `on_error: continue`, or put it after `acquire_workspace`")
        },
        ..finding
    }
}

/// The effects whose failure triggers `spawn_failed`.
pub(super) const START_EFFECTS: [&str; 4] = [
    "acquire_workspace",
    "spawn_agent",
    "spawn_reviewer",
    "run_headless",
];

/// The edge that would handle a failed start.
pub(super) fn start_failure_hint(workflow: &Workflow, status: &Status) -> String {
    let queued = workflow
        .states
        .iter()
        .find(|state| state.kind == Kind::Queued);
    let to = queued.map_or("STATE", |state| state.name.as_str());
    format!(
        "handle it: `- {{ from: {status}, to: {to}, trigger: spawn_failed, set: {{ \
         spawn_failures: increment }}, hooks: [kill_session, release_workspace] }}`, and let the \
         engine start only while `spawn_failures < 3`"
    )
}
