//! How long one ordinary decision takes: `decide` and `apply` for `working -> agent-review`.
//!
//! Run with `cargo bench -p orange-engine`; it fails when the median is not under 50 µs.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::expect_used,
    reason = "a benchmark measures time and prints what it measured"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use orange_engine::document::Document;
use orange_engine::event::{Event, Fact, StatusChange};
use orange_engine::input::{Cause, DecisionContext, Facts, Input, NewTask, Request, RequestKind};
use orange_engine::language::workflow::Trigger;
use orange_engine::names::{BranchName, FreshId, HarnessName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::time::Timestamp;
use orange_engine::{
    Decision, Task, Workflow, apply, create, decide, load, replay, shipped_workflows,
};

const ROUNDS: usize = 20_000;
const LIMIT: Duration = Duration::from_micros(50);

fn main() {
    let source = shipped_workflows::find("default")
        .expect("it is shipped")
        .source;
    let workflow = load(source).into_result().expect("it loads");
    let task = working_task(&workflow);
    let input = Input {
        context: known(Some(document())),
        cause: Cause::Request(Request::new(
            Role::Worker,
            RequestKind::Move {
                to: Status::new("agent-review"),
            },
        )),
    };
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| once(&workflow, &task, &input))
        .collect();
    times.sort_unstable();
    let (median, p99) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
    println!(
        "decide + apply, working -> agent-review: median {median:?}, p99 {p99:?}, {ROUNDS} rounds"
    );
    assert!(
        median < LIMIT,
        "the median {median:?} is not under {LIMIT:?}"
    );
}

fn once(workflow: &Workflow, task: &Task, input: &Input) -> Duration {
    let start = Instant::now();
    let Decision::Plan(plan) = decide(black_box(workflow), black_box(task), black_box(input))
    else {
        panic!("the transition is open")
    };
    let mut task = task.clone();
    for event in &plan.events {
        task = apply(task, event);
    }
    let taken = start.elapsed();
    assert_eq!(black_box(task).status.as_str(), "agent-review");
    taken
}

fn document() -> Document {
    let text = "---\nid: k3f9\nstatus: working\nversion: 12\n---\n\n## Plan\n\nAPPROACH: small steps\n\
                TOUCHING: src\n\n## Handoff\n\nDONE: all of it\nUNCERTAIN: the name\n";
    Document::parse(text.as_bytes()).expect("it is a document")
}

fn known(document: Option<Document>) -> DecisionContext {
    DecisionContext {
        at: Timestamp::from_millis(1_794_705_630_405),
        fresh: FreshId::new("r7k2q"),
        document,
        facts: Facts::default(),
    }
}

fn working_task(workflow: &Workflow) -> Task {
    let new = NewTask {
        id: TaskId::new("k3f9"),
        project: ProjectName::new("coffee"),
        by: Role::Human,
        status: None,
        summary: String::from("Add a thing"),
        branch: BranchName::new("add-a-thing"),
        harness: HarnessName::new("claude"),
        review_harness: HarnessName::new("codex"),
        agent_settings: orange_engine::task::AgentSettings::default(),
        routing: Routing::default(),
        queueing: orange_engine::task::Queueing::default(),
        issue: None,
        job: None,
        pull_request: None,
    };
    let Decision::Plan(plan) = create(workflow, &new, &known(None)) else {
        panic!("a task can be created")
    };
    let task = replay(&plan.events).expect("a plan is a history");
    let event = Event {
        version: task.version + 1,
        at: Timestamp::from_millis(0),
        fact: Fact::StatusChanged(StatusChange {
            from: task.status.clone(),
            to: Status::new("working"),
            trigger: Trigger::Request,
            by: Role::Worker,
            evidence: Vec::new(),
            message: None,
            keeps_messages: false,
            submission: None,
        }),
    };
    apply(task, &event)
}
