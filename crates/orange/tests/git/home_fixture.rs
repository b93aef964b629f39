//! A repository fixture with an orange home: tasks, a pool, agents.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{Environment, Home};
use orange_driver::{Answer, Bounds, Driver, NewTaskRequest, TaskRequest, WaitPolicy};
use orange_effects::process::{self, KillTimeouts};
use orange_engine::Task;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::{BranchName, HarnessName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::task::AgentSettings;
use orange_store::{Store, TaskFilter};
use serde_json::Value;

use crate::repo_fixture::RepoFixture;

/// How long a condition may take; a loaded machine is slow.
pub const SOON: Duration = Duration::from_mins(1);

const WORKFLOW: &str = include_str!("roads.yml");

/// A repository fixture whose root is the orange home, so that the pool is where it is expected.
pub struct HomeFixture {
    pub repo: RepoFixture,
    /// Where a test puts its own `git`.
    programs: PathBuf,
}

impl HomeFixture {
    /// A project `app` with a pool of this size.
    pub fn new(pool: u32) -> HomeFixture {
        let repo = RepoFixture::new();
        let programs = repo.path("programs");
        let fixture = HomeFixture { repo, programs };
        fs::create_dir_all(fixture.repo.path("harnesses")).unwrap();
        fs::create_dir_all(fixture.repo.path("workflows")).unwrap();
        fs::create_dir_all(&fixture.programs).unwrap();
        fs::write(fixture.repo.path("workflows/roads.yml"), WORKFLOW).unwrap();
        fs::write(fixture.repo.path("agent.sh"), "exec sleep 600").unwrap();
        let agent = fixture.repo.path("agent.sh").display().to_string();
        let harness = format!(
            "name = \"script\"\nbinary = \"/bin/sh\"\n[args]\nfull = [\"{agent}\", \
             \"{{prompt_file}}\"]\nreduced = [\"{agent}\", \"{{prompt_file}}\"]\n"
        );
        fs::write(fixture.harness(), harness).unwrap();
        let added = fixture.driver().admin.add_project(
            &fixture.repo.app(),
            Some(ProjectName::new("app")),
            Some(String::from("roads")),
            Some(HarnessName::new("script")),
        );
        assert!(added.unwrap().1);
        fixture.configure("pool_size", &pool.into());
        fixture.configure("sandbox_mode", &"off".into());
        fixture
    }

    /// The path of the agent's definition.
    pub fn harness(&self) -> PathBuf {
        self.repo.path("harnesses/script.toml")
    }

    /// Sets a key of the project, as a user would.
    pub fn configure(&self, key: &str, value: &Value) {
        let path = self.home().projects();
        let text = fs::read_to_string(&path).unwrap();
        let mut projects: Value = serde_json::from_str(&text).unwrap();
        projects["projects"][0][key] = value.clone();
        fs::write(path, projects.to_string()).unwrap();
    }

    /// Sets a shell line as the project's setup or teardown.
    pub fn configure_script(&self, key: &str, line: &str) {
        self.configure(key, &serde_json::json!(["/bin/sh", "-c", line]));
    }

    pub fn environment(&self) -> Environment {
        let mut path = self.programs.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let root: OsString = self.repo.path("").into();
        Environment::of([
            ("PATH", path),
            ("HOME", self.repo.path("home").into()),
            ("ORANGE_HOME", root),
            ("LANG", "C.UTF-8".into()),
            ("SHELL", "/bin/sh".into()),
            ("ORANGE_BRANCH", "orange-tasks/{id}".into()),
        ])
    }

    pub fn home(&self) -> Home {
        Home::resolve(&self.environment()).unwrap()
    }

    /// Puts a wrapper in front of `git`; in the script, `$real` is the real one.
    pub fn wrap_git(&self, script: &str) {
        self.repo.wrapper("programs/git", script);
    }

    /// Removes the wrapper for git.
    pub fn unwrap_git(&self) {
        let _absent = fs::remove_file(self.programs.join("git"));
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
        let driver = Driver::new(&self.environment(), orange).unwrap();
        driver.with_bounds(bounds)
    }

    pub fn store(&self) -> Store {
        Store::open(&self.home()).unwrap()
    }

    pub fn task(&self, id: &TaskId) -> Task {
        self.store().require(id).unwrap().task
    }

    pub fn create(&self, branch: Option<&str>) -> TaskId {
        let new = NewTaskRequest {
            project: Some(ProjectName::new("app")),
            by: Role::Human,
            summary: String::from("Add a line"),
            context: None,
            branch: branch.map(BranchName::new),
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

    /// Asks as the user, and performs the effects in this process.
    pub fn ask(&self, task: &TaskId, ask: RequestKind) -> Answer {
        self.ask_waiting(task, ask, WaitPolicy::Here)
    }

    pub fn ask_waiting(&self, task: &TaskId, ask: RequestKind, waiting: WaitPolicy) -> Answer {
        let request = TaskRequest {
            task: task.clone(),
            request: Request::new(Role::Human, ask),
            waiting,
        };
        self.driver().requests.ask(&request).unwrap()
    }

    /// Asks for a status and performs until nothing is pending.
    pub fn move_to(&self, task: &TaskId, status: &str) -> Task {
        let to = Status::new(status);
        let answer = self.ask(task, RequestKind::Move { to });
        assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
        self.driver().performer.perform_until_done(task).unwrap();
        self.task(task)
    }

    /// A task on branch `fix` that holds the first workspace.
    pub fn create_with_workspace(&self) -> TaskId {
        let id = self.create(Some("fix"));
        let task = self.move_to(&id, "held");
        assert_eq!(task.status.as_str(), "held", "{}", self.diagnostics(&id));
        assert!(self.repo.slot().join("TASK.md").is_file());
        id
    }

    pub fn diagnostics(&self, id: &TaskId) -> String {
        let events = self.store().events(id, 0).unwrap();
        let events = events.iter().map(|it| serde_json::to_string(&it.event));
        let events: Vec<String> = events.map(|it| it.unwrap()).collect();
        format!("{}\n{:#?}", events.join("\n"), self.store().pending(id))
    }

    /// The program, as a user calls it.
    pub fn orange(&self, arguments: &[&str]) -> Command {
        let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
        orange.args(arguments).current_dir(self.repo.app());
        orange.env_clear().envs(self.environment().variables());
        orange.stdin(Stdio::null());
        orange
    }

    pub fn call(&self, arguments: &[&str]) -> (i32, String) {
        code_and_text(&self.orange(arguments).output().unwrap())
    }

    /// Calls the program, which must succeed; returns its JSON answer.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let typed: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let output = self.orange(&typed).output().unwrap();
        let (code, text) = code_and_text(&output);
        assert_eq!(code, 0, "orange {arguments:?}: {text}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.home().tmux_socket());
        tmux.args(arguments).env_remove("TMUX").stdin(Stdio::null());
        String::from_utf8(tmux.output().unwrap().stdout).unwrap()
    }
}

impl Drop for HomeFixture {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
        let own = format!("ORANGE_HOME={}", self.home().path().display());
        for pid in processes_with(own.as_bytes()) {
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
        let listing = store.list(&TaskFilter::default()).into_iter();
        for summary in listing.flat_map(|it| it.tasks) {
            for run in store.runs(&summary.task.id).into_iter().flatten() {
                let _tidied = process::end_run_processes(&run.id, &[], &[], patience);
            }
        }
    }
}

/// Processes that have exactly this variable.
pub fn processes_with(variable: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|it| it == variable) {
            found.push(pid);
        }
    }
    found
}

pub fn code_and_text(output: &Output) -> (i32, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let body = text(&output.stdout) + &text(&output.stderr);
    (output.status.code().unwrap_or(-1), body)
}

pub fn wait_for(what: &str, condition: impl FnMut() -> bool) {
    let in_time = Deadline::after(SOON).wait_for(condition);
    assert!(in_time, "timed out waiting for {what}");
}

/// The files of a directory, without TASK.md.
pub fn files_without_task(directory: &Path) -> crate::repo_fixture::Files {
    let mut found = crate::repo_fixture::files(directory);
    found.remove(Path::new("TASK.md"));
    found
}
