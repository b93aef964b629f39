//! The cost of a supervisor over many idle agents, against bare tmux.
//!
//! Run with `cargo bench -p orange --bench supervise`; `SESSIONS` sets the number of agents
//! (default 100), `SECONDS` how long to watch (default 60). The limits are 1 % of a core for 100
//! agents and 2 % for 1,000, 60 MB, and 1.5 times a bare listing for one poll of the server.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark measures time and prints what it measured"
)]

mod captures;
mod fleet;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use orange_config::clock::Deadline;
use orange_effects::tmux::ControlEvent;
use orange_store::Store;

use crate::captures::captures;
use crate::fleet::{Fleet, number, used};

/// How often a poll is measured; the median counts.
const LOOKS: usize = 51;

/// How long a restart may take.
const RESTART: Duration = Duration::from_secs(3);

/// How many megabytes the supervisor may take.
const MEMORY: f64 = 60.0;

struct Bench {
    fleet: Fleet,
    serving: Option<Child>,
}

impl Bench {
    /// Starts the supervisor, lets it settle, and returns its pid.
    fn serve(&mut self) -> u32 {
        let pid = self.start();
        thread::sleep(Duration::from_secs(5));
        assert!(self.fleet.driver().context.is_supervised());
        pid
    }

    fn start(&mut self) -> u32 {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_orange"));
        serve.arg("serve").env_clear();
        serve.envs(self.fleet.environment().variables());
        serve.stdout(Stdio::null()).stderr(Stdio::null());
        let child = serve.spawn().unwrap();
        let pid = child.id();
        self.serving = Some(child);
        pid
    }

    /// Kills the supervisor and an agent. Returns how long the next supervisor takes to record that
    /// the agent has ended, and its processor time until then.
    fn restart(&mut self) -> (Duration, f64) {
        let mut serving = self.serving.take().unwrap();
        serving.kill().unwrap();
        serving.wait().unwrap();
        let task = self.fleet.tasks.last().unwrap().clone();
        let store = Store::open(self.fleet.driver().context.home()).unwrap();
        let run = store.runs(&task).unwrap().remove(0).id;
        let mut panes = self.fleet.tmux(&["list-panes", "-a", "-F"]);
        let panes = panes.arg("#{@orange_run} #{pane_pid}").output().unwrap();
        let panes = String::from_utf8(panes.stdout).unwrap();
        let mut panes = panes.lines().filter_map(|line| line.split_once(' '));
        let (_, agent) = panes.find(|(id, _)| *id == run.as_str()).unwrap();
        let mut kill = Command::new("kill");
        assert!(kill.args(["-KILL", agent]).status().unwrap().success());
        let start = Instant::now();
        let pid = self.start();
        let limit = Deadline::after(Duration::from_mins(2));
        let has_ended = limit.wait_for(|| {
            let task = store.require(&task).unwrap().task;
            task.runs.values().all(|run| run.state.has_ended())
        });
        assert!(has_ended, "the end of the agent was not recorded");
        (start.elapsed(), used(pid))
    }

    /// One poll over the long-lived control client, as the supervisor does it.
    fn look(&self) -> Duration {
        let (sender, heard) = channel();
        let control = self.fleet.driver().views.control(move |it| {
            let _nobody = sender.send(it);
        });
        let mut control = control.unwrap();
        let mut times = Vec::new();
        for _ in 0..LOOKS {
            let start = Instant::now();
            control.request_panes().unwrap();
            loop {
                match heard.recv().unwrap() {
                    ControlEvent::Panes(roll) => break drop(roll.unwrap()),
                    ControlEvent::Changed => {}
                    ControlEvent::Ended => panic!("the connection has ended"),
                }
            }
            times.push(start.elapsed());
        }
        middle(times)
    }

    /// A bare `list-panes -a` over such a client, read to the end.
    fn bare(&self) -> Duration {
        let client = ["-N", "-C", "attach-session", "-f", "no-output,ignore-size"];
        let mut client = self.fleet.tmux(&client);
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().unwrap();
        let mut input = client.stdin.take().unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        // Output about attaching comes first.
        writeln!(input, "display-message -p begin").unwrap();
        assert!(lines.any(|line| line.unwrap() == "begin"));
        assert!(lines.any(|line| line.unwrap().starts_with("%end")));
        let mut times = Vec::new();
        for _ in 0..LOOKS {
            let start = Instant::now();
            writeln!(input, "list-panes -a").unwrap();
            assert!(lines.any(|line| line.unwrap().starts_with("%end")));
            times.push(start.elapsed());
        }
        drop(input);
        client.wait().unwrap();
        middle(times)
    }

    /// `orange task list`, which checks every agent.
    fn list(&self) -> Duration {
        let listed = (0..5).map(|_| {
            let mut list = Command::new(env!("CARGO_BIN_EXE_orange"));
            list.args(["task", "list"])
                .current_dir(self.fleet.path("repo"));
            list.env_clear().envs(self.fleet.environment().variables());
            let start = Instant::now();
            assert!(list.output().unwrap().status.success());
            start.elapsed()
        });
        middle(listed.collect())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(serving) = &mut self.serving {
            let _gone = serving.kill();
            let _reaped = serving.wait();
        }
    }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Resident memory of a process, in megabytes.
fn resident_megabytes(pid: u32) -> f64 {
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

fn main() {
    let sessions = number("SESSIONS", 100);
    let seconds = number("SECONDS", 60);
    let mut bench = Bench {
        fleet: Fleet::new(sessions, "/bin/sleep", &["100000"]),
        serving: None,
    };
    let pid = bench.serve();
    let before = used(pid);
    let start = Instant::now();
    thread::sleep(Duration::from_secs(u64::try_from(seconds).unwrap()));
    let share = (used(pid) - before) / start.elapsed().as_secs_f64() * 100.0;
    let memory = resident_megabytes(pid);
    let (bare, look) = (bench.bare(), bench.look());
    let ratio = look.as_secs_f64() / bare.as_secs_f64();
    let (list, captures) = (bench.list(), captures(&bench.fleet));
    println!("{sessions} idle agents, watched for {seconds} s");
    println!("supervisor: {share:.2} % of a core, {memory:.0} MB");
    println!("one look: {look:.2?}, bare list-panes: {bare:.2?}, ratio {ratio:.2} (limit 1.5)");
    println!("orange task list: {list:.2?}");
    println!("one capture-pane process per session, once: {captures:.2?}");
    let (restart, processor) = bench.restart();
    println!(
        "a restart, until an agent that ended meanwhile is noticed: {restart:.2?}, \
         {processor:.2} s of a processor (limit 3 s)"
    );
    let most = if sessions <= 100 { 1.0 } else { 2.0 };
    assert!(share <= most, "{share:.2} % is more than {most} %");
    assert!(
        memory < MEMORY,
        "{memory:.0} MB is not less than {MEMORY} MB"
    );
    assert!(restart <= RESTART, "{restart:.2?} is more than {RESTART:?}");
}
