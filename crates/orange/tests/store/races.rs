//! Many writers: one wins each version, the others are stale.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself again, because threads share too much to show a race"
)]

use std::process::{Command, Stdio};
use std::thread;

use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_store::{Commit, CommitOutcome, Store};

use crate::sandbox::{RecordedTask, Sandbox, home_at, instant, minimal};

/// A task is created with two events.
const FIRST: u64 = 3;
const LAST: u64 = 60;

/// Tries to write every version in turn; returns those it wrote.
fn race(store: &mut Store, me: &str) -> Vec<u64> {
    let task = TaskId::new("k3f9");
    let mut won = Vec::new();
    loop {
        let version = store.require(&task).unwrap().task.version;
        if version >= LAST {
            return won;
        }
        let event = Event {
            version: version + 1,
            at: instant(1),
            fact: Fact::AttentionRaised {
                reason: me.to_owned(),
            },
        };
        let commit = Commit {
            task: &task,
            version,
            events: &[event],
            document: None,
            reserve: None,
            limits: None,
            workflow_text: None,
        };
        match store.record(&commit).unwrap() {
            CommitOutcome::Recorded(recorded) => won.push(recorded.task.version),
            CommitOutcome::Stale { version: now } => assert!(now > version),
            CommitOutcome::Taken { .. } | CommitOutcome::HeldBack { .. } => unreachable!(),
        }
    }
}

fn prepare() -> Sandbox {
    let sandbox = Sandbox::new();
    RecordedTask::begin(&mut sandbox.store(), &minimal());
    sandbox
}

fn assert_one_winner_each(sandbox: &Sandbox, mut won: Vec<u64>) {
    won.sort_unstable();
    let expected: Vec<u64> = (FIRST..=LAST).collect();
    assert_eq!(won, expected, "each version is written exactly once");
    let events = sandbox
        .store()
        .events(&TaskId::new("k3f9"), FIRST - 1)
        .unwrap();
    let mut sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    sequences.dedup();
    assert_eq!(sequences.len(), won.len());
}

#[test]
fn one_of_fifty_threads_writes_each_version() {
    let sandbox = prepare();
    let racers: Vec<_> = (0..50)
        .map(|me| {
            let home = sandbox.home.clone();
            thread::spawn(move || race(&mut Store::open(&home).unwrap(), &format!("thread {me}")))
        })
        .collect();
    let won = racers.into_iter().flat_map(|racer| racer.join().unwrap());
    assert_one_winner_each(&sandbox, won.collect());
}

#[test]
fn one_of_fifty_processes_writes_each_version() {
    // Started again below, with the home as a further argument.
    if let Some(home) =
        std::env::args().find_map(|word| word.strip_prefix("home=").map(str::to_owned))
    {
        let mut store = Store::open(&home_at(home.as_ref())).unwrap();
        let me = format!("process {}", std::process::id());
        for version in race(&mut store, &me) {
            println!("won={version}");
        }
        return;
    }
    let sandbox = prepare();
    let children: Vec<_> = (0..50)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args([
                    "races::one_of_fifty_processes_writes_each_version",
                    "--exact",
                    "--nocapture",
                ])
                .arg(format!("home={}", sandbox.home.path().display()))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut won = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers = text
            .split("won=")
            .skip(1)
            .filter_map(|rest| rest.split_whitespace().next());
        won.extend(numbers.map(|number| number.parse::<u64>().unwrap()));
    }
    assert_one_winner_each(&sandbox, won);
}

#[test]
fn many_can_open_a_new_home_together() {
    let sandbox = Sandbox::new();
    let openers: Vec<_> = (0..20)
        .map(|_| {
            let home = sandbox.home.clone();
            thread::spawn(move || Store::open(&home).unwrap().sequence().unwrap())
        })
        .collect();
    for opener in openers {
        assert_eq!(opener.join().unwrap(), 0);
    }
}
