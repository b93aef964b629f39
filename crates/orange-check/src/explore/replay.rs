//! Plays steps through `decide` and `apply`, including effects.

use orange_engine::apply::{fold, task_from_first_event};
use orange_engine::decide::{create, decide};
use orange_engine::decision::Decision;
use orange_engine::delegation::ChildMerge;
use orange_engine::document::Document;
use orange_engine::effect::{Effect, EffectOutcome};
use orange_engine::event::Event;
use orange_engine::forge::pull_request::{ConcernKind, PullRequestConcern, PullRequestReading};
use orange_engine::input::{
    Cause, DecisionContext, Facts, Input, NewTask, Observation, Request, RequestKind,
};
use orange_engine::language::Workflow;
use orange_engine::language::gates::PullRequestState;
use orange_engine::language::verbs::Verb;
use orange_engine::merge_result::MergeResult;
use orange_engine::names::{
    BranchName, CommitId, FreshId, HarnessName, ProjectName, RunId, Status, TaskId, WorkspaceName,
};
use orange_engine::refusal::Refusal;
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::task::{AgentSettings, PendingState, Queueing, Task};
use orange_engine::time::Timestamp;

use super::artifact;
use super::notice::{self, Notice};
use super::situation::{child, pull_request};
use super::step::{Occurrence, PullRequestEvent, Step};

/// Why a step leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefusal {
    /// It was refused.
    #[error(transparent)]
    Refusal(Box<Refusal>),
    /// Nothing follows from it.
    #[error("nothing follows from it")]
    NoEffect,
}

/// The result of a step.
#[derive(Clone, Debug)]
pub struct StepOutcome {
    /// The task after all effects.
    pub task: Task,
    /// Everything that was recorded.
    pub events: Vec<Event>,
    /// The inputs that reported the results of effects; those of the step itself are not included.
    pub reports: Vec<Input>,
    /// What was noticed along the way.
    pub notices: Vec<Notice>,
}

/// A task that is played step by step.
#[derive(Clone, Debug)]
pub struct Replay<'w> {
    workflow: &'w Workflow,
    /// The task, once it has begun.
    pub task: Option<Task>,
    /// Every input of `decide` so far.
    pub inputs: Vec<Input>,
    number: usize,
}

impl<'w> Replay<'w> {
    /// Before the first step.
    pub fn new(workflow: &'w Workflow) -> Replay<'w> {
        Replay {
            workflow,
            task: None,
            inputs: Vec::new(),
            number: 0,
        }
    }

    /// Takes a step and returns its result, or why nothing came of it.
    pub fn take(&mut self, step: &Step) -> Result<StepOutcome, StepRefusal> {
        self.number += 1;
        let (inputs, played) = match &self.task {
            None => {
                let (new, context) = new_task_of(step).ok_or(StepRefusal::NoEffect)?;
                let played = begin(self.workflow, &new, &context, failing_effect(step))?;
                (Vec::new(), played)
            }
            Some(task) => {
                let inputs = inputs(self.workflow, task, step, self.number);
                let played = play(self.workflow, task, &inputs, failing_effect(step))?;
                (inputs, played)
            }
        };
        self.inputs.extend(inputs);
        self.inputs.extend(played.reports.iter().cloned());
        self.task = Some(played.task.clone());
        Ok(played)
    }
}

pub(super) fn failing_effect(step: &Step) -> Option<usize> {
    step.failure.as_ref().map(|failure| failure.index)
}

/// The new task that a creation step asks for, and the context in which that is decided; `None` for
/// any other step.
pub fn new_task_of(step: &Step) -> Option<(NewTask, DecisionContext)> {
    let Occurrence::Create { entry, summary } = &step.occurrence else {
        return None;
    };
    let new = NewTask {
        id: TaskId::new("task"),
        project: ProjectName::new("project"),
        by: Role::Human,
        status: Some(entry.clone()),
        summary: "x".repeat(*summary),
        branch: BranchName::new("branch"),
        harness: HarnessName::new("harness"),
        review_harness: HarnessName::new("harness"),
        agent_settings: AgentSettings::default(),
        routing: Routing::default(),
        queueing: Queueing::default(),
        issue: None,
        job: None,
        pull_request: None,
    };
    let context = DecisionContext {
        at: Timestamp::from_millis(0),
        fresh: FreshId::new("run 0"),
        document: None,
        facts: Facts::default(),
    };
    Some((new, context))
}

pub(super) fn begin(
    workflow: &Workflow,
    new: &NewTask,
    context: &DecisionContext,
    failing_effect: Option<usize>,
) -> Result<StepOutcome, StepRefusal> {
    match create(workflow, new, context) {
        Decision::Plan(plan) => {
            let mut events = plan.events.into_iter();
            let first = events.next().ok_or(StepRefusal::NoEffect)?;
            let mut played = StepOutcome {
                task: task_from_first_event(&first).ok_or(StepRefusal::NoEffect)?,
                events: vec![first],
                reports: Vec::new(),
                notices: Vec::new(),
            };
            record(workflow, &mut played, events);
            settle(workflow, &mut played, failing_effect);
            Ok(played)
        }
        Decision::Refusal(refusal) => Err(StepRefusal::Refusal(Box::new(refusal))),
        Decision::Needs(_) => Err(StepRefusal::NoEffect),
    }
}

/// The inputs that make up a step of a settled task.
pub(super) fn inputs(workflow: &Workflow, task: &Task, step: &Step, number: usize) -> Vec<Input> {
    let Some(cause) = cause(task, &step.occurrence, number) else {
        return Vec::new();
    };
    let timeout = workflow
        .state(&task.status)
        .and_then(|state| state.timeout.as_ref());
    let lasted = match (&step.occurrence, timeout) {
        (Occurrence::TimeOut, Some(timeout)) => timeout.after,
        _ => 1,
    };
    let lasted = i64::try_from(lasted)
        .unwrap_or(i64::MAX)
        .saturating_mul(1000);
    let mut facts = artifact::facts(workflow, &step.evidence, task.entered.version);
    for run in task.runs.values() {
        facts.reports.insert(run.id.clone(), None);
    }
    if step.occurrence.has_another_error()
        && let Some(git) = &mut facts.git
    {
        // It has worked, so it is not the same error as one that changed nothing.
        git.head = CommitId::new("another head");
    }
    let context = DecisionContext {
        at: Timestamp::from_millis(task.entered.at.millis().saturating_add(lasted)),
        fresh: FreshId::new(format!("run {number}")),
        document: artifact::document(&step.evidence, number),
        facts,
    };
    let submission = step.evidence.submitted_by.clone().map(|by| Input {
        context: context.clone(),
        cause: Cause::Observation(Observation::DocumentRead {
            by,
            is_request: true,
        }),
    });
    let input = Input { context, cause };
    submission.into_iter().chain([input]).collect()
}

fn cause(task: &Task, occurrence: &Occurrence, number: usize) -> Option<Cause> {
    let request = |by: &Role, kind: RequestKind| {
        Cause::Request(Request {
            by: by.clone(),
            kind,
            is_confirmed: true,
            message: None,
            head: None,
            if_version: None,
        })
    };
    let run_of = |role: &Role| -> Option<RunId> {
        let run = task.runs.get(role)?;
        run.state.is_live().then(|| run.id.clone())
    };
    let open_child = || {
        let mut children = task.children.iter();
        let open = children.find(|(_, end)| end.is_none());
        open.map(|(child, _)| child.clone())
    };
    Some(match occurrence {
        Occurrence::Create { .. } => return None,
        Occurrence::Request { by, to } => request(by, RequestKind::Move { to: to.clone() }),
        Occurrence::Merge { by } => request(by, RequestKind::Verb(Verb::Merge)),
        Occurrence::Respawn { role } => {
            let role = Some(role.clone());
            request(&Role::Human, RequestKind::Respawn { role })
        }
        Occurrence::Summarize { length } => request(
            &Role::Human,
            RequestKind::Amend {
                summary: Some("x".repeat(*length)),
                branch: None,
                priority: None,
                to: None,
            },
        ),
        Occurrence::Die { role, evidence } => Cause::Observation(Observation::RunEnded {
            run: run_of(role)?,
            evidence: evidence.clone(),
            output_line: None,
        }),
        Occurrence::Report { role, report } => Cause::Observation(Observation::ReportArrived {
            run: run_of(role)?,
            report: report.as_ref().clone(),
        }),
        Occurrence::Write { by } => Cause::Observation(Observation::DocumentRead {
            by: by.clone(),
            is_request: false,
        }),
        Occurrence::TimeOut => Cause::Observation(Observation::TimedOut),
        Occurrence::OpenPullRequest => {
            let draft = None;
            request(&Role::Human, RequestKind::OpenPullRequest { draft })
        }
        Occurrence::PullRequest(event) => {
            Cause::Observation(Observation::PullRequest(reading(*event, number)))
        }
        Occurrence::MergedOutside => Cause::Observation(Observation::Merged {
            commit: CommitId::new("commit"),
        }),
        Occurrence::AddChild => Cause::Observation(Observation::ChildAdded {
            child: child(i64::try_from(task.children.len()).unwrap_or(i64::MAX)),
        }),
        Occurrence::EndChild => Cause::Observation(Observation::ChildEnded {
            child: open_child()?,
            status: Status::new("ended"),
        }),
    })
}

/// What the forge reports. `number` makes it differ from what was already reacted to; failing
/// checks have already been run again.
fn reading(event: PullRequestEvent, number: usize) -> PullRequestReading {
    let (state, kind) = match event {
        PullRequestEvent::Merged => (PullRequestState::Merged, None),
        PullRequestEvent::Closed => (PullRequestState::Closed, None),
        PullRequestEvent::Failing => {
            let failing = ConcernKind::Failing {
                checks: Vec::new(),
                can_rerun: false,
            };
            (PullRequestState::Open, Some(failing))
        }
        PullRequestEvent::Conflicting => (PullRequestState::Open, Some(ConcernKind::Conflicting)),
        PullRequestEvent::Feedback => {
            let points = Vec::new();
            (
                PullRequestState::Open,
                Some(ConcernKind::Feedback { points }),
            )
        }
        PullRequestEvent::Ready => (PullRequestState::Open, Some(ConcernKind::Settled)),
    };
    PullRequestReading {
        link: pull_request(),
        head: CommitId::new("head"),
        state,
        is_branch_gone: false,
        concern: kind.map(|kind| PullRequestConcern {
            kind,
            details: vec![number.to_string()],
            file: None,
        }),
    }
}

/// Decides the inputs one after the other, then performs every effect.
pub(super) fn play(
    workflow: &Workflow,
    task: &Task,
    inputs: &[Input],
    failing_effect: Option<usize>,
) -> Result<StepOutcome, StepRefusal> {
    let mut played = StepOutcome {
        task: task.clone(),
        events: Vec::new(),
        reports: Vec::new(),
        notices: Vec::new(),
    };
    for input in inputs {
        match decide(workflow, &played.task, input) {
            Decision::Plan(plan) => record(workflow, &mut played, plan.events),
            Decision::Refusal(refusal) => return Err(StepRefusal::Refusal(Box::new(refusal))),
            Decision::Needs(_) => return Err(StepRefusal::NoEffect),
        }
    }
    if played.events.is_empty() {
        return Err(StepRefusal::NoEffect);
    }
    settle(workflow, &mut played, failing_effect);
    Ok(played)
}

fn record(workflow: &Workflow, played: &mut StepOutcome, events: impl IntoIterator<Item = Event>) {
    for event in events {
        notice::notice(workflow, &played.task, &event, &mut played.notices);
        fold(&mut played.task, &event);
        played.events.push(event);
    }
}

/// Lets every pending effect succeed, except the one that is to fail, if any.
fn settle(workflow: &Workflow, played: &mut StepOutcome, failing_effect: Option<usize>) {
    let mut index = 0;
    loop {
        let mut pending = played.task.pending.iter();
        let Some(next) = pending.find(|pending| pending.state == PendingState::Waiting) else {
            return;
        };
        let effect = next.planned.id;
        let observation = if failing_effect == Some(index) {
            let error = String::from("it failed");
            Observation::EffectFailed {
                effect,
                error,
                feedback: None,
            }
        } else {
            let outcome = outcome(&played.task, &next.planned.effect);
            Observation::EffectDone { effect, outcome }
        };
        index += 1;
        if !report(workflow, played, observation) {
            return;
        }
    }
}

/// What a performer would report for an effect that succeeds.
fn outcome(task: &Task, effect: &Effect) -> EffectOutcome {
    match effect {
        Effect::AcquireWorkspace { .. } => EffectOutcome::Bound(WorkspaceName::new("workspace")),
        Effect::NotifyRole(notify)
            if !task.is_live(&notify.role) && notify.spawn_if_absent.is_some() =>
        {
            EffectOutcome::SpawnedInstead
        }
        Effect::Merge(merge) => EffectOutcome::Merged(MergeResult::from_commit(merge.head.clone())),
        Effect::CreatePr(_) => EffectOutcome::PullRequest(pull_request()),
        Effect::Route => EffectOutcome::Chosen(Box::new(task.default_choice())),
        Effect::CreateChildren { delegations } => {
            let first = task.children.len();
            let numbers = first..first + delegations.len();
            let numbers = numbers.filter_map(|number| i64::try_from(number).ok());
            EffectOutcome::Children(numbers.map(child).collect())
        }
        Effect::MergeChildren { children } => {
            let merged = children.iter().map(|it| (it.clone(), ChildMerge::Merged));
            EffectOutcome::ChildrenMerged(merged.collect())
        }
        _ => EffectOutcome::Done,
    }
}

/// Decides on the result of an effect, and returns whether anything was recorded. A transition that
/// follows may need the document.
fn report(workflow: &Workflow, played: &mut StepOutcome, observation: Observation) -> bool {
    let mut input = Input {
        context: DecisionContext {
            at: played.task.entered.at,
            fresh: FreshId::new("run of an effect"),
            document: None,
            facts: Facts {
                entered: played.task.entered.version,
                ..Facts::default()
            },
        },
        cause: Cause::Observation(observation),
    };
    let mut decision = decide(workflow, &played.task, &input);
    if matches!(decision, Decision::Needs(_)) {
        input.context.document = Document::parse(b"").ok();
        decision = decide(workflow, &played.task, &input);
    }
    let Decision::Plan(plan) = decision else {
        return false;
    };
    let has_events = !plan.events.is_empty();
    record(workflow, played, plan.events);
    played.reports.push(input);
    has_events
}
