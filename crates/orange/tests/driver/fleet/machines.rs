//! Machines of a fleet: a home, a clone, and a runner each.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::{Child, Stdio};

use orange_engine::format::FORMAT;
use orange_engine::names::TaskId;
use orange_fleet::capability::Needs;
use orange_fleet::ids::{Format, HarnessName, ProjectId, TaskId as FleetTaskId, Version};
use orange_fleet::message::{CreateTask, Summary};
use serde_json::json;

use super::ledger_server::LedgerServer;
use crate::support::{Stage, wait_for};

/// One machine.
pub struct Machine {
    pub name: &'static str,
    pub stage: Stage,
    runner: Option<Child>,
}

impl Machine {
    /// A machine that has joined, with a clone of the other one's remote.
    pub fn join(name: &'static str, server: &LedgerServer, remote: Option<&Machine>) -> Machine {
        let token = LedgerServer::token(name);
        Machine::join_at(name, &server.address, &token, remote)
    }

    /// The same, at any server, with a token or a code.
    pub fn join_at(
        name: &'static str,
        address: &str,
        token: &str,
        remote: Option<&Machine>,
    ) -> Machine {
        let stage = Stage::new("minimal");
        match remote {
            None => {
                stage.add_remote();
            }
            Some(first) => {
                let remote = first.stage.path("remote.git").display().to_string();
                stage.git_output("repo", &format!("remote add origin {remote}"));
                stage.git_output("repo", "fetch -q origin");
                stage.git_output("repo", "reset -q --hard origin/main");
                stage.configure("push", &json!(true));
                stage.configure("remote", &json!(remote));
            }
        }
        let joined = [
            "runner",
            "join",
            address,
            token,
            "--name",
            name,
            "--lost-after",
            "6",
        ];
        let (code, text) = stage.call(&joined);
        assert_eq!(code, 0, "{text}");
        Machine {
            name,
            stage,
            runner: None,
        }
    }

    /// Starts its runner, which supervises too.
    pub fn run(&mut self) {
        assert!(self.runner.is_none());
        let log = File::create(self.stage.path("runner.log")).unwrap();
        let mut run = self.stage.orange(&["runner", "run", "--save-work", "1"]);
        run.stdout(Stdio::null()).stderr(log);
        self.runner = Some(run.spawn().unwrap());
        wait_for("supervision", || {
            self.stage.driver().context.is_supervised()
        });
    }

    /// Whether its runner has died by itself.
    #[cfg(feature = "crash-points")]
    pub fn has_died(&mut self) -> bool {
        let runner = self.runner.as_mut().unwrap();
        runner.try_wait().unwrap().is_some()
    }

    /// Ends the runner at once; agents go on.
    pub fn kill_runner(&mut self) {
        if let Some(mut runner) = self.runner.take() {
            let _dead = runner.kill();
            runner.wait().unwrap();
        }
    }

    /// Loses the machine: the runner, the freezer, and every agent.
    pub fn lose(&mut self) {
        self.kill_runner();
        self.stage.kill_everything();
    }

    pub fn has(&self, task: &TaskId) -> bool {
        self.stage.store().load(task).unwrap().is_some()
    }

    pub fn log(&self) -> String {
        let log = fs::read_to_string(self.stage.home().log()).unwrap_or_default();
        let narrated = fs::read_to_string(self.stage.path("runner.log")).unwrap_or_default();
        format!("{}: {narrated}\n{log}", self.name)
    }

    /// The task's directories in the trash.
    pub fn trash(&self) -> Vec<std::path::PathBuf> {
        let folder = self.stage.home().trash().join("app");
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|it| it.unwrap().path()).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill_runner();
        if std::thread::panicking() {
            println!("{}", self.log());
        }
    }
}

/// Creates a task at the server, as a person's own computer does.
pub fn create(server: &LedgerServer, summary: &str) -> TaskId {
    let task = new_task(summary);
    server.create(&task);
    TaskId::new(task.task.as_str())
}

/// A task that the engine of a person's own computer has decided.
pub fn new_task(summary: &str) -> CreateTask {
    let client = Stage::new("minimal");
    let id = client.create(&[summary]);
    let store = client.store();
    let commits = store.commits_of(&id, Version(0)).unwrap();
    let texts = commits.iter().flat_map(|it| store.texts_of(it).unwrap());
    CreateTask {
        task: FleetTaskId::new(id.as_str()),
        needs: Needs {
            format: Format(FORMAT.into()),
            project: ProjectId::new("app"),
            harnesses: [HarnessName::new("script")].into(),
            labels: BTreeSet::new(),
        },
        priority: 0,
        after: BTreeSet::new(),
        parent: None,
        texts: texts.collect(),
        commits,
        summary: Summary {
            status: String::from("pending"),
            ended: false,
            shown: orange_fleet::json::Json::null(),
        },
    }
}
