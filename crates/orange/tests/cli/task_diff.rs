//! `orange task diff`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::{Stage, Terminal};

#[test]
fn diff_shows_committed_and_uncommitted_changes_separately() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("work.txt"), "one\nand more\n").unwrap();
    fs::write(worktree.join("new.txt"), "new\n").unwrap();
    let status = stage.git_in(&worktree, "status --porcelain").stdout;
    let shown = stage.run_ok(&["task", "diff", id.as_str()]);
    let (committed, uncommitted) = shown
        .split_once("\nNOT COMMITTED (will not be merged)\n")
        .unwrap();
    assert!(committed.starts_with("Committed: "), "{shown}");
    assert!(
        committed.lines().next().unwrap().ends_with(", 1 commit"),
        "{shown}"
    );
    assert!(committed.lines().any(|it| it == "+one"), "{shown}");
    for line in ["+and more", "+++ b/new.txt", "+new"] {
        assert!(uncommitted.lines().any(|it| it == line), "{line}: {shown}");
    }
    assert!(
        !committed.contains("new.txt") && !committed.contains("more"),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}') && !shown.contains("TASK.md"),
        "{shown}"
    );
    let stat = stage.run_ok(&["task", "diff", id.as_str(), "--stat"]);
    assert!(stat.contains("1 file changed, 1 insertion(+)"), "{stat}");
    assert!(stat.contains("2 files changed, 2 insertions(+)"), "{stat}");
    let (code, answer) = stage.json(&["task", "diff", id.as_str(), "--json"]);
    assert_eq!(code, 0);
    let text = |part: &str| answer[part]["diff"].as_str().unwrap().to_owned();
    assert!(committed.ends_with(&text("committed")), "{answer}");
    assert_eq!(uncommitted, text("uncommitted"));
    assert_eq!(
        (&answer["has_uncommitted"], &answer["commits"]),
        (&json!(true), &json!(1))
    );
    let files = json!([
        { "path": "new.txt", "added": 1, "removed": 0 },
        { "path": "work.txt", "added": 1, "removed": 0 },
    ]);
    assert_eq!(answer["uncommitted"]["files"], files);
    let now = stage.git_in(&worktree, "status --porcelain").stdout;
    assert_eq!(now, status, "looking changes nothing");
    // A reviewer asks for the diff of its own task.
    let inside = stage
        .orange(&["task", "diff", "--stat"])
        .current_dir(&worktree)
        .output();
    assert_eq!(String::from_utf8(inside.unwrap().stdout).unwrap(), stat);
    // Without a worktree, the diff still shows the commits.
    stage.run_ok(&["task", "cancel", id.as_str()]);
    stage.wait_until_idle(&id);
    let stat = stage.run_ok(&["task", "diff", id.as_str(), "--stat"]);
    assert!(stat.contains("1 file changed, 1 insertion(+)"), "{stat}");
    assert!(!stat.contains("NOT COMMITTED"), "{stat}");
}

#[test]
fn a_fast_forwarded_task_keeps_its_diff() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let before = stage.run_ok(&["task", "diff", id.as_str()]);
    stage.run_ok(&["task", "merge", id.as_str()]);
    stage.wait_until_idle(&id);
    let after = stage.run_ok(&["task", "diff", id.as_str()]);
    assert_eq!(after, before);
    assert!(after.contains("+one"), "{after}");
}

/// A program that shows where it runs and what it reads there, and then its input.
fn pager(stage: &Stage, name: &str) -> String {
    let path = stage.path(name);
    let script = "#!/bin/sh\necho \"PAGER $0 $*\"; pwd; echo \"LESS=$LESS\"\n\
                  git config --get evil.value; env | grep ^GIT_DIR\nsed 's/\x1b/<esc>/g'\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Runs a command line in a terminal; returns its lines.
fn lines_in_terminal(stage: &Stage, name: &str, line: &str) -> Vec<String> {
    let screen = Terminal::start(stage, name, 200, line).finish();
    screen.lines().map(|it| it.trim_end().to_owned()).collect()
}

#[test]
fn in_a_terminal_the_users_pager_shows_the_diff() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let (mine, other) = (pager(&stage, "mine"), pager(&stage, "other"));
    let run = |name: &str, line: &str| lines_in_terminal(&stage, name, line);
    let shown = |lines: &[String], start: &str| lines.iter().any(|it| it.starts_with(start));
    let lines = run(
        "variable",
        &format!("GIT_PAGER='{mine} -x' PAGER={other} orange diff {id}"),
    );
    assert!(shown(&lines, &format!("PAGER {mine} -x")), "{lines:?}");
    assert!(shown(&lines, "LESS=FRX"), "{lines:?}");
    assert!(
        shown(&lines, "<esc>[32m+<esc>[m<esc>[32mone"),
        "in colour: {lines:?}"
    );
    // Without a pager, and without a terminal, it is printed.
    for (name, line) in [
        (
            "none",
            format!("GIT_PAGER={mine} orange diff {id} --no-pager"),
        ),
        (
            "cat",
            format!("GIT_PAGER=cat PAGER={mine} orange diff {id}"),
        ),
        (
            "agent",
            format!("ORANGE_RUN_ID=r GIT_PAGER={mine} orange diff {id}"),
        ),
        ("pipe", format!("GIT_PAGER={mine} orange diff {id} | cat")),
        (
            "missing",
            format!("GIT_PAGER=/no/such/program orange diff {id}"),
        ),
    ] {
        let lines = run(name, &line);
        assert!(
            !shown(&lines, "PAGER") && shown(&lines, "+one"),
            "{name}: {lines:?}"
        );
    }
    // The user's own configuration.
    let settings = stage.path(".gitconfig");
    let set = |text: &str| fs::write(&settings, text).unwrap();
    let line = format!("PAGER={other} orange diff {id}");
    for (number, (text, expected)) in [
        (
            format!("[core]\npager = {mine} -c\n"),
            format!("PAGER {mine} -c"),
        ),
        (
            format!("[core]\npager = {other}\n[pager]\ndiff = {mine} | sed s/P/Q/\n"),
            format!("QAGER {mine}"),
        ),
        (String::new(), format!("PAGER {other}")),
        (
            String::from("[pager]\ndiff = false\n"),
            String::from("Committed: "),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        set(&text);
        let lines = run(&format!("config{number}"), &line);
        assert!(lines[0].starts_with(&expected), "{text}: {lines:?}");
    }
}

#[test]
fn no_configuration_that_an_agent_can_write_names_the_pager() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let worktree = stage.worktree(&id);
    let (mine, evil) = (pager(&stage, "mine"), pager(&stage, "evil"));
    for key in ["core.pager", "pager.diff", "pager.log"] {
        assert!(
            stage
                .git_in(&worktree, &format!("config {key} {evil}"))
                .status
                .success()
        );
    }
    stage.git_in(&worktree, "config extensions.worktreeConfig true");
    stage.git_in(&worktree, &format!("config --worktree core.pager {evil}"));
    stage.git_in(&worktree, "config evil.value reached");
    let line = format!("cd '{}'; PAGER={mine} orange diff {id}", worktree.display());
    let lines = lines_in_terminal(&stage, "inside", &line);
    assert!(lines[0].starts_with(&format!("PAGER {mine}")), "{lines:?}");
    // Nor does the pager run where it would read that configuration, as delta does.
    assert_eq!(lines[1], "/", "{lines:?}");
    assert!(!lines.iter().any(|it| it.contains("reached")), "{lines:?}");
    let git = stage.path("repo/.git");
    let line = format!("GIT_DIR={} PAGER={mine} orange diff {id}", git.display());
    let lines = lines_in_terminal(&stage, "variable", &line);
    assert!(
        !lines
            .iter()
            .any(|it| it.starts_with("GIT_DIR") || it.contains("reached")),
        "{lines:?}"
    );
}

#[test]
fn interrupting_the_pager_does_not_end_it() {
    let stage = Stage::new("default");
    let id = stage.create_reviewed_task();
    let script = stage.path("waits");
    let text =
        "#!/bin/sh\ntrap 'echo interrupted' INT\necho ready; read -r line < /dev/tty\necho over\n";
    fs::write(&script, text).unwrap();
    let line = format!("GIT_PAGER='sh {}' orange diff {id}", script.display());
    let terminal = Terminal::start(&stage, "interrupt", 100, &line);
    terminal.wait_for("ready");
    terminal.press(&["C-c"]);
    terminal.wait_for("interrupted");
    terminal.press(&["Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
}
