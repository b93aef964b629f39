//! Agents that run with and without a sandbox.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{Environment, Harness, Home, StartMode};
use orange_effects::run::Launch;
use orange_effects::sandbox::{
    Capabilities, DescribeRequest, Description, Level, Network, describe,
};
use orange_engine::language::workflow::Permissions;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use tempfile::TempDir;

pub use crate::support::around::Around;

static NEXT: AtomicU32 = AtomicU32::new(0);

pub const BOTH: [Around; 2] = [Around::Nothing, Around::Sandbox];

/// Without a sandbox, at each level, and freezable without a sandbox.
pub const ALL: [Around; 4] = [
    Around::Nothing,
    Around::Sandbox,
    Around::Partial,
    Around::Freezable,
];

/// The levels.
pub const LEVELS: [Around; 2] = [Around::Sandbox, Around::Partial];

/// The folders of one test.
pub struct Fixture {
    root: TempDir,
    pub environment: Environment,
    pub orange: PathBuf,
    pub bwrap: PathBuf,
    prefix: String,
}

impl Fixture {
    pub fn new() -> Fixture {
        let root = TempDir::with_prefix("o-").unwrap();
        for folder in ["ada/.ssh", "ada/.config", "w", "private", "orange"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for secret in ["ada/.ssh/id_ed25519", "ada/.netrc", "ada/notes.txt"] {
            fs::write(root.path().join(secret), "canary").unwrap();
        }
        let home = root.path().join("ada");
        let orange_home = root.path().join("orange");
        let variables: [(&str, OsString); 6] = [
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", home.into()),
            ("ORANGE_HOME", orange_home.into()),
            ("LANG", "C.UTF-8".into()),
            ("SSH_AUTH_SOCK", "/nowhere/agent".into()),
            ("SHELL", "/bin/sh".into()),
        ];
        let environment = Environment::of(variables);
        let capabilities = Capabilities::find(&environment, &[]);
        assert_eq!(
            capabilities.level,
            Level::Full,
            "these tests need bubblewrap and user namespaces: {:?}",
            capabilities.gaps
        );
        Fixture {
            bwrap: capabilities.bwrap.unwrap(),
            environment,
            root,
            orange: PathBuf::from(env!("CARGO_BIN_EXE_orange")),
            prefix: format!(
                "{}s{}",
                std::process::id(),
                NEXT.fetch_add(1, Ordering::Relaxed)
            ),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A text that only this test has, to find its processes.
    pub fn mark(&self) -> &str {
        &self.prefix
    }

    pub fn describe(&self) -> Description {
        self.describe_at(Level::Full)
    }

    pub fn describe_at(&self, level: Level) -> Description {
        let home = self.path("ada");
        let private = self.path("private");
        let description = describe(&DescribeRequest {
            bwrap: (level == Level::Full).then_some(&self.bwrap),
            orange: &self.orange,
            user_home: &home,
            orange_home: &self.path("orange"),
            private_home: Some(&private),
            temporary: Some(&self.path("temporary")),
            program: Path::new("/bin/sh"),
            path: self.environment.variable("PATH"),
            read: Vec::new(),
            own: Vec::new(),
            given: Vec::new(),
            copy: Vec::new(),
            share: Vec::new(),
            writable: vec![self.path("w")],
            worktree: None,
            others: Vec::new(),
            network: Network::Open,
            login: None,
        });
        description.unwrap()
    }

    /// The run file of an agent that runs this script with `sh`.
    pub fn run_file(&self, script: &str, around: Around) -> PathBuf {
        let level = match around {
            Around::Sandbox => Some(Level::Full),
            Around::Partial => Some(Level::Partial),
            Around::Nothing | Around::Freezable => None,
        };
        let sandbox = level.map(|level| self.describe_at(level));
        let is_freezable = around != Around::Nothing;
        self.write_run_file(script, sandbox.as_ref(), &[], is_freezable)
    }

    pub fn run_file_with(&self, script: &str, sandbox: Option<&Description>) -> PathBuf {
        self.run_file_of(script, sandbox, &[])
    }

    /// What a script prints, with more variables.
    pub fn output_of(
        &self,
        script: &str,
        sandbox: &Description,
        variables: &[(&str, &str)],
    ) -> String {
        let file = self.run_file_of(script, Some(sandbox), variables);
        let output = self.exec_run(&file).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{text}{errors}")
    }

    pub fn run_file_with_variables(
        &self,
        script: &str,
        sandbox: &Description,
        variables: &[(&str, &str)],
    ) -> PathBuf {
        self.run_file_of(script, Some(sandbox), variables)
    }

    fn run_file_of(
        &self,
        script: &str,
        sandbox: Option<&Description>,
        variables: &[(&str, &str)],
    ) -> PathBuf {
        self.write_run_file(script, sandbox, variables, false)
    }

    fn write_run_file(
        &self,
        script: &str,
        sandbox: Option<&Description>,
        variables: &[(&str, &str)],
        freezable: bool,
    ) -> PathBuf {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = self.path("w").join(format!("script-{number}"));
        fs::write(&file, script).unwrap();
        let more = variables.iter().fold(String::new(), |more, (name, value)| {
            more + &format!(", {name} = \"{value}\"")
        });
        let text = format!(
            "name = \"script\"\nbinary = \"/bin/sh\"\n[args]\nfull = [\"{}\", \"{{prompt_file}}\"]\n\
             [environment]\nset = {{ OUT = \"{}\", PAIN = \"{}\"{more} }}\npass = [\"SSH_AUTH_SOCK\"]\n",
            file.display(),
            self.path("w").display(),
            self.prefix,
        );
        let harness = Harness::parse("script.toml", &text).unwrap();
        let launch = Launch {
            run: &RunId::new(format!("{}-{number}", self.prefix)),
            task: &TaskId::new("t1"),
            role: &Role::Worker,
            proof: "secret-proof",
            harness: &harness,
            start_mode: StartMode::Interactive,
            output: None,
            permissions: Permissions::Full,
            prompt: "do it",
            model: None,
            effort: None,
            session_id: None,
            resumed_id: None,
            directory: &self.path("w"),
            home: &Home::resolve(&self.environment).unwrap(),
            environment: &self.environment,
            freezable,
            sandbox,
        };
        launch
            .write(&self.path("runs").join(number.to_string()))
            .unwrap()
    }

    /// `orange exec-run` as a pane runs it.
    pub fn exec_run(&self, run_file: &Path) -> Command {
        let mut orange = Command::new(&self.orange);
        orange.arg("exec-run").arg(run_file).env_clear();
        orange.env("TERM", "tmux-256color").stdin(Stdio::null());
        orange
    }

    /// Runs a script to its end.
    pub fn output(&self, script: &str, around: Around) -> Output {
        let file = self.run_file(script, around);
        self.exec_run(&file).output().unwrap()
    }

    /// What a script prints.
    pub fn printed(&self, script: &str, around: Around) -> String {
        let output = self.output(script, around);
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{around:?}: {text}{errors}");
        text.into_owned()
    }

    pub fn wait_for_file(&self, name: &str) -> String {
        let path = self.path("w").join(name);
        wait_for(name, || {
            fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
        });
        fs::read_to_string(path).unwrap()
    }
}

/// An exit code, or a signal as a negative number.
pub fn ending(status: ExitStatus) -> i32 {
    match status.signal() {
        Some(signal) => -signal,
        None => status.code().unwrap(),
    }
}

pub fn wait_for(what: &str, condition: impl FnMut() -> bool) {
    let in_time = Deadline::after(Duration::from_mins(1)).wait_for(condition);
    assert!(in_time, "timed out waiting for {what}");
}

/// The living processes with this text among their arguments.
pub fn processes_with(mark: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&arguments).contains(mark) {
            found.push(pid);
        }
    }
    found
}

pub fn kill(signal: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let _gone = kill.args([signal, &pid.to_string()]).output().unwrap();
}
