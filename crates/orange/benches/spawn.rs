//! How long starting a task takes, compared with the bare commands.
//!
//! Run with `cargo bench -p orange --bench spawn`. Bare means `git fetch`, `git status`, `git
//! switch` and `tmux new-session` in an existing worktree. Ours is the same through `task spawn` on
//! a warm pool: decided, recorded, checked out and started, with every check that prevents lost
//! work. It fails when the ratio of the command is over 2. Below each total come its parts, measured separately, and
//! the programs that were started, which do not depend on how busy the machine is.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark measures time and prints what it measured"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use orange_config::Environment;
use orange_driver::{Answer, Driver, NewTaskRequest, TaskRequest, WaitPolicy};
use orange_effects::git::{AcquireRequest, AcquireResult, Git, ReleaseRequest, Slot};
use orange_effects::tmux::{Socket, StartRequest, Tmux};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, HarnessName, ProjectName, RunId, TaskId, WorkspaceName};
use orange_engine::role::Role;
use orange_engine::task::AgentSettings;
use tempfile::TempDir;

/// How often each is measured; the median counts.
const ROUNDS: usize = 15;

/// The highest ratio of `task spawn` to the bare commands.
const LIMIT: f64 = 2.0;

/// The number of files in the repository.
const FILES: usize = 2000;

struct Bench {
    root: TempDir,
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn environment(&self) -> Environment {
        let mut path = self.path("programs").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        Environment::of([
            ("PATH", path),
            ("HOME", self.root.path().into()),
            ("ORANGE_HOME", self.path("home").into()),
            ("SHELL", "/bin/sh".into()),
        ])
    }

    fn run(&self, directory: &Path, words: &[&str]) {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(directory);
        command.env_clear().envs(self.environment().variables());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{words:?}");
    }

    /// A repository with a remote, and a home with a pool of one workspace.
    fn new() -> Bench {
        let bench = Bench {
            root: TempDir::with_prefix("o-bench-").unwrap(),
        };
        for folder in ["home/harnesses", "programs", "repo"] {
            fs::create_dir_all(bench.path(folder)).unwrap();
        }
        let repo = bench.path("repo");
        for number in 0..FILES {
            let folder = repo.join(format!("src/{}", number % 50));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{number}.txt")), "text\n".repeat(50)).unwrap();
        }
        for line in [
            "git init -q -b main",
            "git config user.email ada@example.org",
            "git config user.name Ada",
            "git add -A",
            "git commit -q -m first",
            "git clone -q --bare . ../remote.git",
            "git remote add origin ../remote.git",
            "git fetch -q origin",
            "git worktree add -q --detach ../bare",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            bench.run(&repo, &words);
        }
        let harness = "name = \"script\"\nbinary = \"/bin/sleep\"\n[args]\nfull = [\"600\"]\n\
                       reduced = [\"600\"]\n";
        fs::write(bench.path("home/harnesses/script.toml"), harness).unwrap();
        let settings = "[sandbox]\nmode = \"off\"\n";
        fs::write(bench.path("home/config.toml"), settings).unwrap();
        let added = bench.driver().admin.add_project(
            &repo,
            Some(ProjectName::new("app")),
            Some(String::from("minimal")),
            Some(HarnessName::new("script")),
        );
        assert!(added.unwrap().1);
        bench
    }

    fn driver(&self) -> Driver {
        let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
        Driver::new(&self.environment(), orange).unwrap()
    }

    fn bare(&self, number: usize) -> Duration {
        let (at, socket) = (self.path("bare"), self.path("bare.sock"));
        let socket = socket.display().to_string();
        let branch = format!("bare-{number}");
        let start = Instant::now();
        self.run(&at, &["git", "fetch", "-q", "origin", "main"]);
        self.run(&at, &["git", "status", "--porcelain"]);
        self.run(&at, &["git", "switch", "-q", "-c", &branch, "origin/main"]);
        let session = ["tmux", "-S", &socket, "new-session", "-d", "-s", &branch];
        self.run(&at, &[&session[..], &["sleep", "600"]].concat());
        let took = start.elapsed();
        self.run(&at, &["git", "switch", "-q", "--detach", "origin/main"]);
        took
    }

    fn create(&self) -> TaskId {
        let new = NewTaskRequest {
            project: None,
            by: Role::Human,
            summary: String::from("Add a line"),
            context: None,
            branch: None,
            workflow: None,
            harness: None,
            review_harness: None,
            status: None,
            agent_settings: AgentSettings::default(),
            labels: Vec::new(),
            queueing: orange_engine::task::Queueing::default(),
            issue: None,
            job: None,
            pull_request: None,
        };
        match self
            .driver()
            .requests
            .create(&new, WaitPolicy::Here)
            .unwrap()
        {
            Answer::Done(changed) => changed.task.id,
            other => panic!("{other:?}"),
        }
    }

    fn ask(&self, task: &TaskId, verb: Verb) {
        let answer = self.driver().requests.ask(&TaskRequest {
            task: task.clone(),
            request: Request::new(Role::Human, RequestKind::Verb(verb)),
            waiting: WaitPolicy::Here,
        });
        assert!(matches!(answer.unwrap(), Answer::Done(_)));
    }

    fn ours(&self) -> Duration {
        let task = self.create();
        let start = Instant::now();
        self.ask(&task, Verb::Spawn);
        let took = start.elapsed();
        self.ask(&task, Verb::Cancel);
        took
    }

    /// The whole command, with the performer as a separate process.
    fn program(&self) -> Duration {
        let task = self.create();
        let words = [env!("CARGO_BIN_EXE_orange"), "task", "spawn", task.as_str()];
        let start = Instant::now();
        self.run(&self.path("repo"), &words);
        let took = start.elapsed();
        self.ask(&task, Verb::Cancel);
        took
    }

    /// Only git's part.
    fn checkout(&self, number: usize) -> Duration {
        let task = TaskId::new(format!("t{number}"));
        let branch = BranchName::new(format!("checkout-{number}"));
        let name = WorkspaceName::new("own--1");
        let path = self.path("own/own--1");
        let slot = Slot {
            name: &name,
            path: &path,
        };
        let default = BranchName::new("main");
        let start = Instant::now();
        let git = Git::open("git", &self.path("repo"), &self.environment()).unwrap();
        let acquired = git.acquire(&AcquireRequest {
            slot,
            task: &task,
            branch: &branch,
            known_commit: None,
            default: Some(&default),
            merges_stay_here: true,
            task_file: "TASK.md",
            excluded: &[],
            aside: &self.path("aside"),
        });
        let took = start.elapsed();
        assert!(matches!(acquired.unwrap(), AcquireResult::Acquired(_)));
        let default = Some(&default);
        let task = &task;
        git.release(&ReleaseRequest {
            slot,
            task,
            branch: None,
            default,
        })
        .unwrap();
        took
    }

    /// Only the pane.
    fn pane(&self, number: usize) -> Duration {
        let tmux = Tmux::new(
            "tmux",
            Socket::Private(self.path("own.sock")),
            &self.environment(),
        );
        let run_file = self.path("no-run-file");
        let start = Instant::now();
        let started = tmux.start(&StartRequest {
            run: &RunId::new(format!("r{number}")),
            task: &TaskId::new(format!("t{number}")),
            role: &Role::Worker,
            project: &ProjectName::new("app"),
            branch: &BranchName::new(format!("pane-{number}")),
            window: "work",
            orange: Path::new(env!("CARGO_BIN_EXE_orange")),
            run_file: &run_file,
            is_first: true,
        });
        let took = start.elapsed();
        assert!(!started.unwrap().already_existed);
        took
    }

    /// Starting this program without any work.
    fn nothing(&self) -> Duration {
        let start = Instant::now();
        let root = self.root.path();
        self.run(root, &[env!("CARGO_BIN_EXE_orange"), "--version"]);
        start.elapsed()
    }

    /// The programs that a start runs, found by putting logging wrapper scripts first on the
    /// `PATH`.
    fn calls(&self) -> Vec<String> {
        let log = self.path("calls").display().to_string();
        let task = self.create();
        let folders = std::env::var_os("PATH").unwrap();
        let scripts = ["git", "tmux"].map(|name| {
            let real = std::env::split_paths(&folders).map(|folder| folder.join(name));
            let real = real.into_iter().find(|it| it.is_file()).unwrap();
            // The subcommand comes after the options, of which tmux has more.
            let word = if name == "git" { "$2" } else { "$6" };
            let script = format!(
                "#!/bin/sh\necho {name} {word} >>{log}\nexec {} \"$@\"\n",
                real.display()
            );
            let program = self.path("programs").join(name);
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            program
        });
        self.ask(&task, Verb::Spawn);
        for script in scripts {
            fs::remove_file(script).unwrap();
        }
        self.ask(&task, Verb::Cancel);
        let calls = fs::read_to_string(log).unwrap();
        calls.lines().map(str::to_owned).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for socket in ["bare.sock", "own.sock", "home/tmux.sock"] {
            let mut tmux = Command::new("tmux");
            let tmux = tmux.arg("-S").arg(self.path(socket));
            let _gone = tmux.arg("kill-server").output();
        }
    }
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn main() {
    let bench = Bench::new();
    let mut rows: [Vec<Duration>; 6] = std::array::from_fn(|_| Vec::new());
    // The first round creates the worktrees and the tmux servers, and does not count.
    for number in 0..=ROUNDS {
        let times = [
            bench.bare(number),
            bench.ours(),
            bench.program(),
            bench.checkout(number),
            bench.pane(number),
            bench.nothing(),
        ];
        if number > 0 {
            for (row, time) in rows.iter_mut().zip(times) {
                row.push(time);
            }
        }
    }
    let calls = bench.calls();
    let [bare, ours, program, checkout, pane, nothing] = rows.map(middle);
    let rest = ours - checkout - pane;
    println!("bare commands           {bare:7.1} ms");
    println!(
        "spawn, in process       {ours:7.1} ms  ratio {:.2}",
        ours / bare
    );
    println!("  git                   {checkout:7.1} ms");
    println!("  tmux                  {pane:7.1} ms");
    println!("  deciding and keeping  {rest:7.1} ms");
    let ratio = program / bare;
    println!("spawn, the command      {program:7.1} ms  ratio {ratio:.2} (limit {LIMIT})");
    println!(
        "  starting orange       {nothing:7.1} ms, three times in turn: the caller, the process in between, the performer"
    );
    println!("programs: {}: {}", calls.len(), calls.join(", "));
    assert!(ratio <= LIMIT, "the ratio {ratio:.2} is over {LIMIT}");
}
