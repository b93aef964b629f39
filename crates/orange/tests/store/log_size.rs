//! The write-ahead log stays short, whichever processes commit and read.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself again, because only a process of its own forgets the log's state"
)]

use std::fs;
use std::process::{Command, Stdio};
use std::thread;

use orange_config::Home;
use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_store::{Commit, CommitOutcome, Store};
use rusqlite::Connection;

use crate::sandbox::{RecordedTask, Sandbox, home_at, instant, minimal, nudge};

const COMMITS: usize = 300;

/// The size of 200 frames, plus one more commit.
const LONGEST: u64 = 1024 * 1024;

fn log_length(home: &Home) -> u64 {
    let log = format!("{}-wal", home.database().display());
    fs::metadata(log).map_or(0, |log| log.len())
}

/// One commit by a process that exits after it.
fn commit_elsewhere(home: &Home) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "log_size::commits_by_separate_processes_keep_the_log_short",
            "--exact",
        ])
        .arg(format!("home={}", home.path().display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

fn home_argument() -> Option<Home> {
    let home = std::env::args().find_map(|word| word.strip_prefix("home=").map(str::to_owned));
    home.map(|home| home_at(home.as_ref()))
}

fn commit_once(home: &Home) {
    let (mut store, task) = (Store::open(home).unwrap(), TaskId::new("k3f9"));
    loop {
        let version = store.require(&task).unwrap().task.version;
        let event = Event {
            version: version + 1,
            at: instant(9),
            fact: Fact::AttentionRaised {
                reason: format!("version {version}"),
            },
        };
        let recorded = store.record(&Commit {
            task: &task,
            version,
            events: &[event],
            document: None,
            reserve: None,
            limits: None,
            workflow_text: None,
        });
        if matches!(recorded.unwrap(), CommitOutcome::Recorded(_)) {
            return;
        }
    }
}

fn prepare() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    RecordedTask::begin(&mut sandbox.store(), &minimal());
    sandbox
}

#[test]
fn commits_by_separate_processes_keep_the_log_short() {
    // Started again by `commit_elsewhere`, with the home as a further argument.
    if let Some(home) = home_argument() {
        return commit_once(&home);
    }
    let sandbox = prepare();
    let mut longest = 0;
    for _ in 0..COMMITS {
        commit_elsewhere(&sandbox.home);
        longest = longest.max(log_length(&sandbox.home));
    }
    assert!(longest < LONGEST, "{longest} bytes");
    let task = sandbox.store().require(&TaskId::new("k3f9")).unwrap().task;
    assert_eq!(task.version, 2 + COMMITS as u64);
}

#[test]
fn a_long_log_is_truncated_by_the_next_commit() {
    let sandbox = prepare();
    {
        let mut store = sandbox.store();
        // An old reader keeps the log from being truncated, and a commit does not wait for it.
        let reader = Connection::open(sandbox.home.database()).unwrap();
        reader
            .execute_batch("BEGIN; SELECT count(*) FROM tasks;")
            .unwrap();
        while log_length(&sandbox.home) < 2 * LONGEST {
            nudge(&mut store, &TaskId::new("k3f9"));
        }
    }
    commit_elsewhere(&sandbox.home);
    assert!(log_length(&sandbox.home) < LONGEST);
}

#[test]
fn readers_and_writers_at_once_keep_the_log_short() {
    let sandbox = prepare();
    let home = &sandbox.home;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..COMMITS / 6 {
                    commit_elsewhere(home);
                    let reader = Store::open_read_only(home).unwrap();
                    assert!(reader.load(&TaskId::new("k3f9")).unwrap().is_some());
                }
            });
        }
    });
    commit_elsewhere(home);
    assert!(log_length(home) < LONGEST, "{} bytes", log_length(home));
}
