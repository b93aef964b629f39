//! Progress, as a user at a terminal sees it.

use std::fs;

use serde_json::json;

use crate::support::{Stage, Terminal};

/// How a slow start is requested, and whether its progress is shown.
const SLOW: [(&str, &str, bool); 4] = [
    ("seen", "orange task create a Fix --wait 600", true),
    (
        "quiet",
        "orange --quiet task create b Fix --wait 600",
        false,
    ),
    (
        "json",
        "orange task create c Fix --json --wait 600 >json",
        false,
    ),
    ("piped", "orange task create d Fix --wait 600 2>said", false),
];

#[test]
fn progress_is_shown_only_at_a_terminal() {
    let stage = Stage::new("default");
    // This is how long the work takes, not how long a test waits.
    stage.configure("setup", &json!(["sleep", "3"]));
    stage.configure("pool_size", &json!(9));
    for (name, line, is_seen) in SLOW {
        let terminal = Terminal::start(&stage, name, 80, line);
        let screen = terminal.finish();
        assert!(screen.contains("[exit 0]"), "{line}: {screen}");
        assert!(!screen.contains("acquire_workspace,"), "{line}: {screen}");
        let written = terminal.all_output();
        let seconds = written.contains(": acquire_workspace, 2 s");
        assert_eq!(seconds, is_seen, "{line}: {written:?}");
        assert_eq!(written.contains("acquire_workspace,"), is_seen, "{line}");
    }
    let output = fs::read_to_string(stage.path("repo/said")).unwrap();
    assert_eq!(output, "");
    // Quick work shows no progress.
    let terminal = Terminal::start(&stage, "fast", 80, "orange workflow check minimal");
    terminal.finish();
    assert!(!terminal.all_output().contains("checking"));
}

#[test]
fn progress_fits_a_narrow_terminal() {
    let stage = Stage::new("default");
    stage.configure("setup", &json!(["sleep", "3"]));
    let line = "orange task create a Fix --wait 600";
    let terminal = Terminal::start(&stage, "narrow", 20, line);
    let screen = terminal.finish();
    assert!(!screen.contains("acquire"), "{screen}");
    assert!(terminal.all_output().contains("acquire_work…"));
}
