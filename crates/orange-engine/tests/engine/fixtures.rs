//! A task with its world: makes requests, observes, and lets effects succeed.

use std::fmt::Write as _;

use orange_engine::apply::origin;
use orange_engine::decision::Decision;
use orange_engine::delegation::ChildMerge;
use orange_engine::document::Document;
use orange_engine::effect::{Effect, EffectOutcome};
use orange_engine::event::{Event, Fact, StatusChange};
use orange_engine::evidence::Evidence;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{
    ConcernKind, PullRequestConcern, PullRequestLink, PullRequestReading,
};
use orange_engine::input::{
    Cause, DecisionContext, FactNeeded, Facts, GitFacts, Input, NewTask, Observation,
    PullRequestFacts, Request, RequestKind, UncommittedWork,
};
use orange_engine::language::gates::{ChecksState, GitCondition, PullRequestState};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::merge_result::MergeResult;
use orange_engine::names::{
    BranchName, CommitId, FieldName, FreshId, HarnessName, ProjectName, RunId, Status, TaskId,
    WorkspaceName,
};
use orange_engine::refusal::Blocker;
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::task::{AgentSettings, PendingState, Queueing, Task, Workspace};
use orange_engine::time::Timestamp;
use orange_engine::{
    Plan, Refusal, Workflow, apply, create, decide, load, replay, shipped_workflows,
};

pub fn shipped_workflow(name: &str) -> Workflow {
    load_clean(shipped_workflows::find(name).unwrap().source)
}

pub fn load_clean(source: &str) -> Workflow {
    load(source)
        .into_result()
        .unwrap_or_else(|problems| panic!("{problems:#?}"))
}

pub fn status(name: &str) -> Status {
    Status::new(name)
}

pub fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

/// A TASK.md with these sections.
pub fn task_file(sections: &[(&str, &str)]) -> String {
    let mut text = String::from("---\nstatus: x\n---\n\n");
    for (name, content) in sections {
        let _ = writeln!(text, "{name}\n\n{content}\n");
    }
    text
}

pub fn new_task(summary: &str, entry: Option<&str>) -> NewTask {
    NewTask {
        id: TaskId::new("k3f9"),
        project: ProjectName::new("coffee"),
        by: Role::Human,
        status: entry.map(status),
        summary: summary.to_owned(),
        branch: BranchName::new("orange-tasks/k3f9"),
        harness: HarnessName::new("claude"),
        review_harness: HarnessName::new("codex"),
        agent_settings: AgentSettings::default(),
        routing: Routing::default(),
        queueing: Queueing::default(),
        issue: None,
        job: None,
        pull_request: None,
    }
}

/// A task, its history, and the parts of the world that decisions read.
#[derive(Clone)]
pub struct World<'a> {
    pub workflow: &'a Workflow,
    pub task: Task,
    pub events: Vec<Event>,
    pub file: Option<String>,
    pub facts: Facts,
    clock: i64,
}

impl<'a> World<'a> {
    pub fn create(workflow: &'a Workflow, new: &NewTask) -> Result<World<'a>, Refusal> {
        World::create_with(workflow, new, None)
    }

    /// A task created with a TASK.md.
    pub fn create_with(
        workflow: &'a Workflow,
        new: &NewTask,
        file: Option<&str>,
    ) -> Result<World<'a>, Refusal> {
        let mut context = known_at(1_000);
        context.document = file.map(document);
        match create(workflow, new, &context) {
            Decision::Plan(plan) => Ok(World {
                workflow,
                task: replay(&plan.events).unwrap(),
                events: plan.events,
                file: Some(file.map_or_else(|| task_file(&[]), str::to_owned)),
                facts: Facts {
                    git: Some(git_facts(&ALL_HOLD)),
                    ..Facts::default()
                },
                clock: 1_000,
            }),
            Decision::Refusal(refusal) => Err(refusal),
            Decision::Needs(needs) => panic!("creation needs {needs:?}"),
        }
    }

    pub fn begin(workflow: &'a Workflow) -> World<'a> {
        World::create(workflow, &new_task("Add a thing", None)).unwrap()
    }

    /// A settled task placed in a status, with live runs for the roles the status expects.
    pub fn placed(workflow: &'a Workflow, name: &str) -> World<'a> {
        let mut world = World::begin(workflow);
        world.file = None;
        let from = world.task.status.clone();
        if from.as_str() != name {
            world.fact(Fact::StatusChanged(StatusChange {
                from: workflow
                    .states
                    .iter()
                    .find(|state| state.name.as_str() != name)
                    .map_or(from, |state| state.name.clone()),
                to: status(name),
                trigger: Trigger::Request,
                by: Role::Human,
                evidence: Vec::new(),
                message: None,
                keeps_messages: false,
                submission: None,
            }));
        }
        let state = workflow.state(&status(name)).unwrap();
        let queued = state.kind == orange_engine::language::workflow::Kind::Queued;
        let waiting = state.kind == orange_engine::language::workflow::Kind::Waiting;
        if !queued && !waiting && !workflow.is_terminal(&state.name) {
            world.task.workspace = Workspace::Bound(WorkspaceName::new("coffee--1"));
        }
        for role in &state.expects {
            world.task.runs.insert(
                role.clone(),
                orange_engine::task::Run {
                    id: RunId::new(format!("run-{role}")),
                    headless: workflow
                        .edges
                        .iter()
                        .flat_map(|edge| &edge.hooks)
                        .any(|hook| {
                            hook.action
                                .spawn()
                                .is_some_and(|spawn| spawn.role == *role && spawn.headless)
                        }),
                    plans: false,
                    state: orange_engine::task::RunState::Alive,
                },
            );
        }
        world.task.unfinished_plan = None;
        world.file = Some(task_file(&[]));
        world
    }

    /// Records a fact as if it had been decided.
    pub fn fact(&mut self, fact: Fact) {
        self.clock += 1_000;
        let event = Event {
            version: self.task.version + 1,
            at: Timestamp::from_millis(self.clock),
            fact,
        };
        self.task = apply(self.task.clone(), &event);
        self.events.push(event);
    }

    pub fn set(&mut self, field: &str, value: i64) {
        match field {
            "crash_count" => {
                self.task.crash_count = value;
                self.task.crash_count_is_stale = false;
            }
            _ => {
                self.task.fields.insert(FieldName::new(field), value);
            }
        }
    }

    pub fn write(&mut self, sections: &[(&str, &str)]) {
        self.file = Some(task_file(sections));
    }

    /// Imports the file the way a refused request would.
    pub fn import_as(&mut self, by: Role) {
        let plan = self.observe(Observation::DocumentRead {
            by,
            is_request: true,
        });
        assert_eq!(plan.events.len(), 1);
    }

    pub fn context(&mut self) -> DecisionContext {
        self.clock += 1_000;
        let mut decision_context = known_at(self.clock);
        decision_context.fresh = FreshId::new(format!("run{}", self.events.len()));
        decision_context.document = self.file.as_deref().map(document);
        decision_context.facts = self.facts.clone();
        decision_context.facts.entered = self.task.entered.version;
        if self.workflow.is_terminal(&self.task.status) {
            decision_context.facts.origin = origin(&self.events).ok();
        }
        decision_context
    }

    pub fn input(&mut self, cause: Cause) -> Input {
        let context = self.context();
        Input { context, cause }
    }

    pub fn decide(&mut self, cause: Cause) -> Decision {
        let input = self.input(cause);
        decide(self.workflow, &self.task, &input)
    }

    /// Decides, and records the plan's events.
    pub fn step(&mut self, cause: Cause) -> Decision {
        let decision = self.decide(cause);
        if let Decision::Plan(plan) = &decision {
            for event in &plan.events {
                self.task = apply(self.task.clone(), event);
            }
            self.events.extend(plan.events.iter().cloned());
        }
        decision
    }

    pub fn ask(&mut self, by: Role, ask: RequestKind) -> Decision {
        self.step(request(by, ask))
    }

    pub fn move_to(&mut self, by: Role, to: &str) -> Decision {
        self.ask(by, RequestKind::Move { to: status(to) })
    }

    pub fn verb(&mut self, by: Role, verb: Verb) -> Decision {
        self.ask(by, RequestKind::Verb(verb))
    }

    /// A request that must be accepted; its effects then succeed.
    pub fn expect_move(&mut self, by: Role, to: &str) -> Plan {
        let plan = plan_of(self.move_to(by, to));
        assert_eq!(self.task.status.as_str(), to);
        self.settle();
        plan
    }

    pub fn refused(&mut self, by: Role, to: &str) -> Refusal {
        let before = self.task.clone();
        let refusal = refusal_of(self.move_to(by, to));
        assert_eq!(self.task, before);
        refusal
    }

    pub fn observe(&mut self, observation: Observation) -> Plan {
        plan_of(self.step(Cause::Observation(observation)))
    }

    /// All of the worker's changes are committed.
    pub fn commit(&mut self) {
        let holds = GitCondition::ALL.map(|(_, condition)| condition);
        self.facts.git = Some(git_facts(&holds));
    }

    /// Ends the live run of a role, without a report unless there is one already.
    pub fn ends(&mut self, role: &Role, evidence: Evidence) -> Plan {
        let run = self.task.runs[role].id.clone();
        self.facts.reports.entry(run.clone()).or_insert(None);
        self.observe(Observation::RunEnded {
            run,
            evidence,
            output_line: None,
        })
    }

    /// Lets every pending effect succeed, in order.
    pub fn settle(&mut self) {
        while let Some(pending) = self
            .task
            .pending
            .iter()
            .find(|pending| pending.state == PendingState::Waiting)
        {
            let effect = pending.planned.id;
            let outcome = self.outcome_of(&pending.planned.effect.clone());
            self.observe(Observation::EffectDone { effect, outcome });
        }
    }

    pub fn outcome_of(&mut self, effect: &Effect) -> EffectOutcome {
        match effect {
            Effect::AcquireWorkspace { .. } => {
                EffectOutcome::Bound(WorkspaceName::new("coffee--1"))
            }
            Effect::NotifyRole(notify)
                if notify.spawn_if_absent.is_some() && !self.task.is_live(&notify.role) =>
            {
                EffectOutcome::SpawnedInstead
            }
            Effect::ArchiveSection { section } => {
                let archived = self
                    .file
                    .as_deref()
                    .map(|text| document(text).with_section_archived(section));
                self.file = archived.map(|document| document.text().to_owned());
                EffectOutcome::Done
            }
            Effect::Merge(merge) => {
                EffectOutcome::Merged(MergeResult::from_commit(merge.head.clone()))
            }
            Effect::CreatePr(_) => EffectOutcome::PullRequest(pull_request_link()),
            Effect::Route => EffectOutcome::Routed(HarnessName::new("codex")),
            Effect::CreateChildren { delegations } => {
                let children = (0..delegations.len()).map(|n| TaskId::new(format!("child{n}")));
                EffectOutcome::Children(children.collect())
            }
            Effect::MergeChildren { children } => {
                let merged = children.iter().map(|it| (it.clone(), ChildMerge::Merged));
                EffectOutcome::ChildrenMerged(merged.collect())
            }
            _ => EffectOutcome::Done,
        }
    }

    pub fn effects(&self) -> Vec<&'static str> {
        let pending = self.task.pending.iter();
        pending
            .map(|pending| pending.planned.effect.label())
            .collect()
    }
}

pub fn plan_of(decision: Decision) -> Plan {
    match decision {
        Decision::Plan(plan) => plan,
        other => panic!("{other:#?}"),
    }
}

pub fn refusal_of(decision: Decision) -> Refusal {
    match decision {
        Decision::Refusal(refusal) => refusal,
        other => panic!("{other:#?}"),
    }
}

pub fn request(by: Role, ask: RequestKind) -> Cause {
    Cause::Request(Request::new(by, ask))
}

fn known_at(millis: i64) -> DecisionContext {
    DecisionContext {
        at: Timestamp::from_millis(millis),
        fresh: FreshId::new("run0"),
        document: None,
        facts: Facts::default(),
    }
}

/// A branch where every git condition holds.
pub const ALL_HOLD: [GitCondition; 4] = [
    GitCondition::Clean,
    GitCondition::CommitsAhead,
    GitCondition::BranchNotDefault,
    GitCondition::TaskFileUntracked,
];

pub fn git_facts(holds: &[GitCondition]) -> GitFacts {
    GitFacts {
        head: CommitId::new("head"),
        base: CommitId::new("base"),
        met_conditions: holds.to_vec(),
        uncommitted: UncommittedWork::default(),
        named: None,
    }
}

pub fn pull_request_link() -> PullRequestLink {
    PullRequestLink {
        number: 12,
        id: String::from("PR_12"),
        url: String::from("https://github.com/coffee/shop/pull/12"),
        is_outside: false,
    }
}

/// A pull request of the branch's commit about which everything is known, and nothing is open.
pub fn pull_request_facts() -> PullRequestFacts {
    PullRequestFacts {
        state: PullRequestState::Open,
        head: CommitId::new("head"),
        is_draft: false,
        checks: Knowledge::Known(ChecksState::Passing),
        review: Knowledge::None,
        mergeable: Some(true),
        open_threads: Some(0),
    }
}

/// A look at the pull request in a state.
pub fn in_state(state: PullRequestState) -> Observation {
    Observation::PullRequest(PullRequestReading {
        link: pull_request_link(),
        head: CommitId::new("head"),
        state,
        is_branch_gone: false,
        concern: None,
    })
}

/// A look at the open pull request, with what comes first about this head.
pub fn concern(kind: ConcernKind, head: &str, details: &[&str]) -> Observation {
    Observation::PullRequest(PullRequestReading {
        link: pull_request_link(),
        head: CommitId::new(head),
        state: PullRequestState::Open,
        is_branch_gone: false,
        concern: Some(PullRequestConcern {
            kind,
            details: details.iter().map(|it| (*it).to_owned()).collect(),
            file: Some(format!("feedback/{head}.md")),
        }),
    })
}

/// Failing checks that the forge can or cannot run again.
pub fn failing(can_rerun: bool) -> ConcernKind {
    let checks = vec![String::from("build"), String::from("lint")];
    ConcernKind::Failing { checks, can_rerun }
}

pub fn feedback() -> ConcernKind {
    let points = vec![String::from("ada on src/lib.rs:3")];
    ConcernKind::Feedback { points }
}

/// One line for a decision: where it leads, what it changes, what effects it plans.
pub fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Refusal(refusal) => {
            let reasons = refusal.missing.iter().map(shown_missing);
            format!("refused {}", reasons.collect::<Vec<_>>().join(" + "))
        }
        Decision::Needs(needs) => {
            let facts = needs.facts.iter().map(|fact| match fact {
                FactNeeded::Command { command, .. } => command.join(" "),
                other => format!("{other:?}").to_lowercase(),
            });
            format!("needs {}", facts.collect::<Vec<_>>().join(", "))
        }
        Decision::Plan(plan) if plan.is_already_done => String::from("already"),
        Decision::Plan(plan) => shown_plan(plan),
    }
}

/// The text is the same for every role, so that a table can group roles.
fn shown_missing(missing: &Blocker) -> String {
    let code = missing.code();
    match missing {
        Blocker::NotAllowed { by, .. } => {
            let by: Vec<&str> = by.iter().map(Role::as_str).collect();
            format!("{code} (only {})", by.join(", "))
        }
        Blocker::GuardFailed { when, .. } => format!("{code} ({when})"),
        Blocker::GateFailed { failure } => format!("{code} ({failure})"),
        Blocker::NotByRequest { triggers } => format!("{code} ({})", triggers.join(", ")),
        Blocker::ConfirmationNeeded { question } => format!("{code} ({question})"),
        _ => code.to_owned(),
    }
}

pub fn shown_plan(plan: &Plan) -> String {
    let mut parts = Vec::new();
    for event in &plan.events {
        match &event.fact {
            Fact::StatusChanged(changed) => parts.push(format!("-> {}", changed.to)),
            Fact::FieldSet { field, value } => parts.push(format!("{field}={value}")),
            Fact::EffectPlanned(planned) => parts.push(shown_effect(&planned.effect)),
            Fact::EffectCancelled { .. } => parts.push(String::from("cancels")),
            Fact::EffectStopped { .. } => parts.push(String::from("stops")),
            Fact::AgentCrashed { crash_count, .. } => parts.push(format!("crash {crash_count}")),
            Fact::AttentionRaised { reason } => parts.push(format!("attention({reason})")),
            Fact::EditRejected { .. } => parts.push(String::from("edit rejected")),
            Fact::TaskMoved => parts.push(String::from("moved")),
            Fact::MergeStarted { .. } => parts.push(String::from("merge started")),
            Fact::DocumentImported { .. }
            | Fact::HooksFinished
            | Fact::RunEnded { .. }
            | Fact::ErrorRecorded { .. }
            | Fact::AgentRespawned { .. }
            | Fact::EffectDone { .. }
            | Fact::EffectFailed { .. }
            | Fact::MergeObserved { .. }
            | Fact::PullRequestObserved { .. }
            | Fact::PullRequestLinked { .. }
            | Fact::PullRequestReaction { .. }
            | Fact::ReportReceived { .. }
            | Fact::ChildEnded { .. } => {}
            other => parts.push(format!("{other:?}")),
        }
    }
    if parts.is_empty() {
        return String::from("stays");
    }
    parts.join(" ")
}

fn shown_effect(effect: &Effect) -> String {
    let label = effect.label();
    match effect {
        Effect::Spawn(spawn) => {
            let delay = if spawn.delay > 0 {
                format!(" after {}s", spawn.delay)
            } else {
                String::new()
            };
            format!("{label}({} {}{delay})", spawn.window, spawn.harness)
        }
        Effect::ArchiveSection { section } => format!("{label}({section})"),
        Effect::NotifyRole(notify) => match &notify.spawn_if_absent {
            Some(spawn) => format!("{label}(else {})", spawn.window),
            None => label.to_owned(),
        },
        _ => label.to_owned(),
    }
}
