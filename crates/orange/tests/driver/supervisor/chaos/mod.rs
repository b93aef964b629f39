//! Many tasks, everything killed at random, and nothing is lost.
//!
//! `CHAOS_SEED` determines what agents do and what is killed when; `CHAOS_TASKS` and
//! `CHAOS_SECONDS` set how many tasks and for how long. Every test run includes a short version;
//! the long one is
//! `CHAOS_TASKS=200 CHAOS_SECONDS=900 cargo nextest run -p orange --test driver chaos`.

mod invariants;
mod killer;
mod user;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use self::killer::Killer;
use self::user::User;
use orange_config::clock::Deadline;
use orange_engine::Task;
use orange_store::TaskFilter;

use crate::failures::deaths::next;
use crate::support::Stage;

const AGENT: &str = include_str!("agent.sh");

/// What a worker does in a turn before it works honestly, or instead.
const WORKERS: [&str; 13] = [
    "slow",
    "crash",
    "kill",
    "segv",
    "quit",
    "hang",
    "forge",
    "rewrite",
    "survivors",
    "dirty",
    "ask",
    "stuck",
    "quota",
];

/// The same for a reviewer.
const REVIEWERS: [&str; 7] = ["fail", "fail", "slow", "crash", "kill", "quit", "hang"];

/// The maximum number of turns in a plan that may go wrong.
const MOST_TURNS: u64 = 3;

/// A number from the environment, or the default.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// The stage of a chaos test: the tasks, and what their agents will do.
pub struct World {
    pub stage: Stage,
    seed: u64,
    tasks: u64,
}

impl World {
    pub fn new(seed: u64, tasks: u64) -> World {
        let stage = Stage::new("default");
        fs::create_dir_all(stage.path("world/plans")).unwrap();
        let agent = stage.path("chaos-agent");
        fs::write(&agent, AGENT).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
        let harness = format!(
            "name = \"script\"\nbinary = \"{}\"\n[args]\n\
             full = [\"--prompt-file\", \"{{prompt_file}}\"]\n\
             reduced = [\"--prompt-file\", \"{{prompt_file}}\"]\n",
            agent.display()
        );
        fs::write(stage.path("home/harnesses/script.toml"), harness).unwrap();
        let settings = "[limits]\nagents = 10\n[pool]\nsize = 12\n[supervisor]\nsweep = \"5s\"\n";
        fs::write(stage.path("home/config.toml"), settings).unwrap();
        let world = World { stage, seed, tasks };
        world.draw_plans();
        world
    }

    fn draw_plans(&self) {
        let mut state = self.seed;
        for number in 0..self.tasks {
            for (role, acts) in [("worker", &WORKERS[..]), ("reviewer", &REVIEWERS[..])] {
                let turns = next(&mut state) % (MOST_TURNS + 1);
                let drawn = (0..turns).map(|_| {
                    let chosen = usize::try_from(next(&mut state)).unwrap();
                    format!("{}\n", acts[chosen % acts.len()])
                });
                let plan: String = drawn.collect();
                let path = self.stage.path(&format!("world/plans/{number}-{role}"));
                fs::write(path, plan).unwrap();
            }
        }
    }

    pub fn create_tasks(&self) {
        for number in 0..self.tasks {
            let summary = format!("Write line number {number}");
            let created = ["task", "create", &summary, "--no-spawn", "--json"];
            self.stage.run_ok(&created);
        }
    }

    /// Keeps the output of a user's command.
    fn log(&self, line: &str) {
        let path = self.stage.path("world/told");
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.unwrap(), "{line}").unwrap();
    }

    /// The output of the user's commands about a task.
    fn command_output(&self, task: &Task) -> String {
        let output = fs::read_to_string(self.stage.path("world/told")).unwrap_or_default();
        let parts = output.split("task ");
        let own = parts.filter(|part| {
            part.lines()
                .next()
                .is_some_and(|it| it.contains(task.id.as_str()))
        });
        own.collect::<Vec<_>>().join("task ")
    }

    fn tasks(&self) -> Vec<Task> {
        let listing = self.stage.store().list(&TaskFilter::default()).unwrap();
        listing.tasks.into_iter().map(|it| it.task).collect()
    }
}

impl World {
    /// Runs for this long, or until everything has ended; then, without kills, for as long as that
    /// takes within `patience`. Returns whether everything has ended.
    pub fn run(&self, time: Duration, patience: Duration) -> bool {
        let killer = Killer::new(&self.stage);
        killer.serve();
        let is_calm = AtomicBool::new(false);
        let is_over = AtomicBool::new(false);
        let rest = thread::scope(|scope| {
            scope.spawn(|| killer.kill_at_random(self.seed, &is_calm));
            for hand in 0..3 {
                let is_over = &is_over;
                scope.spawn(move || User::new(self, hand, 3).run(is_over));
            }
            Deadline::after(time).wait_for(|| self.has_ended());
            fs::write(self.stage.path("world/calm"), "").unwrap();
            is_calm.store(true, Ordering::Relaxed);
            let rest = Deadline::after(patience).wait_for(|| self.has_ended());
            is_over.store(true, Ordering::Relaxed);
            rest
        });
        println!("{}", killer.summary());
        rest
    }
}

#[test]
fn nothing_is_lost_in_chaos() {
    let seed = number("CHAOS_SEED", 1);
    let tasks = number("CHAOS_TASKS", 12);
    let seconds = number("CHAOS_SECONDS", 30);
    let world = World::new(seed, tasks);
    world.create_tasks();
    // The calm phase takes time too: what was started has to end, partly by user commands.
    let patience = Duration::from_secs(180 + 8 * tasks);
    let rest = world.run(Duration::from_secs(seconds), patience);
    invariants::check_invariants(&world, rest);
}
