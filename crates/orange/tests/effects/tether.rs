//! `orange tether`: a program that ends with its caller.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use orange_config::clock::Deadline;

use crate::stage::{SOON, is_running};

const ORANGE: &str = env!("CARGO_BIN_EXE_orange");

#[test]
fn a_tethered_program_ends_with_a_caller_that_is_killed() {
    // The shell is the caller, and its child becomes the program.
    let script = format!("'{ORANGE}' tether $$ -- sleep 1000 & wait");
    let mut caller = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", caller.id());
    let mut program = 0;
    let has_started = Deadline::after(SOON).wait_for(|| {
        let child = fs::read_to_string(&children).unwrap_or_default();
        program = child.trim().parse().unwrap_or(0);
        let name = fs::read_to_string(format!("/proc/{program}/comm"));
        name.is_ok_and(|name| name == "sleep\n")
    });
    assert!(has_started);
    caller.kill().unwrap();
    caller.wait().unwrap();
    let has_ended = Deadline::after(SOON).wait_for(|| !is_running(program));
    assert!(has_ended, "process {program} is left");
}

#[test]
fn nothing_starts_without_the_caller() {
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("started");
    let mut orange = Command::new(ORANGE);
    orange.args(["tether", "1", "--", "touch"]).arg(&mark);
    let output = orange.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(!Path::new(&mark).exists());
}
