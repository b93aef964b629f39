//! What polling costs, counted at the forge. Time is an argument, so an hour takes seconds.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use orange_config::clock::{self, Stopwatch};
use orange_driver::supervisor::poller::ForgePoller;
use orange_engine::document::{Document, FieldValue};
use orange_engine::forge::pull_request::PullRequestLink;
use orange_engine::input::{DecisionContext, Facts, NewTask};
use orange_engine::language::load;
use orange_engine::names::{BranchName, FreshId, HarnessName, ProjectName, TaskId};
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::task::{AgentSettings, Queueing};
use orange_engine::time::Timestamp;
use orange_engine::{Decision, create};
use orange_store::{Creation, Store};
use scripted_forge::Resource;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, wait_for};

pub(super) fn later(then: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_millis(then.millis() + seconds * 1000)
}

/// Creates tasks for these pull requests, straight in the store: the program would take minutes.
fn create_tasks(it: &ForgeStage, links: impl IntoIterator<Item = (u64, String)>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workflows/minimal.yml");
    let workflow_text = fs::read_to_string(path).unwrap();
    let workflow = load(&workflow_text).workflow.unwrap();
    let mut store = Store::open(&it.stage.home()).unwrap();
    for (number, node) in links {
        let id = TaskId::new(format!("t{number}"));
        let field = ("id", FieldValue::Text(id.to_string()));
        let document = Document::parse(b"").unwrap().with_fields(&[field]);
        let new = NewTask {
            id,
            project: ProjectName::new("app"),
            by: Role::Human,
            status: None,
            summary: format!("Task {number}"),
            branch: BranchName::new(format!("t-{number}")),
            harness: HarnessName::new("script"),
            review_harness: HarnessName::new("script"),
            agent_settings: AgentSettings::default(),
            routing: Routing::default(),
            queueing: Queueing::default(),
            issue: None,
            job: None,
            pull_request: Some(PullRequestLink {
                number,
                id: node,
                url: format!("https://github.com/{REPOSITORY}/pull/{number}"),
                is_outside: false,
            }),
        };
        let context = DecisionContext {
            at: clock::now(),
            fresh: FreshId::new(format!("fresh-{number}")),
            document: Some(document.clone()),
            facts: Facts::default(),
        };
        let Decision::Plan(plan) = create(&workflow, &new, &context) else {
            panic!("task {number} was not created");
        };
        let creation = Creation {
            events: &plan.events,
            workflow_text: &workflow_text,
            document: Some(&document),
            issue_text: None,
        };
        store.create(&creation).unwrap();
    }
}

/// Tasks whose pull requests are open, with a check that runs, so that all are looked at often.
pub(super) fn open_tasks(it: &ForgeStage, count: u64) {
    it.forge.unknown_reads(0);
    it.forge.set_remaining("ada", Resource::Graphql, 1_000_000);
    let numbers = it.forge.many_pulls(REPOSITORY, count);
    it.forge.check(REPOSITORY, numbers[0], "test", None);
    let ids = it.forge.node_ids(REPOSITORY, &numbers);
    create_tasks(it, numbers.into_iter().zip(ids));
}

/// A poller that has read everything once, and when.
pub(super) fn warm_poller(it: &ForgeStage) -> (ForgePoller, Timestamp) {
    let mut poller = ForgePoller::new(it.stage.driver());
    let start = clock::now();
    assert!(poller.is_due(start));
    poller.round(start).unwrap();
    (poller, start)
}

/// How many requests a round makes in which nothing is new.
pub(super) fn requests_per_round(
    it: &ForgeStage,
    poller: &mut ForgePoller,
    at: Timestamp,
) -> usize {
    let (calls, sequence) = (it.forge.calls().len(), it.stage.store().sequence().unwrap());
    assert!(poller.is_due(at), "it is time for the next look");
    poller.round(at).unwrap();
    assert_eq!(it.stage.store().sequence().unwrap(), sequence, "no write");
    it.forge.calls().len() - calls
}

#[test]
fn fifty_pull_requests_are_one_request() {
    let it = ForgeStage::in_memory("minimal");
    open_tasks(&it, 50);
    let (mut poller, start) = warm_poller(&it);
    assert_eq!(requests_per_round(&it, &mut poller, later(start, 61)), 1);
}

#[test]
#[ignore = "takes two minutes; `.ci/long` runs it"]
fn an_unchanged_hour_of_five_hundred_costs_little_and_writes_nothing() {
    let it = ForgeStage::in_memory("minimal");
    open_tasks(&it, 500);
    let (mut poller, start) = warm_poller(&it);
    it.forge.set_remaining("ada", Resource::Graphql, 5_000);
    let start = later(start, 61);
    assert_eq!(requests_per_round(&it, &mut poller, start), 10);
    let points = it.forge.points();
    let sequence = it.stage.store().sequence().unwrap();
    for step in 1..=360 {
        let now = later(start, step * 10);
        if poller.is_due(now) {
            poller.round(now).unwrap();
        }
    }
    let points = it.forge.points() - points;
    eprintln!("an hour: {points} points");
    assert!(points <= 650, "{points} points");
    assert!(points >= 500, "it was looked at: {points} points");
    assert_eq!(it.stage.store().sequence().unwrap(), sequence, "no write");
}

/// The ids name nothing that the token may see, so no round reads details: only the cheap looks
/// are counted.
#[test]
fn five_thousand_pull_requests_are_a_hundred_requests() {
    let it = ForgeStage::in_memory("minimal");
    it.forge.set_remaining("ada", Resource::Graphql, 1_000_000);
    create_tasks(&it, (1..=5_000).map(|it| (it, format!("PR_absent{it}"))));
    let (mut poller, start) = warm_poller(&it);
    // A round costs a hundred points, so the share of the quota allows one every few minutes.
    assert_eq!(requests_per_round(&it, &mut poller, later(start, 300)), 100);
}

#[test]
fn lesson_53_twenty_processes_that_ask_make_no_request() {
    let it = ForgeStage::new("minimal");
    open_tasks(&it, 50);
    let _supervisor = RunningSupervisor::start(&it.stage);
    let glances = || it.forge.count("nodes");
    wait_for("the first looks", || {
        let seen = it.stage.driver().views.pull_requests().unwrap();
        seen.len() == 50
    });
    let before = (it.forge.calls().len(), glances());
    let asking = ["list", "show", "why"].iter().cycle().take(20);
    let callers: Vec<_> = asking
        .map(|what| {
            let mut arguments = vec!["task", *what];
            let tasks = it.stage.driver().requests.unfinished_tasks(None).unwrap();
            if *what != "list" {
                arguments.push(tasks[0].as_str());
            }
            let mut orange = it.stage.orange(&arguments);
            orange.stdout(Stdio::null()).stderr(Stdio::null());
            orange.spawn().unwrap()
        })
        .collect();
    for mut caller in callers {
        assert!(caller.wait().unwrap().success());
    }
    assert_eq!((it.forge.calls().len(), glances()), before);
}

/// Processor time of a process and its threads, in ticks of 10 ms.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit(") ").next().unwrap();
    let fields: Vec<u64> = rest.split(' ').map(|it| it.parse().unwrap_or(0)).collect();
    fields[11] + fields[12]
}

/// The time of the supervisor alone; on a machine that is busy, it is the same.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes two minutes; `.ci/long` runs it"]
fn watching_five_hundred_takes_little_of_a_core() {
    let it = ForgeStage::in_memory("minimal");
    open_tasks(&it, 500);
    let supervisor = RunningSupervisor::start(&it.stage);
    wait_for("the first looks", || {
        it.stage.driver().views.pull_requests().unwrap().len() == 500
    });
    let mut quiet = ticks(supervisor.pid());
    wait_for("a quiet second", || {
        std::thread::sleep(Duration::from_secs(1));
        let now = ticks(supervisor.pid());
        let was = std::mem::replace(&mut quiet, now);
        now - was <= 1
    });
    let (watch, before) = (Stopwatch::start(), ticks(supervisor.pid()));
    // Longer than a round, so that one is in it.
    std::thread::sleep(Duration::from_secs(65));
    let used = ticks(supervisor.pid()) - before;
    let seconds = watch.elapsed().as_secs_f64();
    let used = f64::from(u32::try_from(used).unwrap()) / 100.0;
    let share = used / seconds * 100.0;
    eprintln!("{used:.2} s of {seconds:.0} s are {share:.2} % of a core");
    // The tests run without optimisation, which takes about five times as long.
    let limit = if cfg!(debug_assertions) { 2.5 } else { 0.5 };
    assert!(share <= limit, "{share:.2} % of a core");
}
