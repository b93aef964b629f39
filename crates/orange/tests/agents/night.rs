//! A night without anybody: issues, jobs, failures of every kind.

mod outcome;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Child;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_engine::Task;
use orange_engine::names::{FieldName, TaskId};
use orange_engine::task::PendingState;
use orange_store::TaskFilter;
use scripted_forge::{Fault, Forge, Permission};

use crate::agent::Agent;
use crate::namespace::run_in_namespace_for;
use crate::stage::{Stage, running};

const REPOSITORY: &str = "ada/app";

const TURN: &str = include_str!("night/turn.sh");

/// The kind of task that uses up its budget, so that it is not started again.
const GREEDY: &str = "greedy";

/// What an issue asks for, and where its task may be in the morning.
const KINDS: [(&str, &str); 11] = [
    ("good", "done"),
    ("quota", "done"),
    ("crash", "done"),
    ("malformed", "needs_review"),
    ("delegate", "done"),
    ("silent", "done"),
    ("unfinished", "done"),
    ("review", "needs_review"),
    ("blocked", "blocked"),
    ("hopeless", "needs_review"),
    (GREEDY, "new"),
];

/// What a task may use, as in the settings. Only the first run of a greedy one uses more.
const TOKENS: u64 = 30_000;

const SETTINGS: &str = r#"
failover = ["claude", "codex", "gemini", "opencode", "pi"]

[limits]
agents = 4

[budget]
task = "30k tokens"

[supervisor]
sweep = "2s"

[router]
harness = "router"
timeout = "2s"

[forge]
repository = "github.com/ada/app"
poll = "1s"
cold = "1s"
share = 100

[forge.issues]
label = "agent"
workflow = "autopilot"

[sandbox]
mode = "off"
"#;

/// How much happens.
struct Size {
    issues: usize,
    jobs: usize,
    /// How many tasks the jobs create before they are disabled.
    job_tasks: usize,
    /// How long the forge fails.
    outage: Duration,
    /// How long a supervisor lives before it is killed.
    life: Duration,
    longest: Duration,
}

struct Night {
    forge: Forge,
    stage: Stage,
    size: Size,
    issues: Vec<(u64, &'static str)>,
}

impl Night {
    fn new(agents: &[Agent], size: Size) -> Night {
        let forge = Forge::start_for(size.longest);
        forge.lift_secondary_limits();
        let remote = forge.repository(REPOSITORY).display().to_string();
        forge.user("grace");
        forge.allow(REPOSITORY, "grace", Permission::Write);
        let token = forge.look(|world| {
            let ada = world.users.iter().find(|it| it.login == "ada");
            ada.unwrap().token.clone()
        });
        let variables = [
            ("GH_TOKEN", token.as_str()),
            ("ORANGE_FORGE_API", &forge.address()),
        ];
        let stage = Stage::with(agents, &variables);
        stage.git_text(&format!("remote add origin {remote}"));
        stage.git_text("push -qf origin main");
        stage.git_text("fetch -q origin");
        let night = Night {
            forge,
            stage,
            size,
            issues: Vec::new(),
        };
        night.configure(agents[0]);
        night
    }

    fn configure(&self, agent: Agent) {
        let stage = &self.stage;
        fs::create_dir_all(stage.path("night")).unwrap();
        let turn = stage.path("night/turn.sh");
        fs::write(&turn, TURN).unwrap();
        stage.script("any", "worker-1", &format!("run sh {}\n", turn.display()));
        let home = stage.path("person/orange");
        fs::create_dir_all(home.join("harnesses")).unwrap();
        fs::write(home.join("config.toml"), SETTINGS).unwrap();
        // A router that never answers.
        let router = stage.path("bin/router");
        fs::write(&router, "#!/bin/sh\nexec sleep 600\n").unwrap();
        fs::set_permissions(&router, fs::Permissions::from_mode(0o700)).unwrap();
        let definition = "name = \"router\"\nbinary = \"router\"\n[args]\nfull = []\n\
                          [args.headless]\nreduced = [\"{prompt_file}\"]\n\
                          [result]\ninput_tokens = [{ keys = [\"in\"] }]\n\
                          output_tokens = [{ keys = [\"out\"] }]\n";
        fs::write(home.join("harnesses/router.toml"), definition).unwrap();
        let add = ["project", "add", "--workflow", "autopilot", "--harness"];
        stage.orange(&[&add[..], &[agent.name()]].concat());
        for number in 0..self.size.jobs {
            let (name, summary) = (format!("job-{number}"), format!("Greet {number} daily"));
            stage.orange(&["job", "add", "* * * * *", &summary, "--name", &name]);
        }
    }

    /// The issues of the night, each with the label of an agent, or with none for the router.
    fn open_issues(&mut self, agents: &[Agent]) {
        for number in 0..self.size.issues {
            let kind = KINDS[number % KINDS.len()].0;
            let title = format!("Greet {number} {kind}");
            let issue = self.forge.issue(REPOSITORY, "grace", &title, "In French.");
            self.forge.advance(Duration::from_secs(1));
            let of_agent = agents.get(number % (agents.len() + 1));
            if let Some(agent) = of_agent {
                let label = format!("agent:{}", agent.name());
                self.forge.label(REPOSITORY, issue, "grace", &label);
            }
            self.forge.label(REPOSITORY, issue, "grace", "agent");
            self.issues.push((issue, kind));
        }
    }

    fn tasks(&self) -> BTreeMap<TaskId, Task> {
        let listed = self.stage.store().list(&TaskFilter::default());
        let tasks = listed.unwrap().tasks.into_iter().map(|it| it.task);
        tasks.map(|task| (task.id.clone(), task)).collect()
    }

    fn job_tasks(&self) -> usize {
        let tasks = self.tasks();
        tasks.values().filter(|it| it.job.is_some()).count()
    }

    /// Everything has happened, and each task has ended or waits for a person.
    fn is_over(&self) -> bool {
        let tasks = self.tasks();
        let of_issues = tasks.values().filter(|it| it.issue.is_some()).count();
        of_issues >= self.issues.len()
            && self.job_tasks() >= self.size.job_tasks
            && tasks.values().all(|task| self.rests(task))
            && self.commented()
    }

    /// Whether nothing happens to a task any more unless the user or the budget lets it.
    fn rests(&self, task: &Task) -> bool {
        let is_greedy = self.kind_of(task) == Some(GREEDY);
        let is_held = is_greedy && task.status.as_str() == "new" && attempts(task) == 2;
        let mut pending = task.pending.iter();
        (is_held || matches!(task.status.as_str(), "done" | "blocked" | "needs_review"))
            && pending.all(|it| it.state != PendingState::Waiting)
    }

    /// What the issue of a task asks for.
    fn kind_of(&self, task: &Task) -> Option<&'static str> {
        let number = task.issue.as_ref()?.number;
        let found = self.issues.iter().find(|it| it.0 == number);
        found.map(|it| it.1)
    }

    /// Whether each issue has the last word about its task.
    fn commented(&self) -> bool {
        let issues = self.issues.iter();
        let mut issues = issues.map(|(number, _)| self.forge.get(REPOSITORY, *number));
        issues.all(|issue| !issue.comments.is_empty())
    }

    fn diagnostics(&self) -> String {
        let list = self.stage.orange_unchecked(&["task", "list", "--all"]);
        let attention = self.stage.orange_unchecked(&["attention", "--all"]);
        let text = [list.stdout, attention.stdout].concat();
        let tasks = self.tasks();
        let moving = tasks.values().filter(|it| !self.rests(it));
        let explain = |task: &Task| {
            let why = self
                .stage
                .orange_unchecked(&["task", "why", task.id.as_str()]);
            let why = String::from_utf8_lossy(&why.stdout).into_owned();
            format!(
                "{why}\n{:#?}\n{}",
                task.runs,
                self.stage.diagnostics(&task.id)
            )
        };
        let histories = moving.take(3).map(explain);
        let text = String::from_utf8_lossy(&text).into_owned();
        let log = fs::read_to_string(self.stage.path("person/orange/orange.log"));
        let log = log.unwrap_or_default();
        let log: Vec<&str> = log.lines().rev().take(40).collect();
        format!(
            "{text}\n{}\n{:#?}\n{log:#?}",
            histories.collect::<String>(),
            running()
        )
    }

    /// Lives through the night; returns how many supervisors were killed.
    fn pass(&self) -> usize {
        let deadline = Deadline::after(self.size.longest);
        let watch = Stopwatch::start();
        let mut killed = 0;
        let mut outage = Outage::Ahead;
        let mut jobs_run = self.size.jobs > 0;
        while !self.is_over() || outage != Outage::Over {
            assert!(!deadline.has_passed(), "{}", self.diagnostics());
            let mut supervisor: Child = self.stage.serve();
            let life = Deadline::after(self.size.life);
            life.wait_for(|| {
                outage = self.next(outage, watch.elapsed());
                if jobs_run && self.job_tasks() >= self.size.job_tasks {
                    for number in 0..self.size.jobs {
                        let job = format!("job-{number}");
                        self.stage.orange(&["job", "disable", &job]);
                    }
                    jobs_run = false;
                }
                std::thread::sleep(Duration::from_millis(200));
                outage == Outage::Over && self.is_over()
            });
            supervisor.kill().unwrap();
            supervisor.wait().unwrap();
            killed += 1;
        }
        killed
    }

    fn use_remote(&self, address: &str) {
        self.stage
            .git_text(&format!("remote set-url origin {address}"));
    }

    /// The forge fails for a while, a little after the beginning, and so does git's way to it.
    fn next(&self, outage: Outage, elapsed: Duration) -> Outage {
        let begins = self.size.life;
        match outage {
            Outage::Ahead if elapsed >= begins => {
                self.forge.fault_all(Fault::BadGateway);
                self.use_remote("http://127.0.0.1:9/ada/app.git");
                Outage::Now
            }
            Outage::Now if elapsed >= begins + self.size.outage => {
                self.forge.clear_faults();
                self.use_remote(&self.forge.path(REPOSITORY).display().to_string());
                Outage::Over
            }
            other => other,
        }
    }
}

fn attempts(task: &Task) -> i64 {
    task.fields[&FieldName::new("attempts")]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outage {
    Ahead,
    Now,
    Over,
}

fn live_through(agents: &[Agent], size: Size) {
    let watch = Stopwatch::start();
    let mut night = Night::new(agents, size);
    night.open_issues(agents);
    let killed = night.pass();
    outcome::assert_worktrees(&night);
    outcome::assert_tasks(&night);
    outcome::assert_forge(&night);
    outcome::assert_budget(&night);
    let tasks = night.tasks();
    let runs = tasks
        .keys()
        .map(|id| night.stage.store().runs(id).unwrap().len());
    println!(
        "a night: {} tasks, {} runs, {killed} supervisors killed, {} s",
        tasks.len(),
        runs.sum::<usize>(),
        watch.elapsed().as_secs()
    );
    night.stage.assert_clean("a night");
}

#[test]
fn a_short_night_with_two_agents() {
    let agents = [Agent::Codex, Agent::Pi];
    let size = Size {
        issues: 11,
        jobs: 1,
        job_tasks: 1,
        outage: Duration::from_secs(10),
        life: Duration::from_secs(6),
        longest: Duration::from_mins(6),
    };
    let longest = size.longest + Duration::from_mins(1);
    run_in_namespace_for(
        longest,
        "night::a_short_night_with_two_agents",
        &agents,
        || {
            live_through(&agents, size);
        },
    );
}

#[test]
fn a_whole_night_with_five_agents() {
    let agents = [
        Agent::Claude,
        Agent::Codex,
        Agent::Gemini,
        Agent::Opencode,
        Agent::Pi,
    ];
    let size = Size {
        issues: 40,
        jobs: 5,
        job_tasks: 20,
        outage: Duration::from_mins(10),
        life: Duration::from_mins(1),
        longest: Duration::from_mins(40),
    };
    let longest = size.longest + Duration::from_mins(1);
    run_in_namespace_for(
        longest,
        "night::a_whole_night_with_five_agents",
        &agents,
        || {
            live_through(&agents, size);
        },
    );
}
