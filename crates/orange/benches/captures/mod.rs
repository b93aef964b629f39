//! What other tools do every second: one `capture-pane` process per session.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::fleet::Fleet;

/// Runs one `capture-pane` process per session, as other tools do every second.
pub fn captures(fleet: &Fleet) -> Duration {
    let mut panes = fleet.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    let panes = String::from_utf8(panes.output().unwrap().stdout).unwrap();
    let start = Instant::now();
    for pane in panes.lines() {
        let mut capture = fleet.tmux(&["capture-pane", "-p", "-t", pane]);
        assert!(capture.stdout(Stdio::null()).status().unwrap().success());
    }
    start.elapsed()
}
