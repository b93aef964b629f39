//! What watching costs: a supervisor over many idle agents, against bare tmux.
//!
//! Run with `cargo bench -p orange --bench supervise`; `SESSIONS` says how many agents (100 when
//! left out), `SECONDS` how long is watched (60). The limits are 1 % of a core for 100 agents and
//! 5 % for 1,000, 100 MB, and 1.5 times a bare listing for one look at the server.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark measures time and prints what it measured"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use orange::config::Environment;
use orange::driver::{Answer, Asked, Driver, NewWork, Waiting};
use orange::effects::tmux::Heard;
use orange_engine::input::{Ask, Request};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{HarnessName, ProjectName};
use orange_engine::role::Role;
use orange_engine::task::Tuning;
use tempfile::TempDir;

/// How often a look is measured; the middle one counts.
const LOOKS: usize = 51;

/// How many ticks of processor time a second has.
const TICKS: f64 = 100.0;

struct Bench {
    root: TempDir,
    serving: Option<Child>,
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn environment(&self) -> Environment {
        Environment::of([
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", self.root.path().into()),
            ("ORANGE_HOME", self.path("home").into()),
            ("SHELL", "/bin/sh".into()),
        ])
    }

    fn driver(&self) -> Driver {
        let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
        Driver::new(&self.environment(), orange).unwrap()
    }

    fn new(sessions: usize) -> Bench {
        let bench = Bench {
            root: TempDir::with_prefix("o-bench-").unwrap(),
            serving: None,
        };
        fs::create_dir_all(bench.path("home/harnesses")).unwrap();
        fs::create_dir_all(bench.path("repo")).unwrap();
        for line in [
            "init -q -b main",
            "config user.email ada@example.org",
            "config user.name Ada",
            "commit -q --allow-empty -m first",
        ] {
            let mut git = Command::new("git");
            git.args(line.split(' ')).current_dir(bench.path("repo"));
            git.env_clear().envs(bench.environment().variables());
            assert!(git.status().unwrap().success(), "{line}");
        }
        let harness = "name = \"script\"\nbinary = \"/bin/sleep\"\n[args]\nfull = [\"100000\"]\n\
                       reduced = [\"100000\"]\n";
        fs::write(bench.path("home/harnesses/script.toml"), harness).unwrap();
        let pool = format!("[pool]\nsize = {sessions}\n");
        fs::write(bench.path("home/config.toml"), pool).unwrap();
        let added = bench.driver().add_project(
            &bench.path("repo"),
            Some(ProjectName::new("app")),
            Some(String::from("minimal")),
            Some(HarnessName::new("script")),
        );
        assert!(added.unwrap().1);
        for number in 0..sessions {
            bench.start(number);
        }
        bench
    }

    fn start(&self, number: usize) {
        let new = NewWork {
            project: Some(ProjectName::new("app")),
            by: Role::Human,
            summary: format!("Add line {number}"),
            context: None,
            branch: None,
            workflow: None,
            harness: None,
            review_harness: None,
            status: None,
            tuning: Tuning::default(),
            queueing: orange_engine::task::Queueing::default(),
        };
        let Answer::Done(created) = self.driver().create(&new, Waiting::Here).unwrap() else {
            panic!("task {number} was not created");
        };
        let asked = Asked {
            task: created.task.id,
            request: Request {
                by: Role::Human,
                ask: Ask::Verb(Verb::Spawn),
                confirmed: false,
                message: None,
            },
            waiting: Waiting::Here,
        };
        assert!(matches!(self.driver().ask(&asked), Ok(Answer::Done(_))));
    }

    /// Starts the supervisor and lets it settle; its number.
    fn serve(&mut self) -> u32 {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_orange"));
        serve.arg("serve").env_clear();
        serve.envs(self.environment().variables());
        serve.stdout(Stdio::null()).stderr(Stdio::null());
        let child = serve.spawn().unwrap();
        let pid = child.id();
        self.serving = Some(child);
        thread::sleep(Duration::from_secs(5));
        assert!(self.driver().is_supervised());
        pid
    }

    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.driver().home().tmux_socket());
        tmux.args(arguments).env_remove("TMUX");
        tmux.stdin(Stdio::null()).stderr(Stdio::null());
        tmux
    }

    /// One look over the lasting client, as the supervisor does it.
    fn look(&self) -> Duration {
        let (sender, heard) = channel();
        let control = self.driver().control(move |it| {
            let _nobody = sender.send(it);
        });
        let mut control = control.unwrap();
        let mut times = Vec::new();
        for _ in 0..LOOKS {
            let begun = Instant::now();
            control.call_the_roll().unwrap();
            loop {
                match heard.recv().unwrap() {
                    Heard::Roll(roll) => break drop(roll.unwrap()),
                    Heard::Changed => {}
                    Heard::Ended => panic!("the connection has ended"),
                }
            }
            times.push(begun.elapsed());
        }
        middle(times)
    }

    /// A bare `list-panes -a` over such a client, read to its end.
    fn bare(&self) -> Duration {
        let client = ["-N", "-C", "attach-session", "-f", "no-output,ignore-size"];
        let mut client = self.tmux(&client);
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().unwrap();
        let mut input = client.stdin.take().unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        // What is said about attaching comes first.
        writeln!(input, "display-message -p begin").unwrap();
        assert!(lines.any(|line| line.unwrap() == "begin"));
        assert!(lines.any(|line| line.unwrap().starts_with("%end")));
        let mut times = Vec::new();
        for _ in 0..LOOKS {
            let begun = Instant::now();
            writeln!(input, "list-panes -a").unwrap();
            assert!(lines.any(|line| line.unwrap().starts_with("%end")));
            times.push(begun.elapsed());
        }
        drop(input);
        client.wait().unwrap();
        middle(times)
    }

    /// `orange task list`, which looks at every agent.
    fn list(&self) -> Duration {
        let listed = (0..5).map(|_| {
            let mut list = Command::new(env!("CARGO_BIN_EXE_orange"));
            list.args(["task", "list"]).current_dir(self.path("repo"));
            list.env_clear().envs(self.environment().variables());
            let begun = Instant::now();
            assert!(list.output().unwrap().status.success());
            begun.elapsed()
        });
        middle(listed.collect())
    }

    /// One `capture-pane` process for each session, as others do it every second.
    fn captures(&self) -> Duration {
        let mut panes = self.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
        let panes = String::from_utf8(panes.output().unwrap().stdout).unwrap();
        let begun = Instant::now();
        for pane in panes.lines() {
            let mut capture = self.tmux(&["capture-pane", "-p", "-t", pane]);
            assert!(capture.stdout(Stdio::null()).status().unwrap().success());
        }
        begun.elapsed()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(serving) = &mut self.serving {
            let _gone = serving.kill();
            let _reaped = serving.wait();
        }
        let _gone = self.tmux(&["kill-server"]).status();
    }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Seconds of processor time that a process has used.
fn used(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit(')').next().unwrap();
    let fields: Vec<f64> = rest
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    (fields[11] + fields[12]) / TICKS
}

/// Megabytes that a process holds.
fn held(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes: f64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kilobytes / 1024.0
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

fn main() {
    let sessions = number("SESSIONS", 100);
    let seconds = number("SECONDS", 60);
    let mut bench = Bench::new(sessions);
    let pid = bench.serve();
    let before = used(pid);
    let begun = Instant::now();
    thread::sleep(Duration::from_secs(u64::try_from(seconds).unwrap()));
    let share = (used(pid) - before) / begun.elapsed().as_secs_f64() * 100.0;
    let memory = held(pid);
    let (bare, look) = (bench.bare(), bench.look());
    let ratio = look.as_secs_f64() / bare.as_secs_f64();
    let (list, captures) = (bench.list(), bench.captures());
    println!("{sessions} idle agents, watched for {seconds} s");
    println!("supervisor: {share:.2} % of a core, {memory:.0} MB");
    println!("one look: {look:.2?}, bare list-panes: {bare:.2?}, ratio {ratio:.2} (limit 1.5)");
    println!("orange task list: {list:.2?}");
    println!("one capture-pane process per session, once: {captures:.2?}");
    let most = if sessions <= 100 { 1.0 } else { 5.0 };
    assert!(share <= most, "{share:.2} % is more than {most} %");
    assert!(memory < 100.0, "{memory:.0} MB");
}
