//! Replays every finding's story through `create`, `decide` and `apply`.

use std::collections::BTreeSet;

use orange_check::check::{Finding, FindingCode, Story};
use orange_check::explore::{Relevance, Replay, Situation, Step, new_task_of, possible_steps};
use orange_engine::decision::Decision;
use orange_engine::document::{SectionHash, SectionName};
use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact};
use orange_engine::input::{Cause, Input, Observation};
use orange_engine::language::gates::GateKind;
use orange_engine::names::Status;
use orange_engine::role::Role;
use orange_engine::task::{PendingState, Task, Workspace};
use orange_engine::{Workflow, apply, create, decide, replay};

/// One replayed step.
struct ReplayedStep {
    before: Option<Task>,
    inputs: Vec<Input>,
    events: Vec<Event>,
    after: Task,
}

/// Replays the steps and asserts that the real task ends up where the search said.
fn replay_steps(workflow: &Workflow, steps: &[Step]) -> Vec<ReplayedStep> {
    let mut playing = Replay::new(workflow);
    let mut lives: Vec<ReplayedStep> = Vec::new();
    let mut told = 0;
    for step in steps {
        let played = playing.take(step);
        assert!(played.is_ok(), "`{step}` leads nowhere");
        let before = lives.last().map(|lived| lived.after.clone());
        let inputs: Vec<Input> = playing.inputs[told..].to_vec();
        told = playing.inputs.len();
        let mut events = Vec::new();
        let mut after = before.clone().unwrap_or_else(|| {
            let (new, known) = new_task_of(step).unwrap();
            events = planned_events(step, create(workflow, &new, &known));
            replay(&events).unwrap()
        });
        for input in &inputs {
            let more = planned_events(step, decide(workflow, &after, input));
            after = more.iter().fold(after, apply);
            events.extend(more);
        }
        assert_eq!(Some(&after), playing.task.as_ref(), "`{step}`");
        lives.push(ReplayedStep {
            before,
            inputs,
            events,
            after,
        });
    }
    lives
}

fn planned_events(step: &Step, decision: Decision) -> Vec<Event> {
    let Decision::Plan(plan) = decision else {
        panic!("`{step}` is not decided: {decision:#?}")
    };
    plan.events
}

impl ReplayedStep {
    fn statuses(&self) -> impl Iterator<Item = (&Status, &Status)> {
        self.events.iter().filter_map(|event| match &event.fact {
            Fact::StatusChanged(changed) => Some((&changed.from, &changed.to)),
            _ => None,
        })
    }

    fn planned_events(&self) -> impl Iterator<Item = &Effect> {
        self.events.iter().filter_map(|event| match &event.fact {
            Fact::EffectPlanned(planned) => Some(&planned.effect),
            _ => None,
        })
    }

    fn has(&self, test: impl Fn(&Fact) -> bool) -> bool {
        self.events.iter().any(|event| test(&event.fact))
    }

    fn has_failed_effect(&self) -> bool {
        self.has(|fact| matches!(fact, Fact::EffectFailed { .. }))
    }

    /// Whether an effect was planned while the task and the effect satisfied `test`.
    fn has_planned(&self, test: impl Fn(&Task, &Effect) -> bool) -> bool {
        let mut events = self.events.iter();
        let mut task = match &self.before {
            Some(task) => task.clone(),
            None => replay(events.next()).unwrap(),
        };
        events.any(|event| {
            let found = match &event.fact {
                Fact::EffectPlanned(planned) => test(&task, &planned.effect),
                _ => false,
            };
            task = apply(task.clone(), event);
            found
        })
    }

    /// The role that made a request, other than to have the document read.
    fn asker(&self) -> Option<&Role> {
        self.inputs.iter().find_map(|input| match &input.cause {
            Cause::Request(request) => Some(&request.by),
            Cause::Observation(_) => None,
        })
    }

    /// The role that submitted the document before the request.
    fn importer(&self) -> Option<&Role> {
        self.inputs.iter().find_map(|input| match &input.cause {
            Cause::Observation(Observation::DocumentRead {
                by,
                is_request: true,
            }) => Some(by),
            _ => None,
        })
    }
}

fn alive(task: &Task) -> Vec<&Role> {
    let runs = task.runs.iter();
    runs.filter(|(_, run)| run.state.is_live())
        .map(|(role, _)| role)
        .collect()
}

fn is_agent_missing(workflow: &Workflow, task: &Task) -> bool {
    let state = workflow.state(&task.status).unwrap();
    state.expects.iter().any(|role| !task.is_live(role))
}

/// The words of a message in backticks, in order.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// Asserts that a finding's story ends the way the finding says.
pub fn is_true(workflow: &Workflow, finding: &Finding) {
    let Some(story) = &finding.story else {
        return;
    };
    let lives = replay_steps(workflow, &story.played_steps);
    assert_eq!(story.steps.len(), lives.len());
    for (told, lived) in story.steps.iter().zip(&lives) {
        assert_eq!(told.status, lived.after.status);
    }
    let last = lives.last().unwrap();
    let task = &last.after;
    let ended = workflow.is_terminal(&task.status);
    let holds = task.workspace != Workspace::None;
    let there = match finding.code {
        FindingCode::WorkspaceLeaked => ended && holds && !last.has_failed_effect(),
        FindingCode::AgentLeaked => ended && !alive(task).is_empty() && !last.has_failed_effect(),
        FindingCode::FailureLeaksResources => {
            ended && last.has_failed_effect() && (holds || !alive(task).is_empty())
        }
        FindingCode::HookWithoutWorkspace => last.has_planned(|task, effect| {
            let needs = match effect {
                Effect::Spawn(_) | Effect::RunCommand { .. } => true,
                Effect::NotifyRole(notify) => notify.spawn_if_absent.is_some(),
                _ => false,
            };
            needs && !task.workspace.is_held()
        }),
        FindingCode::GateWithoutWorkspace => {
            let before = last.before.as_ref().unwrap();
            let (from, to) = last.statuses().next().unwrap();
            let mut edges = workflow.edges_from(from);
            !before.workspace.is_held()
                && edges.any(|edge| {
                    let mut gates = edge.gates.iter();
                    edge.to.to_string() == to.as_str()
                        && gates.any(|gate| matches!(gate.kind, GateKind::Command(_)))
                })
        }
        FindingCode::AgentEvicted => last.has_planned(|task, effect| {
            let releases = matches!(effect, Effect::ReleaseWorkspace { .. });
            releases && task.workspace != Workspace::None && !alive(task).is_empty()
        }),
        FindingCode::RecipientMissing => last.has_planned(|task, effect| match effect {
            Effect::NotifyRole(notify) => {
                notify.spawn_if_absent.is_none() && !task.is_live(&notify.role)
            }
            _ => false,
        }),
        FindingCode::AgentDuplicated => last.has_planned(|task, effect| match effect {
            Effect::Spawn(spawn) => task.is_live(&spawn.role),
            _ => false,
        }),
        FindingCode::AgentAbsent => {
            !last.has_failed_effect() && !ended && is_agent_missing(workflow, task)
        }
        FindingCode::StartFailureUnhandled => {
            let waits = |state: &PendingState| *state == PendingState::Waiting;
            let mut pending = task.pending.iter().map(|pending| &pending.state);
            last.has_failed_effect() && is_agent_missing(workflow, task) && !pending.any(waits)
        }
        FindingCode::ExitRefused => {
            let died = last.has(|fact| matches!(fact, Fact::RunEnded { .. }));
            died && last.statuses().next().is_none()
        }
        FindingCode::LimitExceeded => exceeds_limit(last, &finding.message),
        FindingCode::SelfReview => is_forged(workflow, last),
        FindingCode::StaleArtifact => is_decided_twice(&lives, &finding.message),
        FindingCode::AgentMayFinish => ended && last.asker().is_some_and(Role::is_agent),
        FindingCode::RequesterKilled => ends_asker(last),
        FindingCode::EndlessLoop => is_cycle(workflow, story),
        FindingCode::EndUnreachable => !reaches_end(workflow, &story.played_steps),
        _ => false,
    };
    assert!(there, "the story does not end in `{}`", finding.message);
}

fn exceeds_limit(last: &ReplayedStep, message: &str) -> bool {
    let field = *quoted(message).last().unwrap();
    let limit = message.rsplit(' ').next().unwrap();
    let limit: i64 = limit.parse().unwrap();
    last.has(
        |fact| matches!(fact, Fact::FieldSet { field: set, value } if set.as_str() == field && *value > limit),
    )
}

/// The task left a status that a judge should have decided, but neither a judge nor the human
/// asked.
fn is_forged(workflow: &Workflow, last: &ReplayedStep) -> bool {
    let (from, _) = last.statuses().next().unwrap();
    let judges = &workflow.state(from).unwrap().expects;
    let judged = |role: &Role| judges.contains(role) || *role == Role::Human;
    let asked = last.asker().or(last.importer());
    let nobody_brought = last.after.sections.values().all(|memory| {
        let mut roles = memory.submitted_by.iter();
        memory.hash.is_none() || !roles.any(judged)
    });
    match asked {
        Some(role) => !judged(role),
        None => nobody_brought,
    }
}

/// The section had the same text the last time the same status was left.
fn is_decided_twice(lives: &[ReplayedStep], message: &str) -> bool {
    let section = quoted(message)
        .into_iter()
        .find_map(|word| SectionName::parse(word).ok())
        .unwrap();
    let left: Vec<(&Status, Option<SectionHash>)> = lives
        .iter()
        .flat_map(|lived| {
            let document = lived.inputs.iter().rev();
            let mut document = document.filter_map(|input| input.context.document.as_ref());
            let hash = document.next().and_then(|document| {
                let section = document.section(&section)?;
                Some(section.hash())
            });
            lived.statuses().map(move |(from, _)| (from, hash))
        })
        .collect();
    let (last, before) = left.split_last().unwrap();
    last.1.is_some() && before.contains(last)
}

fn ends_asker(last: &ReplayedStep) -> bool {
    let before = last.before.as_ref().unwrap();
    let run = &before.runs[last.asker().unwrap()].id;
    let killed = |effect: &Effect| matches!(effect, Effect::Kill(kill) if kill.runs.contains(run));
    last.planned_events().any(killed) && last.statuses().next().is_some()
}

/// Replays the repeating steps fifty times, and each time something changes.
fn is_cycle(workflow: &Workflow, story: &Story) -> bool {
    let (first, again) = story.played_steps.split_at(story.repeats_from.unwrap());
    assert!(again.iter().all(|step| !step.is_by_user()));
    let rounds = (0..50).flat_map(|_| again).cloned();
    let steps: Vec<Step> = first.iter().cloned().chain(rounds).collect();
    let lives = replay_steps(workflow, &steps);
    lives[first.len()..].chunks(again.len()).all(|round| {
        round.iter().any(|lived| {
            let starts = lived
                .planned_events()
                .any(|it| matches!(it, Effect::Spawn(_)));
            starts || lived.statuses().next().is_some()
        })
    })
}

/// Whether the task can still end after these steps, as far as the search looks.
fn reaches_end(workflow: &Workflow, steps: &[Step]) -> bool {
    let relevance = Relevance::of(workflow);
    let mut playing = Replay::new(workflow);
    for step in steps {
        playing.take(step).unwrap();
    }
    let mut seen = BTreeSet::new();
    let mut waiting = vec![playing];
    while let Some(playing) = waiting.pop() {
        let task = playing.task.as_ref().unwrap();
        if workflow.is_terminal(&task.status) {
            return true;
        }
        let situation = Situation::of(task, &relevance);
        if seen.len() > 2_000 || !seen.insert(situation.clone()) {
            continue;
        }
        for step in possible_steps(workflow, &relevance, &situation) {
            let mut next = playing.clone();
            if next.take(&step).is_ok() {
                waiting.push(next);
            }
        }
    }
    false
}
