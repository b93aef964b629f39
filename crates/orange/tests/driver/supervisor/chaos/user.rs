//! A user that answers, reviews, merges, and respawns lost agents.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use orange_engine::Task;
use orange_engine::names::TaskId;

use super::World;
use crate::failures::deaths::next;

/// How long a task may show no change before the user checks its agent.
const QUIET: Duration = Duration::from_secs(15);

/// How long the user waits before giving the same task another command.
const PAUSE: Duration = Duration::from_secs(2);

/// One thread of user commands, for some of the tasks.
pub struct User<'a> {
    world: &'a World,
    hand: usize,
    hands: usize,
    state: u64,
    seen: BTreeMap<TaskId, LastSeen>,
}

struct LastSeen {
    version: u64,
    since: Instant,
    asked: Option<Instant>,
}

impl<'a> User<'a> {
    pub fn new(world: &'a World, hand: usize, hands: usize) -> Self {
        User {
            world,
            hand,
            hands,
            state: world.seed + u64::try_from(hand).unwrap(),
            seen: BTreeMap::new(),
        }
    }

    /// Handles its tasks until it is over.
    pub fn run(mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            for (place, task) in self.world.tasks().iter().enumerate() {
                let is_mine = place % self.hands == self.hand;
                if is_mine && !is_over.load(Ordering::Relaxed) {
                    self.handle(task);
                }
            }
            thread::sleep(Duration::from_millis(300));
        }
    }

    fn handle(&mut self, task: &Task) {
        let now = Instant::now();
        let new = || LastSeen {
            version: task.version,
            since: now,
            asked: None,
        };
        let seen = self.seen.entry(task.id.clone()).or_insert_with(new);
        if seen.version != task.version {
            seen.version = task.version;
            seen.since = now;
        }
        if seen.asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
            return;
        }
        let is_quiet = seen.since.elapsed() > QUIET;
        let id = task.id.as_str();
        let drawn = next(&mut self.state);
        let command: Vec<&str> = match task.status.as_str() {
            "pending" | "resuming" => vec!["task", "spawn", id],
            "clarification" => vec!["task", "update", id, "--status", "planning"],
            "reviewing" if drawn.is_multiple_of(6) => {
                vec!["task", "request-changes", id, "-m", "More."]
            }
            "reviewing" => vec!["task", "merge", id, "--strategy", "merge"],
            "stuck" if drawn.is_multiple_of(8) => vec!["task", "cancel", id],
            "stuck" => vec!["task", "update", id, "--status", "working"],
            "planning" | "working" | "agent-review" if is_quiet => {
                self.kill_idle_agent(task);
                vec!["task", "respawn", id]
            }
            _ => return,
        };
        let (code, output) = self.world.stage.call(&command);
        self.world
            .log(&format!("{} -> {code}\n{output}", command.join(" ")));
        if let Some(seen) = self.seen.get_mut(&task.id) {
            seen.asked = Some(Instant::now());
            if is_quiet {
                seen.since = Instant::now();
            }
        }
    }

    /// Kills an agent that does nothing the way a user does: through its pane.
    fn kill_idle_agent(&self, task: &Task) {
        let live = task.runs.values().filter(|run| run.state.is_live());
        let live: Vec<&str> = live.map(|run| run.id.as_str()).collect();
        let format = "#{@orange_run} #{pane_id}";
        let panes = self.world.stage.tmux(&["list-panes", "-a", "-F", format]);
        for line in panes.lines() {
            if let Some((run, pane)) = line.split_once(' ')
                && live.contains(&run)
            {
                self.world.stage.tmux(&["kill-pane", "-t", pane]);
            }
        }
    }
}
