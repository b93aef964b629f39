//! The dashboard as a user sees it, inside a real terminal.

#[cfg(feature = "crash-points")]
mod crashes;
mod drafts;
mod drawing_thread;
mod failures;
mod marks;
mod permission;
mod shutdown;
mod terminal_view;

use std::fs;
use std::process::Command;

use orange_engine::names::TaskId;

use crate::support::{Stage, Terminal, wait_for};

/// Opens the dashboard in the project's repository.
fn open(stage: &Stage) -> Terminal<'_> {
    let terminal = Terminal::start(stage, "dash", 100, "orange ");
    terminal.resize(100, 30);
    terminal.wait_for("? help");
    terminal
}

/// A task with one commit that waits for the user's review.
fn create_reviewed_task(stage: &Stage) -> TaskId {
    let id = stage.create(&["--status", "reviewing", "fix-login", "Fix the login"]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("login.txt"), "fixed\n").unwrap();
    for call in ["add login.txt", "commit -qm fix"] {
        assert!(stage.git_in(&worktree, call).status.success(), "git {call}");
    }
    id
}

/// The dashboard's process: the one without arguments.
fn process(stage: &Stage) -> u32 {
    let home = format!("ORANGE_HOME={}", stage.home().path().display());
    let mut found = None;
    wait_for("the process of the dashboard", || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        found = all
            .filter(|it| {
                let read = |name: &str| fs::read(it.path().join(name)).unwrap_or_default();
                let words = read("cmdline");
                let mut words = words.split(|byte| *byte == 0).filter(|it| !it.is_empty());
                let program = words.next().unwrap_or_default();
                let is_alone = words.next().is_none();
                let environment = read("environ");
                let mut environment = environment.split(|byte| *byte == 0);
                program.ends_with(b"/orange")
                    && is_alone
                    && environment.any(|it| it == home.as_bytes())
            })
            .find_map(|it| it.file_name().to_string_lossy().parse().ok());
        found.is_some()
    });
    found.unwrap()
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_task_is_created_attached_to_and_left_where_it_was() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf '\\033[31mhello from the agent\\033[0m\\n'",
    );
    let terminal = open(&stage);
    terminal.wait_for("No tasks in `app` yet.");
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "Say hello"]);
    terminal.press(&["C-s"]);
    stage.wait_for_turn("worker-1");
    terminal.wait_for("RUNNING 1");
    terminal.wait_for("hello from the agent");
    wait_for("its colour", || {
        let is_red = |line: &str| line.contains("hello from") && line.contains("38;5;1m");
        terminal.coloured_screen().lines().any(is_red)
    });
    terminal.wait_for("Enter attach");
    let before = terminal.screen();
    assert!(before.contains("Say hello"), "{before}");
    terminal.press(&["Enter"]);
    wait_for("the agent's own terminal", || {
        let screen = terminal.screen();
        screen.contains("hello from the agent") && !screen.contains("RUNNING")
    });
    terminal.press(&["C-b", "d"]);
    terminal.wait_for("RUNNING 1");
    terminal.wait_for("hello from the agent");
    terminal.press(&["q"]);
    let end = terminal.finish();
    assert!(
        end.contains("[exit 0]") && !end.contains("RUNNING"),
        "{end}"
    );
}

#[test]
fn the_first_task_of_a_repository_says_what_its_agents_may_do() {
    let stage = Stage::new("default");
    let fresh = stage.path("tea");
    fs::create_dir(&fresh).unwrap();
    for call in ["init -q -b main", "commit -q --allow-empty -m first"] {
        let call = format!("-c user.name=A -c user.email=a@b.c {call}");
        assert!(stage.git_in(&fresh, &call).status.success(), "git {call}");
    }
    let terminal = Terminal::start(&stage, "dash", 100, "cd ../tea; orange ");
    terminal.resize(100, 30);
    terminal.wait_for("? help");
    for (summary, is_first) in [("Say hello", true), ("Say goodbye", false)] {
        terminal.press(&["n"]);
        terminal.wait_for("New task");
        terminal.press(&["-l", summary]);
        for _ in 0..7 {
            terminal.press(&["Tab"]);
        }
        terminal.press(&["Space"]);
        terminal.wait_for("later, with Enter");
        terminal.press(&["C-s"]);
        if is_first {
            terminal.wait_for("Registered tea");
            terminal.wait_for("in a sandbox");
            terminal.press(&["Escape"]);
        }
        wait_for("the task alone", || {
            let screen = terminal.screen();
            screen.contains(summary)
                && !screen.contains("Registered")
                && !screen.contains("New task")
        });
    }
}

#[test]
fn a_branch_is_merged_after_a_question() {
    let stage = Stage::new("default");
    let id = create_reviewed_task(&stage);
    let terminal = open(&stage);
    terminal.wait_for("NEEDS YOU 1");
    terminal.wait_for("m merge");
    terminal.press(&["3"]);
    terminal.wait_for("+fixed");
    terminal.press(&["m"]);
    // The forecast names the branch, as soon as it is there.
    terminal.wait_for("Merge `fix-login` into `main`?");
    terminal.press(&["Enter"]);
    terminal.press(&["y"]);
    stage.wait_for_status(&id, "done");
    let merged = stage.git("log -1 --format=%s main");
    assert_eq!(String::from_utf8_lossy(&merged.stdout).trim(), "fix");
    wait_for("an empty list", || !terminal.screen().contains("NEEDS YOU"));
}

#[test]
fn a_task_is_cancelled_only_after_confirmation() {
    let stage = Stage::new("default");
    let id = create_reviewed_task(&stage);
    let terminal = open(&stage);
    terminal.wait_for("x cancel");
    terminal.press(&["x"]);
    terminal.wait_for("Kept: the commits on `fix-login`");
    terminal.press(&["n"]);
    wait_for("no question", || !terminal.screen().contains(" Confirm "));
    assert_eq!(stage.task(&id).status.as_str(), "reviewing");
    terminal.press(&["x"]);
    terminal.wait_for(" Confirm ");
    terminal.press(&["y"]);
    stage.wait_for_status(&id, "cancelled");
    let kept = stage.git("log -1 --format=%s fix-login");
    assert_eq!(String::from_utf8_lossy(&kept.stdout).trim(), "fix");
}

#[test]
fn changes_are_requested_and_messages_written() {
    let stage = Stage::new("default");
    let id = create_reviewed_task(&stage);
    let terminal = open(&stage);
    terminal.wait_for("r changes");
    terminal.press(&["r"]);
    terminal.wait_for("What should change");
    terminal.press(&["-l", "smaller; commits"]);
    terminal.press(&["Enter"]);
    terminal.paste("and $(no) `shell`\nsecond line");
    terminal.wait_for("second line");
    terminal.press(&["C-s"]);
    stage.wait_for_status(&id, "working");
    stage.wait_for_turn("worker-1");
    let said = || {
        let inbox = stage.store().inbox(&id).unwrap();
        inbox.iter().map(|it| it.text.clone()).collect::<Vec<_>>()
    };
    wait_for("the wish in the inbox", || {
        let wish = "smaller; commits\nand $(no) `shell`\nsecond line";
        said().iter().any(|text| text.contains(wish))
    });
    terminal.wait_for("i message");
    terminal.press(&["i"]);
    terminal.wait_for("Message to the agent");
    terminal.press(&["-l", "well done"]);
    terminal.press(&["C-s"]);
    wait_for("the message in the inbox", || {
        said().iter().any(|text| text == "well done")
    });
    assert_eq!(stage.task(&id).status.as_str(), "working");
}

#[test]
fn a_search_a_resize_and_the_mouse_find_their_task() {
    let stage = Stage::new("default");
    for (branch, summary) in [("one", "Fix the roof"), ("two", "Paint the door 漢字 שלום")] {
        stage.create(&[branch, summary]);
    }
    let terminal = open(&stage);
    terminal.wait_for("QUEUE AND DONE 2");
    terminal.press(&["/"]);
    terminal.press(&["-l", "roof"]);
    terminal.wait_for("QUEUE AND DONE 1");
    terminal.press(&["Escape"]);
    terminal.wait_for("QUEUE AND DONE 2");
    // The tab with the number 4, then the second row of the list.
    terminal.wait_for("4 timeline");
    let line_of = |text: &str| {
        let screen = terminal.screen();
        let at = screen.lines().position(|line| line.contains(text));
        at.unwrap_or_else(|| panic!("{text}: {screen}")) + 1
    };
    terminal.click(33, line_of("4 timeline"));
    terminal.wait_for("created it in `pending`");
    terminal.click(10, line_of("Paint the door"));
    let second = stage.call(&["task", "list"]).1;
    let second = second.lines().find(|line| line.contains("Paint")).unwrap();
    let id = second.split_whitespace().nth(1).unwrap();
    terminal.wait_for(&format!(" {id} ─"));
    for (columns, lines) in [(60, 20), (200, 60), (80, 24)] {
        terminal.resize(columns, lines);
        wait_for("a frame of that size", || {
            let screen = terminal.screen();
            let widest = screen.lines().map(|line| line.chars().count()).max();
            let footer = screen.lines().nth(lines - 1);
            footer.is_some_and(|line| line.contains("q quit")) && widest <= Some(columns)
        });
    }
}

#[test]
fn the_dashboard_supervises_only_without_another_supervisor() {
    let stage = Stage::new("default");
    stage.create(&["one", "Fix the roof"]);
    let terminal = open(&stage);
    terminal.wait_for("supervising");
    stage.run_ok(&["serve", "--detach"]);
    terminal.wait_for("supervised");
    stage.run_ok(&["serve", "--stop"]);
    terminal.wait_for("supervising");
    terminal.press(&["q"]);
    assert!(terminal.finish().contains("[exit 0]"));
    assert!(!stage.driver().context.is_supervised());
}

#[test]
fn an_editor_is_opened_for_long_texts() {
    let mut stage = Stage::new("default");
    let editor = stage.path("editor");
    fs::write(
        &editor,
        "#!/bin/sh\necho 'written in an editor' >> \"$1\"\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&editor, mode).unwrap();
    let variables = stage.environment.variables().clone().into_iter();
    let more = [("EDITOR".into(), editor.into_os_string())];
    stage.environment = orange_config::Environment::of(variables.chain(more));
    let terminal = open(&stage);
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "begun here, "]);
    terminal.press(&["C-e"]);
    terminal.wait_for("written in an editor");
    for _ in 0..7 {
        terminal.press(&["Tab"]);
    }
    terminal.press(&["Space"]);
    terminal.wait_for("later, with Enter");
    terminal.press(&["C-s"]);
    terminal.wait_for("QUEUE AND DONE 1");
    let listed = stage.call(&["task", "list"]).1;
    assert!(
        listed.contains("begun here, written in an editor"),
        "{listed}"
    );
    let drafts = fs::read_dir(stage.home().path()).unwrap().flatten();
    let mut drafts = drafts.filter(|it| it.file_name().to_string_lossy().starts_with("draft-"));
    assert!(drafts.next().is_none(), "the draft is left behind");
}
