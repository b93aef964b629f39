//! An agent's terminal in a real tmux, with and without a sandbox.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;

use crate::fixture::{ALL, Around, Fixture, LEVELS, processes_with, wait_for};

/// A tmux server of one test.
pub struct Terminal<'a> {
    fixture: &'a Fixture,
}

impl Terminal<'_> {
    pub fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.fixture.path("s"));
        tmux.args(["-f", "/dev/null"]).args(arguments);
        let output = tmux.env_remove("TMUX").stdin(Stdio::null()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    /// Runs a script in a pane that stays when it ends.
    fn start<'a>(fixture: &'a Fixture, script: &str, around: Around) -> Terminal<'a> {
        Terminal::run(fixture, &fixture.run_file(script, around))
    }

    /// The same with a run file.
    pub fn run<'a>(fixture: &'a Fixture, file: &Path) -> Terminal<'a> {
        let terminal = Terminal { fixture };
        let orange = fixture.orange.display().to_string();
        let file = file.display().to_string();
        let size = ["-x", "80", "-y", "24"];
        // Before the pane is there: its program may end at once.
        let keep = [
            "start-server",
            ";",
            "set-option",
            "-g",
            "remain-on-exit",
            "on",
            ";",
        ];
        let start = ["new-session", "-d"];
        let run = [&orange[..], "exec-run", &file];
        terminal.tmux(&[&keep[..], &start, &size, &run].concat());
        terminal
    }

    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"][..], keys].concat());
    }

    /// How the pane ended: its exit status and its signal, unless tmux missed them.
    fn wait_for_ending(&self) -> Option<String> {
        let format = "#{pane_dead} #{pane_dead_status} #{pane_dead_signal}";
        let shown = || self.tmux(&["list-panes", "-F", format]);
        wait_for("the pane to end", || shown().starts_with('1'));
        // tmux may learn later how it ended, and tmux 3.3a sometimes never does.
        let patience = Deadline::after(Duration::from_secs(5));
        if !patience.wait_for(|| shown().trim().starts_with("1 ")) {
            eprintln!("NOT SHOWN: tmux did not report how the pane ended");
            return None;
        }
        Some(shown().trim().to_owned())
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Appends a word to a file that the test reads.
const SAY: &str = "say() { echo \"$1\" >> log; }\n";

fn wait_for_word(fixture: &Fixture, word: &str) {
    let path = fixture.path("w/log");
    let text = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_for(&format!("`{word}` in the log: {}", text()), || {
        text().lines().any(|line| line == word)
    });
}

#[test]
fn an_interrupt_reaches_the_agent_alone() {
    for around in ALL {
        let fixture = Fixture::new();
        let script = format!(
            "{SAY}trap 'say interrupted; count=x$count; [ $count = xx ] && exit 5' INT\n\
             say ready; while :; do sleep 0.05; done"
        );
        let terminal = Terminal::start(&fixture, &script, around);
        wait_for_word(&fixture, "ready");
        terminal.keys(&["C-c"]);
        wait_for_word(&fixture, "interrupted");
        terminal.keys(&["C-c"]);
        let ending = terminal.wait_for_ending();
        assert!(ending.is_none_or(|it| it == "1 5"), "{around:?}");
    }
    // An agent that does not handle it ends by it.
    for around in ALL {
        let fixture = Fixture::new();
        let script = format!("{SAY}say ready; exec sleep 1000");
        let terminal = Terminal::start(&fixture, &script, around);
        wait_for_word(&fixture, "ready");
        terminal.keys(&["C-c"]);
        let ending = terminal.wait_for_ending();
        assert!(ending.is_none_or(|it| it.ends_with(" 2")), "{around:?}");
    }
}

#[test]
fn a_stopped_agent_continues_at_once() {
    for around in LEVELS {
        let fixture = Fixture::new();
        // It starts no program in a loop: a shell that waits for a child between vfork and exec
        // does not stop, and its child, which does, is not ours to continue.
        let script = format!(
            "{SAY}trap 'say continued' CONT; trap 'say end; exit 0' USR1\n\
         sleep 1000 &\nsay ready; while :; do wait $!; done"
        );
        let terminal = Terminal::start(&fixture, &script, around);
        wait_for_word(&fixture, "ready");
        terminal.keys(&["C-z"]);
        wait_for_word(&fixture, "continued");
        terminal.keys(&["C-z"]);
        let pid = processes_with(fixture.path("w/script-").to_str().unwrap());
        assert!(!pid.is_empty());
        // It still reacts.
        let shown = terminal.tmux(&["list-panes", "-F", "#{pane_pid} #{pane_dead}"]);
        let mut parts = shown.split_whitespace();
        crate::fixture::kill("-USR1", parts.next().unwrap().parse().unwrap());
        wait_for_word(&fixture, "end");
        assert!(terminal.wait_for_ending().is_none_or(|it| it == "1 0"));
    }
}

#[test]
fn the_size_and_the_terminal_itself_are_there() {
    for around in ALL {
        let fixture = Fixture::new();
        let script = format!(
            "{SAY}trap 'say \"$(stty size < /dev/tty)\"' WINCH\n\
             say \"$(stty size)\"; tty -s && say terminal; say shown; echo shown > /dev/tty\n\
             read line < /dev/tty; say \"$line\"\n\
             while :; do sleep 0.05; done"
        );
        let terminal = Terminal::start(&fixture, &script, around);
        wait_for_word(&fixture, "24 80");
        wait_for_word(&fixture, "terminal");
        terminal.keys(&["typed", "Enter"]);
        wait_for_word(&fixture, "typed");
        terminal.tmux(&["resize-window", "-x", "100", "-y", "30"]);
        wait_for_word(&fixture, "30 100");
        let screen = terminal.tmux(&["capture-pane", "-p"]);
        assert!(screen.starts_with("shown"), "{screen}");
    }
}

#[test]
fn an_agent_cannot_type_into_its_terminal() {
    // TIOCSTI by its low 32 bits, as in CVE-2019-10063.
    let type_x = "perl -e 'for my $request (0x5412, 0x100005412) { $! = 0; my $c = \"x\"; \
                  syscall(SYS_ioctl, 0, $request, $c); print $! + 0, \"\\n\" }'";
    let type_x = type_x.replace("SYS_ioctl", &libc::SYS_ioctl.to_string());
    for around in ALL {
        let fixture = Fixture::new();
        let script = format!("{SAY}say \"typed $({type_x} | tr '\\n' ' ')\"");
        let terminal = Terminal::start(&fixture, &script, around);
        let ending = terminal.wait_for_ending();
        let log = std::fs::read_to_string(fixture.path("w/log")).unwrap();
        match around {
            Around::Sandbox | Around::Partial => assert_eq!(log, "typed 1 1 \n", "{ending:?}"),
            Around::Nothing | Around::Freezable if log == "typed 0 0 \n" => {}
            Around::Nothing | Around::Freezable => {
                eprintln!("NOT SHOWN: this kernel refuses TIOCSTI itself: {log}");
            }
        }
    }
}

#[test]
fn nothing_survives_the_end_of_the_pane() {
    for around in LEVELS {
        let fixture = Fixture::new();
        let mark = fixture.mark().replace('s', "8");
        let script = format!(
            "{SAY}trap '' HUP TERM; setsid sleep 1000.{mark} &\nsleep 1000.{mark} &\n\
         say ready; while :; do sleep 1000.{mark}; done"
        );
        let terminal = Terminal::start(&fixture, &script, around);
        wait_for_word(&fixture, "ready");
        wait_for("the tree", || {
            processes_with(&format!("1000.{mark}")).len() >= 3
        });
        terminal.tmux(&["kill-session"]);
        wait_for("the tree to end", || {
            processes_with(&format!("1000.{mark}")).is_empty()
        });
    }
}
