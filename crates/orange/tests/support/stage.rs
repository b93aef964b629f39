//! A home, a repository, a tmux server and scripts for one test.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{Environment, Home, ORANGE_BRANCH, ORANGE_WAIT};
use orange_driver::{Bounds, Driver, ProjectSettings};
use orange_effects::process::{self, KillTimeouts};
use orange_engine::Task;
use orange_engine::names::{HarnessName, ProjectName, TaskId};
use orange_store::{Store, TaskFilter};
use tempfile::TempDir;

/// How long a condition may take; a loaded machine is slow.
pub const SOON: Duration = Duration::from_mins(3);

const AGENT: &str = include_str!("agent.sh");

/// The smallest valid definition, which must work exactly as written.
const HARNESS: &str = r#"name = "script"
binary = "/path/to/agent"        # or a name on PATH
[args]
full    = ["--prompt-file", "{prompt_file}"]
reduced = ["--prompt-file", "{prompt_file}"]
"#;

const USAGE: &str = r#"
[usage]
transcripts = "~/transcripts"
at = { keys = ["at"] }
request = [{ keys = ["id"] }]
input_tokens = [{ keys = ["in"] }]
cached_tokens = [{ keys = ["cached"] }]
output_tokens = [{ keys = ["out"] }]
cost_usd = [{ keys = ["cost"] }]
"#;

/// Everything one test needs. Dropping it ends every process it started, panic or not.
pub struct Stage {
    root: TempDir,
    pub environment: Environment,
}

impl Stage {
    /// Makes the definition say that agents report this event.
    pub fn declare_event(&self, event: &str) {
        let path = self.path("home/harnesses/script.toml");
        let definition = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("events = [\"{event}\"]\n{definition}")).unwrap();
    }

    /// Makes the definition say where agents write down what they use.
    pub fn declare_usage(&self) {
        let path = self.path("home/harnesses/script.toml");
        let definition = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{definition}{USAGE}")).unwrap();
    }

    /// A home with a project `app` that uses this workflow.
    pub fn new(workflow: &str) -> Stage {
        Stage::at(TempDir::with_prefix("o-").unwrap(), workflow)
    }

    /// The same on a memory disk, so that a thousand commits need not wait; programs may not run
    /// there.
    pub fn in_memory(workflow: &str) -> Stage {
        let root = TempDir::with_prefix_in("o-", "/dev/shm");
        let root = root.or_else(|_| TempDir::with_prefix("o-"));
        Stage::at(root.unwrap(), workflow)
    }

    fn at(root: TempDir, workflow: &str) -> Stage {
        let environment = environment(root.path(), &[]);
        let stage = Stage { root, environment };
        for folder in ["home/harnesses", "scripts", "repo"] {
            fs::create_dir_all(stage.path(folder)).unwrap();
        }
        let agent = stage.path("agent");
        fs::write(&agent, AGENT).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
        let harness = HARNESS.replace("/path/to/agent", agent.to_str().unwrap());
        fs::write(stage.path("home/harnesses/script.toml"), harness).unwrap();
        // The developer may have these agents, and the first installed one would be used.
        for name in ["claude", "codex", "gemini", "opencode", "pi"] {
            let absent = format!("name = \"{name}\"\nbinary = \"/nowhere/x\"\n[args]\nfull = []\n");
            fs::write(stage.path(&format!("home/harnesses/{name}.toml")), absent).unwrap();
        }
        for call in [
            "init -q -b main",
            "config user.email agent@example.org",
            "config user.name Agent",
            "commit -q --allow-empty -m first",
        ] {
            assert!(stage.git(call).status.success(), "git {call}");
        }
        let added = stage.driver().admin.add_project(
            &stage.path("repo"),
            Some(ProjectName::new("app")),
            Some(workflow.to_owned()),
            Some(HarnessName::new("script")),
        );
        assert!(added.unwrap().1);
        // The script of an agent is in a folder that no sandbox shows. Tests replace the settings,
        // so this stands with the project.
        let settings = ProjectSettings {
            sandbox_mode: Some(String::from("off")),
            ..ProjectSettings::default()
        };
        let admin = stage.driver().admin;
        admin
            .update_project(&ProjectName::new("app"), &settings)
            .unwrap();
        stage
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn home(&self) -> Home {
        Home::resolve(&self.environment).unwrap()
    }

    pub fn driver(&self) -> Driver {
        let orange = PathBuf::from(env!("CARGO_BIN_EXE_orange"));
        let bounds = Bounds {
            tries: 3,
            backoff: Duration::from_millis(20),
            kill_timeouts: KillTimeouts {
                after_term: Duration::from_millis(300),
                after_kill: Duration::from_secs(10),
            },
        };
        let driver = Driver::new(&self.environment, orange).unwrap();
        driver.with_bounds(bounds)
    }

    /// Sets what an agent does in a turn.
    pub fn script(&self, turn: &str, text: &str) {
        // Renamed into place, because an agent may be waiting for it and must not read a part.
        let whole = self.path("scripts").join(format!(".{turn}"));
        fs::write(&whole, text).unwrap();
        fs::rename(&whole, self.path("scripts").join(turn)).unwrap();
    }

    /// Waits until an agent has finished a turn.
    pub fn wait_for_turn(&self, turn: &str) {
        let turns = self.path("scripts/turns");
        wait_for(&format!("turn {turn}; {}", self.calls()), || {
            let turns = fs::read_to_string(&turns).unwrap_or_default();
            turns.lines().any(|line| line == turn)
        });
    }

    /// The agents' calls and their answers.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.path("scripts/calls")).unwrap_or_default()
    }

    pub fn store(&self) -> Store {
        Store::open(&self.home()).unwrap()
    }

    pub fn task(&self, id: &TaskId) -> Task {
        self.store().require(id).unwrap().task
    }

    pub fn wait_for_status(&self, id: &TaskId, status: &str) {
        let in_time = Deadline::after(SOON).wait_for(|| self.task(id).status.as_str() == status);
        assert!(
            in_time,
            "waited in vain for `{status}`:\n{}",
            self.diagnostics(id)
        );
    }

    /// Waits until nothing is pending.
    pub fn wait_until_idle(&self, id: &TaskId) {
        let in_time = Deadline::after(SOON).wait_for(|| self.task(id).pending.is_empty());
        assert!(in_time, "effects are left:\n{}", self.diagnostics(id));
    }

    /// Deletes the database and rebuilds it with the real command: the decided state must be the
    /// same as before.
    pub fn rebuild(&self, id: &TaskId) {
        let before = self.task(id);
        let runs = self.store().runs(id).unwrap();
        let inbox = self.store().inbox(id).unwrap();
        self.lose_database();
        let (code, _) = self.call(&["task", "show", id.as_str()]);
        assert_eq!(code, 3, "a lost database is not an empty one");
        let (code, rebuilt) = self.json(&["rebuild", "--json"]);
        assert_eq!(code, 0, "{rebuilt}");
        let tasks = rebuilt["tasks"].as_array().unwrap();
        let restored = tasks.iter().find(|it| it["task"] == id.as_str()).unwrap();
        assert_eq!(restored["version"], before.version);
        assert_eq!(
            restored["remarks"].as_array().unwrap().len(),
            0,
            "{rebuilt}"
        );
        assert!(rebuilt["old_database"].is_null(), "{rebuilt}");
        assert_eq!(self.task(id), before);
        assert_eq!(self.store().runs(id).unwrap(), runs);
        assert_eq!(self.store().inbox(id).unwrap(), inbox);
    }

    pub fn lose_database(&self) {
        for end in ["", "-wal", "-shm"] {
            let path = format!("{}{end}", self.home().database().display());
            let _absent = fs::remove_file(path);
        }
    }

    /// Everything that may explain a failure.
    pub fn diagnostics(&self, id: &TaskId) -> String {
        let events = self.store().events(id, 0).unwrap();
        let events: Vec<String> = events
            .iter()
            .map(|it| {
                serde_json::to_string(&it.event)
                    .unwrap()
                    .chars()
                    .take(300)
                    .collect()
            })
            .collect();
        let pending = self.store().pending(id).unwrap();
        format!(
            "{}\n{pending:#?}\n{}\n{}",
            events.join("\n"),
            self.calls(),
            self.task_text(id)
        )
    }

    /// TASK.md once it shows all that is recorded: a process records first and then writes the file.
    pub fn current_text(&self, id: &TaskId) -> String {
        let is_current = |text: &str| {
            let version = format!("\nversion: {}\n", self.task(id).version);
            text.contains(&version)
        };
        let in_time = Deadline::after(SOON).wait_for(|| is_current(&self.task_text(id)));
        assert!(in_time, "TASK.md is old:\n{}", self.diagnostics(id));
        self.task_text(id)
    }

    pub fn task_text(&self, id: &TaskId) -> String {
        let path = self.home().tasks().join("app").join(id.as_str());
        fs::read_to_string(path.join("TASK.md")).unwrap_or_default()
    }

    pub fn worktree(&self, id: &TaskId) -> PathBuf {
        let workspace = self.store().workspace_of(id).unwrap();
        workspace.unwrap().path
    }

    /// The panes that tmux shows, as `role:dead`.
    pub fn panes(&self) -> Vec<String> {
        let format = "#{@orange_role}:#{pane_dead}";
        let shown = self.tmux(&["list-panes", "-a", "-F", format]);
        let mut panes: Vec<String> = shown.lines().map(str::to_owned).collect();
        panes.sort();
        panes
    }

    pub fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S")
            .arg(self.home().tmux_socket())
            .args(arguments);
        let output = tmux
            .env_remove("TMUX")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn git(&self, arguments: &str) -> Output {
        self.git_in(&self.path("repo"), arguments)
    }

    pub fn git_in(&self, directory: &Path, arguments: &str) -> Output {
        let mut git = Command::new("git");
        git.arg("-C").arg(directory).args(arguments.split(' '));
        git.env_clear().envs(self.environment.variables());
        git.output().unwrap()
    }

    /// The program, as a user calls it.
    pub fn orange(&self, arguments: &[&str]) -> Command {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        orange.args(arguments).current_dir(self.path("repo"));
        orange.env_clear().envs(self.environment.variables());
        orange.stdin(Stdio::null());
        orange
    }

    /// Kills every process of the home, agents included.
    pub fn kill_everything(&self) {
        // The server first, so that nothing new starts in it.
        self.tmux(&["kill-server"]);
        let marker = format!("ORANGE_HOME={}", self.home().path().display());
        // tmux 3.3 does not end while a control client has output that nothing reads any more, so
        // its processes are found by their socket.
        let socket = self.home().tmux_socket().display().to_string();
        let mut own = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let has = |file: &str, wanted: &str| {
                let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
                let mut parts = bytes.split(|byte| *byte == 0);
                parts.any(|it| it == wanted.as_bytes())
            };
            let has = has("environ", &marker) || has("cmdline", &socket);
            let pid = entry.file_name().to_string_lossy().parse::<i32>();
            if let (true, Ok(pid)) = (has, pid) {
                own.push(pid);
            }
        }
        for pid in own {
            let mut kill = Command::new("kill");
            let _gone = kill.args(["-9", &pid.to_string()]).output();
        }
        let Ok(store) = Store::open_read_only(&self.home()) else {
            return;
        };
        let patience = KillTimeouts {
            after_term: Duration::from_millis(100),
            after_kill: Duration::from_secs(10),
        };
        for summary in store
            .list(&TaskFilter::default())
            .into_iter()
            .flat_map(|it| it.tasks)
        {
            for run in store.runs(&summary.task.id).into_iter().flatten() {
                let _tidied = process::end_run_processes(&run.id, &[], &[], patience);
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.kill_everything();
    }
}

/// A user's environment, as far as tests need one.
pub fn environment(root: &Path, more: &[(&str, &str)]) -> Environment {
    let variables: [(&str, OsString); 7] = [
        ("PATH", std::env::var_os("PATH").unwrap()),
        ("HOME", root.into()),
        ("ORANGE_HOME", root.join("home").into()),
        ("LANG", "C.UTF-8".into()),
        ("SHELL", "/bin/sh".into()),
        (ORANGE_WAIT, "2m".into()),
        (ORANGE_BRANCH, "orange-tasks/{id}".into()),
    ];
    let more = more
        .iter()
        .map(|(name, value)| (*name, OsString::from(value)));
    Environment::of(variables.into_iter().chain(more))
}

pub fn wait_for(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        Deadline::after(SOON).wait_for(condition),
        "timed out waiting for {what}"
    );
}
