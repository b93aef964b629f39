//! A stage whose project is a repository on a scripted GitHub.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use orange_config::Environment;
use orange_engine::names::TaskId;
use scripted_forge::Forge;
use serde_json::{Value, json};

use crate::support::Stage;

/// The repository on the forge.
pub const REPOSITORY: &str = "ada/app";

pub struct ForgeStage {
    pub forge: Forge,
    pub stage: Stage,
    pub token: String,
}

impl ForgeStage {
    pub fn new(workflow: &str) -> ForgeStage {
        ForgeStage::with(Stage::new(workflow))
    }

    /// The same on a memory disk; programs may not run there.
    pub fn in_memory(workflow: &str) -> ForgeStage {
        ForgeStage::with(Stage::in_memory(workflow))
    }

    fn with(mut stage: Stage) -> ForgeStage {
        let forge = Forge::start();
        forge.lift_secondary_limits();
        let path = forge.repository(REPOSITORY);
        let token = forge.user("ada");
        let remote = path.display().to_string();
        stage.git_output("repo", &format!("remote add origin {remote}"));
        stage.git_output("repo", "push -qf origin main");
        stage.git_output("repo", "fetch -q origin");
        stage.configure("remote", &json!(remote));
        let repository = format!("github.com/{REPOSITORY}");
        stage.configure("forge_repository", &json!(repository));
        let more = [
            ("GH_TOKEN", token.clone()),
            ("ORANGE_FORGE_API", forge.address()),
        ];
        let more = more.map(|(name, value)| (name.into(), value.into()));
        let known = stage.environment.variables().clone().into_iter();
        stage.environment = Environment::of(known.chain(more));
        ForgeStage {
            forge,
            stage,
            token,
        }
    }

    /// A task whose work waits for the user's review.
    pub fn reviewed_task(&self) -> TaskId {
        let work = "\
commit one
echo 'DONE: a line, with key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789' | section Handoff
ask task update --status reviewing
";
        self.stage.script("worker-1", work);
        let id = self.stage.create(&["Add a line"]);
        self.stage.run_ok(&["task", "spawn", id.as_str()]);
        self.stage.wait_for_status(&id, "reviewing");
        self.stage.wait_until_idle(&id);
        id
    }

    /// Looks at a task's pull request until the forge has made up its mind about it.
    pub fn look(&self, id: &TaskId) -> Value {
        let mut seen = Value::Null;
        for _ in 0..5 {
            let (code, report) = self.stage.json(&["forge", "look", id.as_str(), "--json"]);
            assert_eq!(code, 0, "{report}");
            seen = report["tasks"][0].clone();
            if !seen["pull_request"]["is_conflicting"].is_null() {
                break;
            }
        }
        seen
    }

    pub fn head_of_branch(&self, id: &TaskId) -> String {
        let branch = format!("rev-parse refs/heads/orange-tasks/{id}");
        self.stage.git_output("repo", &branch)
    }

    pub fn pull_count(&self) -> usize {
        let writes = self.forge.writes();
        let opened = writes.iter().filter(|it| it.operation == "pulls/create");
        opened.count()
    }
}

impl ForgeStage {
    /// Calls orange with a program of this name first on the `PATH`.
    pub fn with_program(&self, name: &str, text: &str) -> impl Fn(&[&str]) -> Output + '_ {
        let folder = self.stage.path("programs");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let old = self.stage.environment.variable("PATH").unwrap();
        let paths = std::env::split_paths(old);
        let paths = std::env::join_paths(std::iter::once(folder).chain(paths)).unwrap();
        move |arguments| {
            let mut orange = self.stage.orange(arguments);
            orange.env("PATH", &paths).output().unwrap()
        }
    }
}
