//! `orange demo`, as a newcomer sees it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{Stage, Terminal, environment, wait_for};

/// A user with a home, and a private folder for temporary files.
struct Newcomer(TempDir);

impl Newcomer {
    fn new() -> Newcomer {
        let person = Newcomer(TempDir::with_prefix("o-").unwrap());
        for folder in ["home", "tmp"] {
            fs::create_dir(person.path(folder)).unwrap();
        }
        // A file the demo must never read: reading it would fail.
        fs::write(person.path("home/.gitconfig"), "[nonsense\n").unwrap();
        person
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn orange(&self, arguments: &[&str]) -> Command {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        orange.args(arguments).current_dir(self.path("home"));
        orange.env_clear().stdin(Stdio::null());
        orange.env("PATH", std::env::var_os("PATH").unwrap());
        orange.env("HOME", self.path("home"));
        orange.env("TMPDIR", self.path("tmp"));
        orange.env("LANG", "C.UTF-8");
        orange
    }

    /// The existing demo folders.
    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("tmp")).unwrap().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    fn processes(&self) -> Vec<(u32, String)> {
        processes(&self.path("tmp"))
    }

    fn assert_untouched(&self) {
        let home = fs::read_dir(self.path("home")).unwrap().flatten();
        let names: Vec<_> = home.map(|entry| entry.file_name()).collect();
        assert_eq!(names, [".gitconfig"]);
    }

    fn assert_nothing_is_left(&self) {
        assert_eq!(self.processes(), []);
        assert_eq!(self.folders(), [] as [PathBuf; 0]);
        self.assert_untouched();
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        end_all(&self.path("tmp"));
    }
}

/// A temporary folder; processes that a failed test leaves running below it are killed.
struct TemporaryFolder(PathBuf);

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        end_all(&self.0);
    }
}

fn end_all(temporary: &Path) {
    for (pid, _) in processes(temporary) {
        let _gone = Command::new("kill").args(["-9", &pid.to_string()]).output();
    }
}

/// The processes whose home is below this folder, with their names.
fn processes(temporary: &Path) -> Vec<(u32, String)> {
    let start = format!("HOME={}/", temporary.canonicalize().unwrap().display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let own = all.filter_map(|entry| {
        let pid = entry.file_name().to_string_lossy().parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let mut environment = environment.split(|byte| *byte == 0);
        let is_own = environment.any(|it| it.starts_with(start.as_bytes()));
        let called = fs::read(entry.path().join("cmdline")).ok()?;
        let called = String::from_utf8_lossy(&called).replace('\0', " ");
        is_own.then_some((pid, called))
    });
    own.collect()
}

/// The commit subjects on the branch `main`.
fn log(repository: &Path) -> Vec<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(repository);
    let output = git.args(["log", "--format=%s", "main"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Asserts that a text contains these parts in this order.
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("`{part}` does not follow in:\n{text}"));
        rest = after;
    }
}

#[test]
fn the_demo_ends_with_two_merges_and_removes_its_home() {
    let person = Newcomer::new();
    let output = person.orange(&["demo", "--pause", "0"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}\n{stderr}");
    let of = |branch: &str| -> String {
        let own = text.lines().filter(|line| line.starts_with(branch));
        own.collect::<Vec<_>>().join("\n")
    };
    let french = of("french");
    assert_in_order(
        &french,
        &[
            "to `planning`",
            "to `working`",
            "to `agent-review`",
            "to `working`",
            "to `agent-review`",
            "to `reviewing`",
            "you merge it",
            "to `done`",
        ],
    );
    assert_in_order(
        &of("polite"),
        &[
            "to `clarification`",
            "you answer: ",
            "to `working`",
            "to `reviewing`",
            "you merge it",
            "to `done`",
        ],
    );
    let folder = stderr.split('`').nth(1).unwrap();
    assert!(
        folder.contains("/orange-demo-") && stderr.contains(&format!("removed `{folder}`")),
        "{stderr}"
    );
    person.assert_nothing_is_left();
}

#[test]
fn a_kept_demo_home_has_the_merges_and_is_not_reused() {
    let person = Newcomer::new();
    let output = person.orange(&["demo", "--pause", "0", "--keep"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(person.processes(), []);
    let folders = person.folders();
    let [folder] = &folders[..] else {
        panic!("{folders:?}");
    };
    let log = log(&folder.join("hello"));
    for subject in [
        "Greet in French",
        "Fix the spelling of Bonjour",
        "Greet by name",
    ] {
        assert!(log.iter().any(|it| it == subject), "{subject}: {log:?}");
    }
    let words = fs::read_to_string(folder.join("hello/words/fr")).unwrap();
    assert_eq!(words, "Bonjour\n");
    // A kept demo can be inspected with other commands than the one it names.
    let mut list = person.orange(&["task", "list", "--all", "--all-statuses"]);
    let list = list.env("ORANGE_HOME", folder.join("orange"));
    let listed = list.output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.contains("french"), "{listed}");
    // The next demo removes what was left behind, but not what was kept.
    let output = person.orange(&["demo", "--pause", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(person.folders(), folders);
    person.assert_untouched();
}

#[test]
fn an_interrupted_demo_removes_its_home() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        let person = Newcomer::new();
        let mut demo = person.orange(&["demo", "--pause", "1"]);
        let mut demo = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let demo = demo.as_mut().unwrap();
        // In the middle of the demo: both agents are running.
        wait_for("agents", || {
            let own = person.processes();
            own.iter().filter(|(_, it)| it.contains("robot.sh")).count() >= 2
        });
        let pid = demo.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(demo.wait().unwrap().code(), Some(code), "{signal}");
        person.assert_nothing_is_left();
    }
}

#[test]
fn leftovers_of_a_killed_demo_are_removed_by_the_next() {
    let person = Newcomer::new();
    let mut demo = person.orange(&["demo", "--pause", "1"]);
    let mut demo = demo
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("an agent", || {
        let own = person.processes();
        own.iter().any(|(_, it)| it.contains("robot.sh"))
    });
    demo.kill().unwrap();
    demo.wait().unwrap();
    let left = person.folders();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_ne!(person.processes(), []);
    // A folder that only looks like a demo belongs to someone else.
    let alike = person.path("tmp/orange-demo-mine");
    fs::create_dir(&alike).unwrap();
    fs::set_permissions(&alike, fs::Permissions::from_mode(0o700)).unwrap();
    let output = person.orange(&["demo", "--pause", "0"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let named = format!("removing `{}`", left[0].display());
    assert!(text.starts_with(&named), "{text}");
    assert_eq!(person.folders(), [alike]);
    assert_eq!(person.processes(), []);
    person.assert_untouched();
}

/// Where a demo at a terminal creates its folder.
fn prepare_terminal(stage: &mut Stage) -> TemporaryFolder {
    let temporary = stage.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let more = [("TMPDIR", temporary.to_str().unwrap())];
    stage.environment = environment(&stage.path(""), &more);
    TemporaryFolder(temporary)
}

fn choose(terminal: &Terminal<'_>, name: &str) {
    terminal.press(&["/"]);
    terminal.press(&["-l", name]);
    terminal.press(&["Enter"]);
    terminal.wait_for("(Esc clears)");
    terminal.press(&["Escape"]);
    wait_for("the whole list", || {
        !terminal.screen().contains("(Esc clears)")
    });
}

fn wait_for_row(terminal: &Terminal<'_>, parts: &[&str]) {
    wait_for(
        &format!("a row with {parts:?}; {}", terminal.screen()),
        || {
            let screen = terminal.screen();
            let mut lines = screen.lines();
            lines.any(|line| parts.iter().all(|part| line.contains(part)))
        },
    );
}

fn quit(terminal: &Terminal<'_>, temporary: &Path) {
    terminal.press(&["q"]);
    let end = terminal.finish();
    assert!(end.contains("[exit 0]"), "{end}");
    assert!(end.contains("removed `"), "{end}");
    assert_eq!(processes(temporary), []);
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn at_a_terminal_the_demo_opens_the_dashboard_and_the_user_merges() {
    let mut stage = Stage::new("default");
    let temporary = prepare_terminal(&mut stage);
    let terminal = Terminal::start(&stage, "demo", 100, "orange demo --pause 0");
    terminal.wait_for("NEEDS YOU 2");
    terminal.wait_for("press Enter to start it");
    // Before any key, the first task that needs the user is selected.
    wait_for("a key for what to do first", || {
        let screen = terminal.screen();
        screen.contains("i answer") || screen.contains("m merge")
    });
    // Reviewers have come and gone, and the remaining agents are shown as running.
    wait_for_row(&terminal, &["●", "reviewing", "Greet in French", "idle"]);
    wait_for_row(
        &terminal,
        &["●", "clarification", "Greet nicely", "waiting"],
    );
    choose(&terminal, "french");
    terminal.wait_for("m merge");
    terminal.press(&["m"]);
    terminal.wait_for("Merge `french` into `main`?");
    terminal.press(&["y"]);
    let folder = fs::read_dir(&temporary.0)
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let repository = folder.path().join("hello");
    wait_for("the merge", || {
        let log = log(&repository);
        log.iter().any(|it| it == "Fix the spelling of Bonjour")
    });
    quit(&terminal, &temporary.0);
}

#[test]
fn a_new_user_creates_answers_requests_changes_and_merges_at_80_by_24() {
    let mut stage = Stage::new("default");
    let temporary = prepare_terminal(&mut stage);
    let terminal = Terminal::start(&stage, "demo", 80, "orange demo --pause 0");
    terminal.resize(80, 24);
    terminal.wait_for("NEEDS YOU 2");
    choose(&terminal, "french");
    terminal.wait_for("m merge");
    terminal.press(&["?"]);
    terminal.wait_for("Keys for");
    for key in ["c     create", "i     ", "m     merge", "t     move to"] {
        assert!(terminal.screen().contains(key), "{}", terminal.screen());
    }
    terminal.press(&["Escape"]);
    // Sent together, the two would be read as one key.
    wait_for("the end of the help", || {
        !terminal.screen().contains("Keys for")
    });
    terminal.press(&["c"]);
    terminal.wait_for("New task");
    terminal.press(&["-l", "Wave to the moon"]);
    terminal.press(&["C-s"]);
    wait_for_row(&terminal, &["reviewing", "Wave to"]);

    // The question stays readable while it is answered.
    choose(&terminal, "polite");
    terminal.wait_for("i answer");
    terminal.wait_for("What is nicer");
    terminal.press(&["i"]);
    terminal.wait_for("Answer the agent of");
    terminal.press(&["-l", "With the name"]);
    terminal.wait_for("With the name");
    let screen = terminal.screen();
    assert!(screen.contains("What is nicer"), "{screen}");
    terminal.press(&["C-s"]);
    wait_for_row(&terminal, &["reviewing", "Greet nicely"]);

    choose(&terminal, "polite");
    terminal.wait_for("r changes");
    terminal.press(&["r"]);
    terminal.wait_for("What should change");
    terminal.press(&["-l", "With a full stop"]);
    terminal.press(&["C-s"]);
    // One more commit, reviewed again.
    wait_for_row(&terminal, &["reviewing", "Greet nicely", "2c "]);

    let folder = fs::read_dir(&temporary.0)
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let repository = folder.path().join("hello");
    let has_merged = |subject: &str| log(&repository).iter().any(|it| it == subject);
    // Its first review has failed already, so this is its third handoff.
    choose(&terminal, "french");
    terminal.wait_for("r changes");
    terminal.press(&["r"]);
    terminal.wait_for("What should change");
    terminal.press(&["-l", "With a wave"]);
    terminal.press(&["C-s"]);
    wait_for_row(&terminal, &["reviewing", "Greet in French", "3c "]);
    choose(&terminal, "french");
    terminal.press(&["m"]);
    terminal.wait_for("Merge `french`");
    terminal.press(&["y"]);
    wait_for("the first merge", || {
        has_merged("Fix the spelling of Bonjour") && has_merged("Make the requested change")
    });
    // The default branch has moved, and the first key that is offered still merges.
    choose(&terminal, "polite");
    terminal.press(&["m"]);
    terminal.wait_for("conflicts: none");
    terminal.wait_for("y merge   c merge commit");
    terminal.press(&["y"]);
    wait_for("the second merge", || has_merged("Greet by name"));
    terminal.wait_for("The demo is over");
    terminal.wait_for("orange doctor");
    terminal.wait_for("q   leave the demo");
    quit(&terminal, &temporary.0);
}
