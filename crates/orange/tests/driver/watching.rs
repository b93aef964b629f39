//! What a person at a terminal sees, and is asked.

use std::fs;

use serde_json::json;

use crate::stage::Stage;
use crate::terminal::Terminal;

/// How a slow start is asked for, and who sees how far it is.
const SLOW: [(&str, &str, bool); 4] = [
    ("seen", "orange task create a Mend --wait 600", true),
    (
        "quiet",
        "orange --quiet task create b Mend --wait 600",
        false,
    ),
    (
        "json",
        "orange task create c Mend --json --wait 600 >json",
        false,
    ),
    (
        "piped",
        "orange task create d Mend --wait 600 2>said",
        false,
    ),
];

#[test]
fn how_far_it_is_is_seen_by_a_person_alone() {
    let stage = Stage::new("default");
    // This is how long the work takes, not how long a test waits.
    stage.configure("setup", &json!(["sleep", "3"]));
    stage.configure("pool_size", &json!(9));
    for (name, line, is_seen) in SLOW {
        let terminal = Terminal::start(&stage, name, 80, line);
        let screen = terminal.finish();
        assert!(screen.contains("[exit 0]"), "{line}: {screen}");
        assert!(!screen.contains("acquire_workspace,"), "{line}: {screen}");
        let written = terminal.written();
        let seconds = written.contains(": acquire_workspace, 2 s");
        assert_eq!(seconds, is_seen, "{line}: {written:?}");
        assert_eq!(written.contains("acquire_workspace,"), is_seen, "{line}");
    }
    let said = fs::read_to_string(stage.path("repo/said")).unwrap();
    assert_eq!(said, "");
    // What is done at once is not worth a word.
    let terminal = Terminal::start(&stage, "fast", 80, "orange workflow check minimal");
    terminal.finish();
    assert!(!terminal.written().contains("checking"));
}

#[test]
fn a_narrow_terminal_is_never_broken_by_how_far_it_is() {
    let stage = Stage::new("default");
    stage.configure("setup", &json!(["sleep", "3"]));
    let line = "orange task create a Mend --wait 600";
    let terminal = Terminal::start(&stage, "narrow", 20, line);
    let screen = terminal.finish();
    assert!(!screen.contains("acquire"), "{screen}");
    assert!(terminal.written().contains("acquire_work…"));
}

#[test]
fn a_person_is_asked_before_a_task_is_deleted() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    for (name, answer, exit) in [
        ("no", "n", "[exit 3]"),
        ("nothing", "", "[exit 3]"),
        ("yes", "y", "[exit 0]"),
    ] {
        let terminal = Terminal::start(&stage, name, 200, "orange task delete fix");
        terminal.wait_for("[y/N]");
        let asked = terminal.screen();
        assert!(asked.contains("`Mend it`"), "{asked}");
        assert!(
            asked.contains("branch `fix`, kept work and history stay"),
            "{asked}"
        );
        assert!(!stage.task(&id).is_deleted, "before the answer");
        terminal.press(&[answer, "Enter"]);
        let screen = terminal.finish();
        assert!(screen.contains(exit), "{screen}");
        let is_denied = exit == "[exit 3]";
        assert_eq!(screen.contains("the answer was no"), is_denied, "{screen}");
        assert_eq!(stage.task(&id).is_deleted, !is_denied);
    }
}

#[test]
fn a_person_is_asked_before_ignored_files_are_moved() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo secret > .env; ask task show");
    fs::write(stage.path("repo/.gitignore"), ".env\n").unwrap();
    stage.git("add .gitignore");
    stage.git("commit -qm ignore");
    let id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let kept = stage.worktree(&id).join(".env");
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_for_rest(&id);
    assert!(kept.exists());
    for (answer, stays) in [("n", true), ("y", false)] {
        let terminal = Terminal::start(&stage, answer, 200, "orange workspace gc");
        terminal.wait_for("Move 1 ignored path aside, where you can look at them? [y/N]");
        assert!(kept.exists(), "before the answer");
        terminal.press(&[answer, "Enter"]);
        let screen = terminal.finish();
        assert!(screen.contains("[exit 0]"), "{screen}");
        assert_eq!(kept.exists(), stays, "{screen}");
        assert_eq!(screen.contains("moved to"), !stays, "{screen}");
    }
}

#[test]
fn quiet_leaves_answers_and_errors() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Mend it"]);
    let both = |arguments: &[&str]| {
        let output = stage.orange(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    let (answer, narration) = both(&["task", "delete", "fix", "--yes"]);
    assert!(narration.contains("--undo"), "{narration}");
    stage.must(&["task", "delete", id.as_str(), "--undo"]);
    for quiet in [
        &["--quiet", "task", "delete", "fix", "--yes"][..],
        &["task", "delete", "fix", "--yes", "-q"],
    ] {
        assert_eq!(both(quiet), (answer.clone(), String::new()));
        stage.must(&["task", "delete", id.as_str(), "--undo"]);
    }
    let (answer, said) = both(&["task", "spawn", "fix", "-q"]);
    assert_eq!(answer, "");
    assert!(said.starts_with("error: cannot "), "{said}");
    assert!(
        said.contains("\nhint: "),
        "an error says what to do: {said}"
    );
}
