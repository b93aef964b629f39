//! A program that outlives its caller.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orange_effects::command::{Invocation, start_detached};
use orange_effects::process;

use crate::stage::{Stage, TIMEOUT, is_running, variables};

/// Parent, group and session ids of a process.
fn process_ids(pid: u32) -> [u32; 3] {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit(')').next().unwrap().to_owned();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    [1, 2, 3].map(|index| fields[index].parse().unwrap())
}

#[test]
fn a_detached_process_has_its_own_session_and_parent() {
    let stage = Stage::new();
    stage.kill_on_drop("r1");
    let run = stage.id("r1");
    let script = format!(
        "tr '\\0' '\\n' </proc/self/environ >{0}/new; mv {0}/new {0}/env; exec sleep 1000",
        stage.root.path().display()
    );
    let program = Invocation::new("sh", variables(&[("ORANGE_RUN_ID", run.as_str())]))
        .arguments(["-c", &script])
        .directory("/");
    let orange = Path::new(env!("CARGO_BIN_EXE_orange"));
    let pid = start_detached(orange, &program).unwrap();
    let environment = String::from_utf8(stage.wait_for_file("env")).unwrap();
    assert!(environment.contains(&format!("ORANGE_RUN_ID={run}")));
    let own = std::process::id();
    let [parent, group, session] = process_ids(pid);
    let [_, our_group, our_session] = process_ids(own);
    assert_ne!(parent, own);
    assert!(group != our_group && session != our_session);
    assert!(is_running(pid));
    let ended = process::end_run_processes(&run, &[], &[], TIMEOUT).unwrap();
    assert_eq!(ended.processes[0].pid, pid);
}

#[test]
fn a_detached_start_that_fails_is_reported() {
    let orange = Path::new(env!("CARGO_BIN_EXE_orange"));
    let program = Invocation::new("no-such-program", variables(&[]));
    let error = start_detached(orange, &program).unwrap_err().to_string();
    assert!(error.contains("the program was not found"), "{error}");
}

/// `^C` reaches the program that detaches as long as it has no session of its own.
#[test]
fn an_interrupted_start_is_repeated() {
    let root = tempfile::tempdir().unwrap();
    let (detacher, mark) = (root.path().join("detacher"), root.path().join("mark"));
    let mark = mark.display();
    let script =
        format!("#!/bin/sh\nif [ -e {mark} ]; then echo 42; else : > {mark}; kill -INT $$; fi\n");
    fs::write(&detacher, script).unwrap();
    fs::set_permissions(&detacher, fs::Permissions::from_mode(0o755)).unwrap();
    let program = Invocation::new("sh", variables(&[]));
    assert_eq!(start_detached(&detacher, &program).unwrap(), 42);
}
