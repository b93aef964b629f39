//! A user's home, a repository and a scripted model for one test.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_config::{Environment, Home};
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_store::Store;
use scripted_model::Model;
use serde_json::Value;
use tempfile::TempDir;

use crate::agent::{self, Agent};
use crate::namespace::CANARY;
use crate::network;
use crate::report::{self, Measurement};

const MINIMAL: &str = include_str!("../../../../workflows/minimal.yml");

/// How long a condition may take: agents start slowly, more so on a loaded machine.
pub const SOON: Duration = Duration::from_mins(4);

/// Files of the user that no agent in a sandbox may read.
const SECRETS: [&str; 3] = [".ssh/id_ed25519", ".netrc", "notes.txt"];

/// Whether an agent runs in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    Sandbox,
    /// One without namespaces.
    Partial,
    Nothing,
}

/// Everything one test needs. Every process it starts ends with the namespace.
pub struct Stage {
    root: TempDir,
    port: u16,
    environment: Environment,
    agents: Vec<Agent>,
    watch: Stopwatch,
}

impl Stage {
    /// A repository with a commit, and a user who has set up these agents.
    pub fn new(agents: &[Agent]) -> Stage {
        Stage::with(agents, &[])
    }

    /// The same; in a sandbox, the user has secrets too.
    pub fn around(around: Around, agents: &[Agent]) -> Stage {
        let mut stage = Stage::new(agents);
        if around == Around::Partial {
            stage.remove_bwrap();
        }
        stage.surround(around, "");
        stage
    }

    /// Replaces each folder of the `PATH` that has bwrap by one with everything else.
    fn remove_bwrap(&mut self) {
        let mut variables = self.environment.variables().clone();
        let path = variables[OsStr::new("PATH")].clone();
        let folders = std::env::split_paths(&path)
            .enumerate()
            .map(|(number, folder)| {
                if !folder.join("bwrap").exists() {
                    return folder;
                }
                let others = self.path(&format!("programs-{number}"));
                fs::create_dir(&others).unwrap();
                for entry in fs::read_dir(folder).unwrap().flatten() {
                    if entry.file_name() != "bwrap" {
                        symlink(entry.path(), others.join(entry.file_name())).unwrap();
                    }
                }
                others
            });
        let path = std::env::join_paths(folders).unwrap();
        variables.insert("PATH".into(), path);
        self.environment = Environment::of(variables);
    }

    /// Puts every agent in a sandbox from now on; `more` are other settings.
    fn surround(&self, around: Around, more: &str) {
        let home = self.path("person/orange");
        fs::create_dir_all(&home).unwrap();
        let mode = match around {
            Around::Nothing | Around::Freezable => "off",
            Around::Sandbox => "required",
            Around::Partial => "auto",
        };
        let settings = format!("{more}[sandbox]\nmode = \"{mode}\"\n");
        fs::write(home.join("config.toml"), settings).unwrap();
        if around != Around::Nothing {
            for name in SECRETS {
                let path = self.path("person").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, CANARY).unwrap();
            }
        }
    }

    /// Asserts that the model heard of a sandbox from each of these roles, or of none.
    pub fn assert_around(&self, around: Around, roles: &[&str]) {
        let requests = self.requests();
        for role in roles {
            let mut bodies = requests.iter().filter(|it| it["role"] == *role);
            let mark = match around {
                Around::Sandbox | Around::Nothing | Around::Freezable => "host-is-orange",
                Around::Partial => "ORANGE_SANDBOX_CALLS=",
            };
            let is_inside = bodies.any(|it| it["body"].to_string().contains(mark));
            assert_eq!(is_inside, around != Around::Nothing, "{role}");
        }
    }

    /// The same for a user whose terminal was opened by a process that sets these variables.
    pub fn with(agents: &[Agent], more: &[(&'static str, &str)]) -> Stage {
        let more = more
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        let more: Vec<_> = more.collect();
        let stage = Stage::at(agents, |port| {
            [agent::variables(port), more.clone()].concat()
        });
        for agent in agents {
            agent.settle(&stage.path("person"), stage.port, &stage.path("repo"));
            if let Some(words) = agent.first_start() {
                stage.start_once(words);
            }
        }
        stage
    }

    /// The same with a supervisor, and this agent for every task.
    pub fn with_supervisor(agent: Agent) -> Stage {
        Stage::with_supervisor_around(Around::Nothing, agent)
    }

    pub fn with_supervisor_around(around: Around, agent: Agent) -> Stage {
        let stage = Stage::new(&[agent]);
        // An agent that writes a failure only into its transcript is polled now and then.
        stage.surround(around, "[supervisor]\nsweep = \"2s\"\n");
        stage.orange(&["project", "add", "--harness", agent.name()]);
        stage.orange(&["serve", "--detach"]);
        stage
    }

    /// The same for a user who has installed the agents but never started one.
    pub fn never_started(agents: &[Agent]) -> Stage {
        Stage::at(agents, |_| Vec::new())
    }

    fn at(agents: &[Agent], given: impl Fn(u16) -> Vec<(&'static str, String)>) -> Stage {
        assert!(network::is_isolated(), "this must not see a network");
        // Some agents refuse to start if their settings are below the temporary folder.
        let root = TempDir::with_prefix("o-").unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["person", "scripts", "repo", "tmp", "bin"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        let model = Model::start(&path("scripts"), &path("requests"), 0).unwrap();
        let port = model.port();
        thread::spawn(move || model.serve());
        let folders = agent::installed(&agent::prefix(), agents).unwrap();
        let inherited = std::env::var_os("PATH").unwrap();
        // Programs that a test puts there come before the machine's own.
        let folders = [path("bin")].into_iter().chain(folders);
        let folders = folders.chain(std::env::split_paths(&inherited));
        let own: [(&str, OsString); 8] = [
            ("PATH", std::env::join_paths(folders).unwrap()),
            ("HOME", path("person").into()),
            ("TMPDIR", path("tmp").into()),
            ("ORANGE_HOME", path("person/orange").into()),
            ("LANG", "C.UTF-8".into()),
            ("SHELL", "/bin/bash".into()),
            // No definition passes this variable on, so no agent may see it.
            ("PERSON_CANARY", CANARY.into()),
            ("TERM", "xterm-256color".into()),
        ];
        let given = given(port).into_iter();
        let given = given.map(|(name, value)| (name, OsString::from(value)));
        let environment = Environment::of(own.into_iter().chain(given));
        let stage = Stage {
            root,
            port,
            environment,
            agents: agents.to_vec(),
            watch: Stopwatch::start(),
        };
        for call in [
            "init -q -b main",
            "config user.email agent@example.org",
            "config user.name Agent",
            "commit -q --allow-empty -m first",
        ] {
            assert!(stage.git(call).status.success(), "git {call}");
        }
        stage.surround(Around::Nothing, "");
        stage
    }

    /// Runs an agent's own program to completion, as the user did before.
    fn start_once(&self, words: &[&str]) {
        let mut agent = Command::new(words[0]);
        agent.args(&words[1..]).current_dir(self.path("person"));
        agent.env_clear().envs(self.environment.variables());
        let started = agent.stdin(Stdio::null()).output().unwrap();
        assert!(started.status.success(), "{words:?}: {started:?}");
    }

    /// A program that the user starts in the checkout.
    pub fn program(&self, words: &[&str]) -> Command {
        let mut program = Command::new(words[0]);
        program.args(&words[1..]).current_dir(self.path("repo"));
        program.env_clear().envs(self.environment.variables());
        program.stdin(Stdio::null());
        program
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A workflow `careful`: the minimal one, with a worker that has reduced permissions.
    pub fn make_careful(&self) {
        let careful = MINIMAL
            .replace("name: minimal", "name: careful")
            .replace("permissions: full", "permissions: reduced");
        let workflows = self.path("person/orange/workflows");
        fs::create_dir_all(&workflows).unwrap();
        fs::write(workflows.join("careful.yml"), careful).unwrap();
    }

    /// The model's script for one turn of the task on this branch.
    pub fn script(&self, branch: &str, turn: &str, text: &str) {
        let path = self.path("scripts").join(branch).join(turn);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Every request to the model so far, except one that is still being written.
    pub fn requests(&self) -> Vec<Value> {
        let log = fs::read(self.path("requests")).unwrap_or_default();
        let end = log.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let log = String::from_utf8(log[..end].to_vec()).unwrap();
        let lines = log.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    pub fn store(&self) -> Store {
        Store::open(&Home::resolve(&self.environment).unwrap()).unwrap()
    }

    /// Creates and starts a task, and returns its id.
    pub fn create(&self, branch: &str, options: &[&str]) -> TaskId {
        let arguments = ["task", "create", branch, "Greet in French", "--json"];
        // A task that finds no workspace waits in the queue, and the command says so.
        let created = self.orange_unchecked(&[&arguments, options].concat());
        let is_begun = matches!(created.status.code(), Some(0 | 6));
        assert!(is_begun, "{options:?}: {created:?}");
        let answer: Value = serde_json::from_slice(&created.stdout).unwrap();
        TaskId::new(answer["task"]["id"].as_str().unwrap())
    }

    /// Respawns an agent as soon as its death is noticed; a large one takes a while to die.
    pub fn respawn(&self, id: &TaskId) {
        let respawned = || {
            let answer = self.orange_unchecked(&["task", "respawn", id.as_str()]);
            answer.status.success()
        };
        self.wait_until(id, "its death", respawned);
    }

    pub fn wait_until(&self, id: &TaskId, what: &str, holds: impl Fn() -> bool) {
        let in_time = Deadline::after(SOON).wait_for(holds);
        assert!(
            in_time,
            "timed out waiting for {what}:\n{}",
            self.diagnostics(id)
        );
    }

    /// Waits until the agent asks the model for this step of a turn.
    pub fn wait_for_step(&self, id: &TaskId, role: &str, turn: u64, step: u64) {
        let is_it = |it: &Value| it["role"] == role && it["turn"] == turn && it["step"] == step;
        let in_time = Deadline::after(SOON).wait_for(|| self.requests().iter().any(is_it));
        assert!(
            in_time,
            "timed out waiting for {role} {turn}:\n{}",
            self.diagnostics(id)
        );
    }

    pub fn wait_for(&self, id: &TaskId, status: &str) {
        let is_there = || self.store().require(id).unwrap().task.status.as_str() == status;
        let in_time = Deadline::after(SOON).wait_for(is_there);
        assert!(
            in_time,
            "timed out waiting for `{status}`:\n{}",
            self.diagnostics(id)
        );
    }

    /// The statuses a task went through.
    pub fn way(&self, id: &TaskId) -> Vec<String> {
        let events = self.store().events(id, 0).unwrap();
        let changes = events.iter().filter_map(|it| match &it.event.fact {
            Fact::StatusChanged(changed) => Some(changed.to.to_string()),
            _ => None,
        });
        changes.collect()
    }

    /// Everything that may explain a failure.
    pub fn diagnostics(&self, id: &TaskId) -> String {
        let history = self.orange_unchecked(&["task", "history", id.as_str()]);
        let mut text = String::from_utf8_lossy(&history.stdout).into_owned();
        for request in self.requests() {
            let line = ["path", "role", "turn", "step", "fault", "answer"].map(|it| &request[it]);
            let _ = writeln!(text, "{line:?}");
        }
        text.push_str(&self.screens());
        text
    }

    /// What the terminals of all agents show.
    pub fn screens(&self) -> String {
        let mut text = String::new();
        for pane in self.panes() {
            let screen = self.tmux(&["capture-pane", "-p", "-t", &pane]);
            let lines = screen.lines().filter(|line| !line.trim().is_empty());
            text.push_str(&lines.collect::<Vec<_>>().join("\n"));
        }
        text
    }

    /// Presses a key in the terminals of all agents.
    pub fn press(&self, key: &str) {
        for pane in self.panes() {
            self.tmux(&["send-keys", "-t", &pane, key]);
        }
    }

    fn panes(&self) -> Vec<String> {
        let panes = self.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
        panes.lines().map(str::to_owned).collect()
    }

    /// Calls tmux on orange's own server.
    pub fn tmux(&self, arguments: &[&str]) -> String {
        let socket = Home::resolve(&self.environment).unwrap().tmux_socket();
        let mut tmux = Command::new("tmux");
        let output = tmux.arg("-S").arg(&socket).args(arguments).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    /// Calls the program as a user does; it must succeed.
    pub fn orange(&self, arguments: &[&str]) -> Output {
        let output = self.orange_unchecked(arguments);
        assert!(output.status.success(), "orange {arguments:?}: {output:?}");
        output
    }

    pub fn orange_unchecked(&self, arguments: &[&str]) -> Output {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        orange.args(arguments).current_dir(self.path("repo"));
        orange.env_clear().envs(self.environment.variables());
        orange.stdin(Stdio::null()).output().unwrap()
    }

    /// A supervisor in the foreground, for a test that kills it.
    pub fn serve(&self) -> Child {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        orange.arg("serve").current_dir(self.path("repo"));
        orange.env_clear().envs(self.environment.variables());
        let quiet = orange.stdin(Stdio::null()).stdout(Stdio::null());
        quiet.stderr(Stdio::null()).spawn().unwrap()
    }

    pub fn git(&self, arguments: &str) -> Output {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path("repo"));
        git.args(arguments.split(' ')).env_clear();
        git.envs(self.environment.variables()).output().unwrap()
    }

    pub fn git_text(&self, arguments: &str) -> String {
        let output = self.git(arguments);
        assert!(output.status.success(), "git {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Asserts that no canary reached the model and that no process is left running.
    pub fn assert_clean(&self, what: &str) {
        let log = fs::read_to_string(self.path("requests")).unwrap_or_default();
        assert!(!log.contains(CANARY), "an agent gave the canary away");
        let gone = || running().is_empty();
        let in_time = Deadline::after(Duration::from_secs(20)).wait_for(gone);
        assert!(in_time, "left running: {:?}", running());
        report::record_measurement(&Measurement {
            what,
            agents: &self.agents,
            seconds: self.watch.elapsed().as_secs(),
            requests: log.lines().count(),
            packets: network::rejected_packets(),
        });
    }
}

/// The processes that carry a run's mark in their environment, with their command lines.
pub fn running() -> BTreeMap<u32, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let environ = read("environ");
        let mut variables = environ.split(|byte| *byte == 0);
        let is_marked = variables.any(|it| it.starts_with(b"ORANGE_RUN_ID="));
        let pid = entry.file_name().to_string_lossy().parse();
        if let (true, Ok(pid)) = (is_marked, pid) {
            let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            found.insert(pid, line);
        }
    }
    found
}
