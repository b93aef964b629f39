//! Many agents in their own home, for benches that watch them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use orange_config::Environment;
use orange_driver::{Answer, Driver, NewTaskRequest, TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{HarnessName, ProjectName, TaskId};
use orange_engine::role::Role;
use orange_engine::task::{AgentSettings, Queueing};
use tempfile::TempDir;

/// Clock ticks of processor time per second.
const TICKS: f64 = 100.0;

/// Agents that run until this is dropped.
pub struct Fleet {
    root: TempDir,
    pub tasks: Vec<TaskId>,
}

impl Fleet {
    /// `sessions` agents, each running `program` with these arguments.
    pub fn new(sessions: usize, program: &str, arguments: &[&str]) -> Fleet {
        let mut fleet = Fleet {
            root: TempDir::with_prefix("o-bench-").unwrap(),
            tasks: Vec::new(),
        };
        fs::create_dir_all(fleet.path("home/harnesses")).unwrap();
        fs::create_dir_all(fleet.path("repo")).unwrap();
        for line in [
            "init -q -b main",
            "config user.email ada@example.org",
            "config user.name Ada",
            "commit -q --allow-empty -m first",
        ] {
            let mut git = Command::new("git");
            git.args(line.split(' ')).current_dir(fleet.path("repo"));
            git.env_clear().envs(fleet.environment().variables());
            assert!(git.status().unwrap().success(), "{line}");
        }
        let harness = format!(
            "name = \"script\"\nbinary = {program:?}\n[args]\nfull = {arguments:?}\n\
             reduced = {arguments:?}\n"
        );
        fs::write(fleet.path("home/harnesses/script.toml"), harness).unwrap();
        let pool = format!("[pool]\nsize = {sessions}\n[sandbox]\nmode = \"off\"\n");
        fs::write(fleet.path("home/config.toml"), pool).unwrap();
        let added = fleet.driver().admin.add_project(
            &fleet.path("repo"),
            Some(ProjectName::new("app")),
            Some(String::from("minimal")),
            Some(HarnessName::new("script")),
        );
        assert!(added.unwrap().1);
        for number in 0..sessions {
            let task = fleet.start(number);
            fleet.tasks.push(task);
        }
        fleet
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn environment(&self) -> Environment {
        Environment::of([
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", self.root.path().into()),
            ("ORANGE_HOME", self.path("home").into()),
            ("SHELL", "/bin/sh".into()),
        ])
    }

    pub fn driver(&self) -> Driver {
        let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
        Driver::new(&self.environment(), orange).unwrap()
    }

    /// Creates a task.
    pub fn create(&self, number: usize) -> TaskId {
        let new = NewTaskRequest {
            project: Some(ProjectName::new("app")),
            by: Role::Human,
            summary: format!("Add line {number}"),
            context: None,
            branch: None,
            workflow: None,
            harness: None,
            review_harness: None,
            status: None,
            agent_settings: AgentSettings::default(),
            labels: Vec::new(),
            queueing: Queueing::default(),
            issue: None,
            job: None,
            pull_request: None,
        };
        let Answer::Done(created) = self
            .driver()
            .requests
            .create(&new, WaitPolicy::Here)
            .unwrap()
        else {
            panic!("task {number} was not created");
        };
        created.task.id
    }

    fn start(&self, number: usize) -> TaskId {
        let task = self.create(number);
        let request = TaskRequest {
            task: task.clone(),
            request: Request::new(Role::Human, RequestKind::Verb(Verb::Spawn)),
            waiting: WaitPolicy::Here,
        };
        assert!(matches!(
            self.driver().requests.ask(&request),
            Ok(Answer::Done(_))
        ));
        task
    }

    pub fn tmux(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S")
            .arg(self.driver().context.home().tmux_socket());
        tmux.args(arguments).env_remove("TMUX");
        tmux.stdin(Stdio::null()).stderr(Stdio::null());
        tmux
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _gone = self.tmux(&["kill-server"]).status();
    }
}

/// Seconds of processor time used by a process and by the children it has waited for.
pub fn used(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit(')').next().unwrap();
    let fields: Vec<f64> = rest
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    fields[11..15].iter().sum::<f64>() / TICKS
}

/// A number from the environment, or the default.
pub fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}
