//! The drawing thread never reads the store, tmux, git or files.

use std::fs;

use super::{create_reviewed_task, open, process};
use crate::support::{Stage, wait_for};

/// How many reads the drawing thread has made, by the kernel's own count.
fn reads(process: u32) -> u64 {
    let output = fs::read_to_string(format!("/proc/{process}/task/{process}/io")).unwrap();
    let count = output.lines().find_map(|line| line.strip_prefix("syscr: "));
    count.unwrap().parse().unwrap()
}

#[test]
fn the_thread_that_draws_reads_nothing() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo hello from the agent");
    let id = stage.create(&["one", "Fix the roof"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    create_reviewed_task(&stage);
    let terminal = open(&stage);
    terminal.wait_for("NEEDS YOU 1");
    terminal.wait_for("RUNNING 1");
    terminal.wait_for("m merge");
    let process = process(&stage);
    let before = reads(process);
    // Every view, every list, written text, requests, and updates that come unasked.
    for (keys, shown) in [
        (&["3"][..], "+fixed"),
        (&["4"], "created it in"),
        (&["5"], "→ "),
        (&["2"], "─2 task"),
        (&["j"], "i message"),
        (&["1"], "hello from the agent"),
        (&["w"], "orkspaces"),
        (&["Escape"], "? help"),
        (&["f"], "what needs you"),
        (&["Escape"], "? help"),
        (&["?"], "Keys"),
        (&["Escape"], "? help"),
        (&["R"], "redrawn"),
        (&["i"], "Message to the agent"),
        (&["Escape"], "? help"),
        (&["/"], "Esc clear"),
        (&["-l", "roof"], "/roof"),
        (&["Escape"], "? help"),
        (&["c"], "New task"),
        (&["-l", "Paint the door"], "Paint the door"),
        (&["C-s"], "RUNNING 2"),
    ] {
        terminal.press(keys);
        terminal.wait_for(shown);
    }
    stage.wait_for_turn("worker-2");
    stage.create(&["two", "Sweep the floor"]);
    terminal.wait_for("QUEUE AND DONE 1");
    assert_eq!(reads(process), before, "it has read something itself");
    // The counter works: it sees the reads of this process.
    wait_for("reads of this test itself", || {
        let own = || {
            let output = fs::read_to_string("/proc/thread-self/io").unwrap();
            let count = output.lines().find_map(|line| line.strip_prefix("syscr: "));
            count.unwrap().parse::<u64>().unwrap()
        };
        let first = own();
        own() > first
    });
}
