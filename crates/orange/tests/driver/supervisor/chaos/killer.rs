//! Kills the supervisor, commands and the tmux server at random.

use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::failures::deaths::{callers, kill, next};
use crate::support::Stage;

/// Kills processes, and restarts those that have to run.
pub struct Killer<'a> {
    stage: &'a Stage,
    serving: Mutex<Option<Child>>,
    commands: AtomicUsize,
    supervisors: AtomicUsize,
    stops: AtomicUsize,
    servers: AtomicUsize,
}

impl<'a> Killer<'a> {
    pub fn new(stage: &'a Stage) -> Self {
        Killer {
            stage,
            serving: Mutex::new(None),
            commands: AtomicUsize::new(0),
            supervisors: AtomicUsize::new(0),
            stops: AtomicUsize::new(0),
            servers: AtomicUsize::new(0),
        }
    }

    /// Starts a supervisor to replace the previous one.
    pub fn serve(&self) {
        let mut serve = self.stage.orange(&["serve"]);
        serve.stdout(Stdio::null()).stderr(Stdio::null());
        *self.serving.lock().unwrap() = Some(serve.spawn().unwrap());
    }

    /// Kills until `is_calm` is set; a supervisor runs afterwards.
    pub fn kill_at_random(&self, seed: u64, is_calm: &AtomicBool) {
        let mut state = seed;
        while !is_calm.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(200 + next(&mut state) % 1_500));
            match next(&mut state) % 20 {
                0 => self.kill_server(next(&mut state)),
                1..=5 => self.kill_supervisor(next(&mut state)),
                6..=7 => self.stop_supervisor(),
                _ => self.kill_command(next(&mut state)),
            }
        }
        self.end_supervisor("-9");
        self.serve();
    }

    pub fn summary(&self) -> String {
        let count = |of: &AtomicUsize| of.load(Ordering::Relaxed);
        format!(
            "killed: {} commands, {} supervisors ({} more were asked to stop), {} tmux servers",
            count(&self.commands),
            count(&self.supervisors),
            count(&self.stops),
            count(&self.servers)
        )
    }

    fn kill_command(&self, chosen: u64) {
        let callers = callers(self.stage);
        let chosen = usize::try_from(chosen).unwrap();
        if let Some(pid) = callers.get(chosen % callers.len().max(1)) {
            kill(*pid);
            self.commands.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn kill_supervisor(&self, pause: u64) {
        self.end_supervisor("-9");
        self.supervisors.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(pause % 2_000));
        self.serve();
    }

    fn stop_supervisor(&self) {
        self.end_supervisor("-TERM");
        self.stops.fetch_add(1, Ordering::Relaxed);
        self.serve();
    }

    fn end_supervisor(&self, signal: &str) {
        if let Some(mut child) = self.serving.lock().unwrap().take() {
            let mut kill = Command::new("kill");
            let _gone = kill.args([signal, &child.id().to_string()]).output();
            let _reaped = child.wait();
        }
    }

    fn kill_server(&self, how: u64) {
        if how.is_multiple_of(2) {
            self.stage.tmux(&["kill-server"]);
        } else {
            let pid = self.stage.tmux(&["display-message", "-p", "#{pid}"]);
            let Ok(pid) = pid.trim().parse() else {
                return;
            };
            kill(pid);
        }
        self.servers.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Killer<'_> {
    fn drop(&mut self) {
        self.end_supervisor("-9");
    }
}
