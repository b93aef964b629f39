//! Kills a process between any two steps, and retries.
//!
//! Each test starts itself again as a separate process, which kills itself with SIGKILL at the n-th
//! mark of `steps`. Then the same operation is repeated here, and the result must be the same as
//! after an uninterrupted run. The first process that survives has passed all marks, so their
//! number is known.

#![expect(
    clippy::disallowed_methods,
    reason = "only a process can be killed, so these tests start some"
)]

mod fixture;

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use fixture::Stage;

use crate::steps;

/// An operation to kill, or the preparation for it.
type Operation = fn(&Stage);

/// Kills an operation at every mark, and repeats it.
///
/// Called by a test of this module, with the name of the test for the child process.
fn assert_survives(test: &str, least: usize, prepare: Operation, operation: Operation) {
    if let Some((home, at)) = fixture::child_arguments() {
        let stage = Stage::at(&home);
        steps::arm(at);
        operation(&stage);
        return;
    }
    let reference = Stage::new();
    prepare(&reference);
    operation(&reference);
    let expected = reference.state();
    for at in 0.. {
        let stage = Stage::new();
        prepare(&stage);
        let status = Command::new(std::env::current_exe().unwrap())
            .args([&format!("tests::{test}"), "--exact", "--nocapture"])
            .args(fixture::format_child_arguments(&stage, at))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        if status.success() {
            assert_eq!(stage.state(), expected, "no kill happened");
            assert!(at >= least, "only {at} marks were reached");
            return;
        }
        assert_eq!(status.signal(), Some(9), "the child failed at mark {at}");
        stage.hold_words();
        operation(&stage);
        assert_eq!(stage.state(), expected, "killed at mark {at}");
    }
}

fn nothing(_: &Stage) {}

#[test]
fn creating_survives() {
    assert_survives("creating_survives", 8, nothing, |stage| {
        stage.create();
        stage.project();
    });
}

#[test]
fn recording_and_projecting_survive() {
    let prepare = |stage: &Stage| {
        stage.create();
        stage.project();
    };
    assert_survives("recording_and_projecting_survive", 8, prepare, |stage| {
        stage.record(2);
        stage.project();
    });
}

#[test]
fn binding_survives() {
    let prepare = |stage: &Stage| {
        stage.create();
        stage.project();
    };
    assert_survives("binding_survives", 6, prepare, |stage| {
        stage.bind();
        stage.project();
    });
}

fn bound(stage: &Stage) {
    stage.create();
    stage.project();
    stage.bind();
    stage.append("in the worktree\n");
}

#[test]
fn projecting_into_a_worktree_survives() {
    assert_survives("projecting_into_a_worktree_survives", 8, bound, |stage| {
        stage.record(2);
        stage.project();
    });
}

/// A process that waits for the lock of the files writes what is recorded by then, not what was
/// recorded when it began to wait.
#[test]
fn a_projection_that_had_to_wait_writes_the_newest_state() {
    let stage = Stage::new();
    bound(&stage);
    let lock = stage.lock_files();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| stage.project());
        // It has begun to wait by now; if not, the test proves nothing, but does not fail.
        std::thread::sleep(std::time::Duration::from_millis(300));
        stage.record(2);
        drop(lock);
        late.join().unwrap();
    });
    let text = std::fs::read_to_string(stage.inside()).unwrap();
    assert!(text.contains("version: 3\n"), "{text}");
    assert!(text.contains("attention: look\n"), "{text}");
}

#[test]
fn releasing_survives() {
    assert_survives("releasing_survives", 6, bound, |stage| {
        stage.release();
        stage.project();
    });
}

#[test]
fn importing_what_was_appended_to_a_replaced_file_survives() {
    let prepare = |stage: &Stage| {
        bound(stage);
        let mut agent = stage.open_file();
        stage.record(2);
        stage.project();
        std::io::Write::write_all(&mut agent, b"too late\n").unwrap();
    };
    let test = "importing_what_was_appended_to_a_replaced_file_survives";
    assert_survives(test, 6, prepare, |stage| {
        stage.import();
        stage.project();
    });
}

#[test]
fn importing_existing_text_survives() {
    let prepare = |stage: &Stage| {
        bound(stage);
        let mut agent = stage.open_file();
        stage.record(2);
        stage.project();
        std::io::Write::write_all(&mut agent, b"in the worktree\n").unwrap();
    };
    let test = "importing_existing_text_survives";
    assert_survives(test, 6, prepare, |stage| {
        stage.import();
        stage.project();
        let text = std::fs::read_to_string(stage.inside()).unwrap();
        assert_eq!(text.matches("in the worktree\n").count(), 2, "{text}");
    });
}

#[test]
fn restoring_survives() {
    let prepare = |stage: &Stage| {
        bound(stage);
        std::fs::remove_file(stage.inside()).unwrap();
    };
    assert_survives("restoring_survives", 3, prepare, |stage| {
        stage.import();
        stage.project();
    });
}

#[test]
fn rebuilding_survives() {
    assert_survives("rebuilding_survives", 4, bound, |stage| {
        stage.rebuild();
        stage.project();
    });
}

#[test]
fn another_projection_after_a_death_loses_nothing() {
    let test = "another_projection_after_a_death_loses_nothing";
    if let Some((home, at)) = fixture::child_arguments() {
        let stage = Stage::at(&home);
        steps::arm(at);
        stage.import();
        return;
    }
    for at in 0.. {
        let stage = Stage::new();
        bound(&stage);
        let mut agent = stage.open_file();
        stage.record(2);
        stage.project();
        std::io::Write::write_all(&mut agent, b"too late\n").unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args([&format!("tests::{test}"), "--exact", "--nocapture"])
            .args(fixture::format_child_arguments(&stage, at))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        // A performer records and projects before the next import.
        stage.record(3);
        stage.project();
        let state = format!("{:?}", stage.state());
        assert_eq!(state.matches("too late").count(), 1, "mark {at}: {state}");
        if status.success() {
            assert!(at >= 6, "only {at} marks were reached");
            return;
        }
    }
}
