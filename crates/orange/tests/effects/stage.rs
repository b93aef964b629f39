//! A tmux server, a home and agents for one test, removed afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{Environment, Harness, Home, StartMode};
use orange_effects::process::{self, KillTimeouts};
use orange_effects::run::{Launch, LaunchError};
use orange_effects::tmux::{
    AttachCommand, KillRequest, KillResult, Observation, Pane, Socket, StartRequest, StartResult,
    Tmux, TmuxError,
};
use orange_engine::language::workflow::Permissions;
use orange_engine::names::{BranchName, ProjectName, RunId, TaskId};
use orange_engine::role::Role;
use tempfile::TempDir;

/// How long a condition may take; a loaded machine is slow.
pub const SOON: Duration = Duration::from_mins(3);

/// Timeouts for ending a run; short, because stubborn agents never exit when asked.
pub const TIMEOUT: KillTimeouts = KillTimeouts {
    after_term: Duration::from_millis(300),
    after_kill: Duration::from_secs(10),
};

/// An agent that does nothing until it is killed.
pub const IDLE: &str = "exec sleep 1000";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Everything one test needs. Dropping it ends the server and every run, panic or not.
pub struct Stage {
    pub root: TempDir,
    pub tmux: Tmux,
    pub environment: Environment,
    runs: RefCell<Vec<RunId>>,
    /// Runs are found by their id on the whole machine, and other tests run in parallel.
    prefix: String,
}

/// The description of one run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub id: &'a str,
    pub task: &'a str,
    pub role: Part,
    pub branch: &'a str,
    pub window: &'a str,
    /// The script that `sh` runs; `$OUT` is its directory, the prompt file its first argument.
    pub script: &'a str,
    pub prompt: &'a str,
    /// The file for all output, if it does not go to the pane.
    pub output: Option<&'a Path>,
}

/// The roles that tests use.
#[derive(Clone, Copy)]
pub enum Part {
    Worker,
    Reviewer,
}

impl From<Part> for Role {
    fn from(role: Part) -> Role {
        match role {
            Part::Worker => Role::Worker,
            Part::Reviewer => Role::Reviewer,
        }
    }
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self {
            id: "r1",
            task: "t1",
            role: Part::Worker,
            branch: "fix",
            window: "work",
            script: IDLE,
            prompt: "do it",
            output: None,
        }
    }
}

impl Stage {
    pub fn new() -> Self {
        let root = TempDir::with_prefix("o-").unwrap();
        let environment = environment(root.path());
        let socket = Socket::Private(root.path().join("s"));
        Self {
            tmux: Tmux::new("tmux", socket, &environment),
            environment,
            root,
            runs: RefCell::default(),
            prefix: format!(
                "{}n{}",
                std::process::id(),
                NEXT.fetch_add(1, Ordering::Relaxed)
            ),
        }
    }

    /// An id that no run of another test has.
    pub fn id(&self, id: &str) -> RunId {
        RunId::new(format!("{}-{id}", self.prefix))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The content of a file that an agent or a test writes, once it exists.
    pub fn wait_for_file(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        wait_for(&format!("{name} to be written"), || path.exists());
        fs::read(path).unwrap()
    }

    /// A pid that an agent wrote.
    pub fn pid(&self, name: &str) -> u32 {
        let text = String::from_utf8(self.wait_for_file(name)).unwrap();
        text.trim().parse().unwrap()
    }

    /// A harness that runs a script with `sh`; a program file that was just written could be busy.
    pub fn harness(&self, script: &str, arguments: &str) -> Harness {
        let file = self.path(&format!("agent-{}", digest(script)));
        // A run that was just started may be reading it.
        if !file.exists() {
            fs::write(&file, script).unwrap();
        }
        let text = format!(
            "name = \"script\"\nbinary = \"/bin/sh\"\n[args]\nfull = [\"{}\", {arguments}]\n\
             [environment]\nset = {{ OUT = \"{}\" }}\n",
            file.display(),
            self.root.path().display(),
        );
        Harness::parse("script.toml", &text).unwrap()
    }

    pub fn launch(&self, run: &Run<'_>) -> PathBuf {
        let harness = self.harness(run.script, "\"{prompt_file}\"");
        self.launch_with(run, &harness).unwrap()
    }

    pub fn launch_with(&self, run: &Run<'_>, harness: &Harness) -> Result<PathBuf, LaunchError> {
        let launch = Launch {
            run: &self.id(run.id),
            task: &TaskId::new(run.task),
            role: &Role::from(run.role),
            proof: "secret-proof",
            harness,
            start_mode: StartMode::Interactive,
            output: run.output,
            permissions: Permissions::Full,
            prompt: run.prompt,
            model: None,
            effort: None,
            session_id: None,
            resumed_id: None,
            directory: self.root.path(),
            home: &Home::resolve(&self.environment).unwrap(),
            environment: &self.environment,
            freezable: false,
            sandbox: None,
        };
        launch.write(&self.path("runs").join(run.id))
    }

    pub fn try_start(&self, run: &Run<'_>, run_file: &Path) -> Result<StartResult, TmuxError> {
        self.try_start_on(&self.tmux, run, run_file)
    }

    pub fn try_start_on(
        &self,
        tmux: &Tmux,
        run: &Run<'_>,
        run_file: &Path,
    ) -> Result<StartResult, TmuxError> {
        self.kill_on_drop(run.id);
        tmux.start(&StartRequest {
            run: &self.id(run.id),
            task: &TaskId::new(run.task),
            role: &Role::from(run.role),
            project: &ProjectName::new("app"),
            branch: &BranchName::new(run.branch),
            window: run.window,
            orange: Path::new(env!("CARGO_BIN_EXE_orange")),
            run_file,
            is_first: false,
        })
    }

    pub fn start(&self, run: &Run<'_>) -> Pane {
        let run_file = self.launch(run);
        self.try_start(run, &run_file).unwrap().pane
    }

    pub fn kill(&self, id: &str) -> KillResult {
        self.try_kill(id).unwrap()
    }

    pub fn try_kill(&self, id: &str) -> Result<KillResult, TmuxError> {
        self.kill_with(&self.tmux, id, None, None)
    }

    /// Kills through another client, with the recorded data and a place for the scrollback.
    pub fn kill_with(
        &self,
        tmux: &Tmux,
        id: &str,
        recorded: Option<&Pane>,
        scrollback: Option<&Path>,
    ) -> Result<KillResult, TmuxError> {
        tmux.kill(&KillRequest {
            run: &self.id(id),
            recorded,
            scrollback,
            spared: &[],
            timeouts: TIMEOUT,
        })
    }

    pub fn is_alive(&self, pane: &Pane) -> bool {
        self.tmux.observe(pane) == Observation::Alive
    }

    /// Calls tmux directly, bypassing the code under test.
    pub fn raw_tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.path("s")).args(arguments);
        tmux.env_remove("TMUX").stdin(Stdio::null());
        let output = tmux.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Kills the server as a crash would, and waits until it is gone.
    pub fn kill_server(&self) {
        let pid = self.raw_tmux(&["display-message", "-p", "#{pid}"]);
        self.raw_tmux(&["kill-server"]);
        wait_for("the server to go", || !is_running(pid.parse().unwrap()));
    }

    /// Attaches in a separate terminal, emulated by another tmux server.
    pub fn attach_in_terminal(&self, attach: &AttachCommand) {
        let command = attach.command.to_string();
        let command = command.trim_matches('`');
        let command = command.replace('$', "\\$").replace(';', "\\;");
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.path("outer"));
        tmux.args(["-f", "/dev/null", "new-session", "-d"]);
        tmux.arg(format!("env -u TMUX {command}"))
            .env_remove("TMUX");
        assert!(tmux.status().unwrap().success());
    }

    /// Closes that terminal, if there is one.
    pub fn close_terminal(&self) {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.path("outer")).arg("kill-server");
        let _nobody = tmux.env_remove("TMUX").output();
    }

    /// Ends a run's processes when the test ends, even if the code under test did not start them.
    pub fn kill_on_drop(&self, id: &str) {
        self.runs.borrow_mut().push(self.id(id));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.close_terminal();
        self.raw_tmux(&["kill-server"]);
        for run in self.runs.borrow().iter() {
            let _tidied = process::end_run_processes(run, &[], &[], TIMEOUT);
        }
    }
}

/// A user's environment, as far as tests need one.
pub fn environment(root: &Path) -> Environment {
    let home = root.join("home");
    let path = std::env::var_os("PATH").unwrap();
    let variables: [(&str, OsString); 5] = [
        ("PATH", path),
        ("HOME", root.into()),
        ("ORANGE_HOME", home.into()),
        ("LANG", "C.UTF-8".into()),
        ("SECRET", "hunter2".into()),
    ];
    Environment::of(variables)
}

pub fn variables(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    pairs.chain([path]).collect()
}

pub fn wait_for(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        Deadline::after(SOON).wait_for(condition),
        "timed out waiting for {what}"
    );
}

/// Whether a process with this pid runs; zombies do not count.
pub fn is_running(pid: u32) -> bool {
    let mut ps = Command::new("ps");
    let output = ps.args(["-o", "stat=", "-p", &pid.to_string()]).output();
    let output = output.unwrap().stdout;
    !output.is_empty() && output[0] != b'Z'
}

/// A name that differs for every text.
fn digest(text: &str) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:x}", hasher.finish())
}
