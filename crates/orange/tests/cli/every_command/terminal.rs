//! The program in a real terminal, namely tmux.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::sandbox::{BROKEN, SMALL, Sandbox, utf8};
use crate::workflow_diff::edited_workflow;

/// Far longer than a run takes, so that only a hang reaches it.
const DEADLINE: Duration = Duration::from_mins(1);

/// A command line in its own tmux server, which ends with it.
pub struct Terminal {
    sandbox: Sandbox,
}

impl Terminal {
    /// Runs a shell line, in which `orange` is the program under test, to completion.
    fn run(columns: usize, line: &str) -> Self {
        let terminal = Self::start(columns, line);
        terminal.finish();
        terminal
    }

    /// Starts a shell line, in which `orange` is the program under test.
    pub fn start(columns: usize, line: &str) -> Self {
        let terminal = Self { sandbox: sandbox() };
        let program = format!("'{}'", env!("CARGO_BIN_EXE_orange"));
        let line = line.replace("orange", &program);
        let socket = terminal.socket();
        let done = format!("tmux -S '{}' wait-for -S finished", socket.display());
        let script = format!("{line}; echo \"[exit $?]\"; {done}; exec cat");
        let columns = columns.to_string();
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", "120", &script]);
        terminal
    }

    /// Waits until the line has finished.
    pub fn finish(&self) {
        self.tmux(&["wait-for", "finished"]);
    }

    /// Presses keys by tmux's names for them, or types a text and Enter.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the whole output satisfies the condition.
    pub fn wait_until(&self, is_so: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            let screen = self.screen(&["-S", "-"]);
            if is_so(&screen) {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The screen's content, with further options for `capture-pane`.
    pub fn screen(&self, options: &[&str]) -> String {
        let captured = self.tmux(&[&["capture-pane", "-p"], options].concat());
        let text = utf8(&captured.stdout);
        self.sandbox.without_paths(text.trim_end()) + "\n"
    }

    fn socket(&self) -> PathBuf {
        self.sandbox.root().join("tmux")
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        succeed(self.command(arguments))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.socket())
            .args(arguments)
            .current_dir(self.sandbox.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.sandbox.root().join("person"))
            .env("ORANGE_HOME", self.sandbox.home())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test may have failed because the server never started.
        let _ended = self.command(&["kill-server"]).output();
    }
}

/// Runs a program to completion, or fails the test at the deadline.
fn succeed(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(DEADLINE).unwrap().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

fn sandbox() -> Sandbox {
    let long = "    when: review_round <";
    let longer = format!("{long} {}", "and review_round < ".repeat(5));
    Sandbox::new()
        .with_workflow("default.yml", SMALL.replace("small", "default"))
        .with_workflow("broken.yml", BROKEN)
        .with_file("broken.yml", BROKEN.replace(long, &longer))
        .with_file("edited.yml", edited_workflow())
}

#[test]
fn every_answer_fits_the_terminal() {
    let lines = [
        ("help", "orange --help"),
        ("list", "orange workflow list"),
        ("check", "orange workflow check broken.yml"),
        ("diff", "orange workflow diff minimal edited.yml --prompts"),
        ("not_found", "orange workflow show nothing"),
        ("simulate_help", "orange help workflow simulate"),
    ];
    for columns in [80, 60] {
        for (name, line) in lines {
            let terminal = Terminal::run(columns, line);
            let screen = terminal.screen(&[]);
            assert_snapshot!(format!("{name}_in_{columns}_columns"), screen);
            // `-J` joins a line that the terminal had to wrap.
            assert_eq!(terminal.screen(&["-J"]), screen, "{line}");
        }
    }
}

#[test]
fn a_terminal_has_colour_unless_it_is_refused() {
    let line = "orange workflow check broken.yml";
    let coloured = Terminal::run(80, line).screen(&["-e"]);
    assert!(coloured.contains("\x1b["), "{coloured}");
    for refused in ["NO_COLOR=1", "CLICOLOR=0", "TERM=dumb"] {
        let plain = Terminal::run(80, &format!("{refused} {line}")).screen(&["-e"]);
        assert!(plain.contains("error["), "{plain}");
        assert!(!plain.contains('\x1b'), "{refused}: {plain}");
    }
}

/// Creates tasks in a repository with the real commands.
const TASKS: &str = "git init -q . && git -c user.name=a -c user.email=a@example.org commit -q \
    --allow-empty -m x && mkdir -p \"$ORANGE_HOME/harnesses\" && \
    printf 'name=\"me\"\\nbinary=\"sh\"\\n[args]\\nfull=[]\\n' \
    > \"$ORANGE_HOME/harnesses/me.toml\" && orange project add --harness me --name app >made && \
    for summary in 'A summary that says more than sixty columns can show of it, and then some more' \
    'שלום עולם, מימין לשמאל' '漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字'; \
    do orange task create \"$summary\" --branch feature/a-rather-long-name-of-a-branch >>made; \
    done; ";

#[test]
fn a_list_of_tasks_fits_the_terminal() {
    for columns in [60, 200] {
        let terminal = Terminal::run(columns, &format!("{TASKS} clear; orange task list"));
        let screen = terminal.screen(&[]);
        assert_eq!(terminal.screen(&["-J"]), screen, "a line was broken");
        assert!(screen.contains("[exit 0]"), "{screen}");
        let made = terminal.sandbox.work().join("made");
        let made = std::fs::read_to_string(made).unwrap();
        let ids = made
            .lines()
            .skip(1)
            .filter_map(|line| line.split(':').next());
        let mut shown = screen.clone();
        for id in ids {
            assert!(screen.contains(id), "{screen}");
            shown = shown.replace(id, "[ID]");
        }
        for seconds in 0..60 {
            shown = shown.replace(&format!(" {seconds:>2}s "), "  0s ");
        }
        let shown = shown.replace("[ID]", "k3f9");
        assert_snapshot!(format!("task_list_in_{columns}_columns"), shown);
    }
}
