//! A frozen run stands still in tmux and goes on when thawed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::process::{
    FreezeError, KillTimeouts, ProcessIdentity, RunProcesses, end_run_processes, freeze, thaw,
};
use orange_effects::run::RunFile;
use orange_engine::names::RunId;

use crate::fixture::{Around, Fixture, processes_with, wait_for};
use crate::terminal::Terminal;

/// Every way to start an agent that can be frozen.
const FREEZABLE: [Around; 3] = [Around::Sandbox, Around::Partial, Around::Freezable];

const TIMEOUT: Duration = Duration::from_secs(20);

/// Counts in `$1` until it is killed.
const COUNT: &str =
    "count() { i=0; while :; do i=$((i+1)); echo $i > \"$1\"; sleep 0.01; done; }\n";

/// A run in a pane, and a program beside it that is not of the run.
struct Frozen<'a> {
    fixture: &'a Fixture,
    terminal: Terminal<'a>,
    run: RunId,
    pane: ProcessIdentity,
    bystander: Child,
}

impl Frozen<'_> {
    fn start<'a>(fixture: &'a Fixture, script: &str, around: Around) -> Frozen<'a> {
        let file = fixture.run_file(script, around);
        let run = RunFile::read(&file).unwrap().run;
        let terminal = Terminal::run(fixture, &file);
        let shown = terminal.tmux(&["list-panes", "-F", "#{pane_pid}"]);
        let pane = ProcessIdentity::of(shown.trim().parse().unwrap()).unwrap();
        let mut bystander = Command::new("sh");
        bystander.args(["-c", &format!("{COUNT}count beside")]);
        bystander
            .current_dir(fixture.path("w"))
            .stdin(Stdio::null());
        let bystander = bystander.spawn().unwrap();
        Frozen {
            fixture,
            terminal,
            run,
            pane,
            bystander,
        }
    }

    fn processes(&self) -> RunProcesses<'_> {
        RunProcesses {
            run: &self.run,
            pane: &self.pane,
            orange: &self.fixture.orange,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.fixture.path("w").join(name)
    }

    fn count(&self, name: &str) -> u64 {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    fn wait_until_counting(&self, name: &str) {
        let before = self.count(name);
        wait_for(&format!("{name} to count"), || {
            self.count(name) > before + 3
        });
    }

    /// Whether these counters stand still for as long as it takes the program beside them to count
    /// to fifty.
    fn stand_still(&self, names: &[&str]) {
        let counts = || names.iter().map(|it| self.count(it)).collect::<Vec<_>>();
        let (before, beside) = (counts(), self.count("beside"));
        wait_for("the program beside it", || {
            self.count("beside") > beside + 50
        });
        assert_eq!(counts(), before);
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ended = self.bystander.kill();
        let _reaped = self.bystander.wait();
        let timeouts = KillTimeouts {
            after_term: Duration::from_millis(100),
            after_kill: Duration::from_secs(10),
        };
        let _none_left = end_run_processes(&self.run, &[], &[], timeouts);
    }
}

/// The agent counts, and so do a child of it and one in a session of its own.
fn counting() -> String {
    format!(
        "{COUNT}count child &\nsetsid sh -c '{COUNT}count session' &\n\
         (read line < /dev/tty; echo \"$line\" > typed) &\ncount agent"
    )
}

const COUNTERS: [&str; 3] = ["agent", "child", "session"];

#[test]
fn a_frozen_run_stands_still_until_it_is_thawed() {
    for around in FREEZABLE {
        let fixture = Fixture::new();
        let frozen = Frozen::start(&fixture, &counting(), around);
        for name in COUNTERS {
            frozen.wait_until_counting(name);
        }
        let stopped = freeze(frozen.processes(), TIMEOUT).unwrap();
        assert!(stopped.len() >= 4, "{around:?}: {stopped:?}");
        frozen.stand_still(&COUNTERS);
        // Neither a typed key nor a client nor another size continues it.
        frozen.terminal.keys(&["typed", "Enter"]);
        let mut client = Command::new("tmux");
        client.arg("-S").arg(fixture.path("s"));
        client.args(["-C", "attach-session"]).env_remove("TMUX");
        let client = client.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut client = client.spawn().unwrap();
        wait_for("a client", || {
            !frozen.terminal.tmux(&["list-clients"]).is_empty()
        });
        frozen
            .terminal
            .tmux(&["resize-window", "-x", "100", "-y", "30"]);
        frozen.stand_still(&COUNTERS);
        // Freezing again is harmless.
        let again = freeze(frozen.processes(), TIMEOUT).unwrap();
        assert_eq!(again.len(), stopped.len(), "{around:?}");
        frozen.stand_still(&COUNTERS);
        assert!(!frozen.path("typed").exists());
        for _ in 0..2 {
            thaw(frozen.processes(), TIMEOUT).unwrap();
            for name in COUNTERS {
                frozen.wait_until_counting(name);
            }
        }
        wait_for("the typed line", || {
            fs::read_to_string(frozen.path("typed")).is_ok_and(|text| text == "typed\n")
        });
        client.kill().unwrap();
        client.wait().unwrap();
    }
}

#[test]
fn a_run_that_has_ended_is_neither_frozen_nor_thawed() {
    for around in FREEZABLE {
        let fixture = Fixture::new();
        let script = "until [ -e go ]; do sleep 0.02; done; echo done > done";
        let frozen = Frozen::start(&fixture, script, around);
        fs::write(frozen.path("go"), "").unwrap();
        wait_for("the end", || frozen.path("done").exists());
        let has_ended = || frozen.pane.liveness() == orange_effects::process::Liveness::Gone;
        wait_for("the pane to end", has_ended);
        assert_eq!(freeze(frozen.processes(), TIMEOUT), Ok(Vec::new()));
        assert_eq!(thaw(frozen.processes(), TIMEOUT), Ok(Vec::new()));
        frozen.wait_until_counting("beside");
    }
}

#[test]
fn a_run_that_was_not_made_for_it_is_not_frozen() {
    let fixture = Fixture::new();
    let frozen = Frozen::start(&fixture, &format!("{COUNT}count agent"), Around::Nothing);
    frozen.wait_until_counting("agent");
    let refused = freeze(frozen.processes(), TIMEOUT).unwrap_err();
    assert!(
        matches!(refused, FreezeError::NotFreezable { .. }),
        "{refused}"
    );
    frozen.wait_until_counting("agent");
}

#[test]
fn a_frozen_run_can_be_killed() {
    for around in FREEZABLE {
        let fixture = Fixture::new();
        let mark = fixture.mark().replace('s', "7");
        let script = format!("sleep 1000.{mark} &\n{}", counting());
        let frozen = Frozen::start(&fixture, &script, around);
        frozen.wait_until_counting("agent");
        freeze(frozen.processes(), TIMEOUT).unwrap();
        let timeouts = KillTimeouts {
            after_term: Duration::from_millis(300),
            after_kill: Duration::from_secs(20),
        };
        let pane = std::slice::from_ref(&frozen.pane);
        end_run_processes(&frozen.run, pane, &[], timeouts).unwrap();
        wait_for("the tree to end", || {
            processes_with(&format!("1000.{mark}")).is_empty()
        });
    }
}

/// What stands still while it writes to the store would keep everybody from writing.
#[test]
fn a_call_of_orange_is_not_frozen() {
    let fixture = Fixture::new();
    let orange = fixture.orange.display();
    let script = format!(
        "{COUNT}mkfifo input\n{orange} mcp < input &\necho $! > call\nexec 3> input\ncount agent"
    );
    let frozen = Frozen::start(&fixture, &script, Around::Freezable);
    frozen.wait_until_counting("agent");
    let call = frozen.count("call");
    let program = format!("/proc/{call}/exe");
    wait_for("the call", || {
        fs::read_link(&program).is_ok_and(|path| path == Path::new(&fixture.orange))
    });
    let stopped = freeze(frozen.processes(), TIMEOUT).unwrap();
    assert!(
        stopped.iter().all(|it| u64::from(it.pid) != call),
        "{stopped:?}"
    );
    let state = || fs::read_to_string(format!("/proc/{call}/stat")).unwrap();
    let stays = Deadline::after(Duration::from_millis(300)).wait_for(|| state().contains(") T "));
    assert!(!stays, "{}", state());
    frozen.stand_still(&["agent"]);
}
