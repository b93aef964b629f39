//! A stage whose project is a repository on a scripted GitHub.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use orange_config::Environment;
use orange_config::clock::Deadline;
use orange_driver::{Answer, NewIssue, NewTaskRequest, PostReport, WaitPolicy};
use orange_engine::forge::issue::{IssueLink, Revision};
use orange_engine::names::{BranchName, ProjectName, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::task::{AgentSettings, Queueing};
use orange_store::TaskFilter;
use scripted_forge::Forge;
use scripted_forge::world::merge::{Method, Request};
use serde_json::{Value, json};

use crate::support::{SOON, Stage};

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

    /// A task for a new issue, with a commit on its branch; returns the issue's number too.
    pub fn task_for_issue(&self, status: &str) -> (TaskId, u64) {
        self.task_for_issue_on("work", status)
    }

    /// The same on a branch of this name.
    pub fn task_for_issue_on(&self, branch: &str, status: &str) -> (TaskId, u64) {
        let number = self.forge.issue(REPOSITORY, "ada", "A bug", "It fails.");
        let create = format!("checkout -q -b {branch}");
        self.stage.git_output("repo", &create);
        let file = self.stage.path(&format!("repo/{branch}.txt"));
        fs::write(file, "new\n").unwrap();
        for call in ["add -A", "commit -q -m work", "checkout -q main"] {
            self.stage.git_output("repo", call);
        }
        let new = NewTaskRequest {
            project: Some(ProjectName::new("app")),
            by: Role::Human,
            summary: String::from("Add a line"),
            context: None,
            branch: Some(BranchName::new(branch)),
            workflow: None,
            harness: None,
            review_harness: None,
            status: Some(Status::new(status)),
            agent_settings: AgentSettings::default(),
            labels: Vec::new(),
            queueing: Queueing::default(),
            issue: Some(NewIssue {
                link: IssueLink {
                    number,
                    id: self.forge.node_id(REPOSITORY, number),
                    url: format!("https://github.com/{REPOSITORY}/issues/{number}"),
                    revision: Revision::from_text("one"),
                },
                text: String::from("It fails."),
            }),
            job: None,
            pull_request: None,
        };
        let driver = self.stage.driver();
        match driver.requests.create(&new, WaitPolicy::Here).unwrap() {
            Answer::Done(changed) => (changed.task.id, number),
            other => panic!("{other:?}"),
        }
    }

    /// Posts the status of a task; there must be something to show.
    pub fn post(&self, id: &TaskId) -> PostReport {
        let posted = self.stage.driver().requests.post_status(id, true);
        posted.unwrap().unwrap()
    }

    /// Posts the status of a task until nothing is left to do.
    pub fn post_all(&self, id: &TaskId) {
        let driver = self.stage.driver();
        let mut last = None;
        let in_time = Deadline::after(SOON).wait_for(|| {
            last = driver.requests.post_status(id, true).unwrap();
            last.as_ref().is_none_or(|it| it.problems.is_empty())
        });
        assert!(in_time, "{last:?}");
    }

    /// How many writes of this kind took effect.
    pub fn write_count(&self, operation: &str) -> usize {
        let writes = self.forge.writes();
        writes.iter().filter(|it| it.operation == operation).count()
    }

    /// The texts of the comments at an issue.
    pub fn comments(&self, number: u64) -> Vec<String> {
        let comments = self.forge.get(REPOSITORY, number).comments;
        comments.into_iter().map(|it| it.body).collect()
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

    /// Lets `orange serve` read issues with this label, every second.
    pub fn read_issues_with(&self, label: &str) {
        let config = format!(
            "[forge]\npoll = \"1s\"\ncold = \"1s\"\nshare = 100\n\n[forge.issues]\nlabel = \"{label}\"\n"
        );
        fs::write(self.stage.path("home/config.toml"), config).unwrap();
    }

    pub fn all_tasks(&self) -> Vec<TaskId> {
        let tasks = self
            .stage
            .store()
            .list(&TaskFilter::default())
            .unwrap()
            .tasks;
        tasks.into_iter().map(|it| it.task.id).collect()
    }

    /// The numbers of the issues about which something was found out.
    pub fn judged_issues(&self) -> Vec<u64> {
        let issues = self.stage.store().issues(&ProjectName::new("app"));
        let issues = issues.unwrap().into_iter();
        let judged = issues.filter(|it| it.verdict.is_some());
        judged.map(|it| it.number).collect()
    }

    /// Merges as another person does on the forge's page.
    pub fn merge_elsewhere(&self, number: u64, method: Method) {
        let merged = self.forge.change(|world| {
            let id = world.repository("ada", "app").unwrap().id;
            let request = Request {
                method,
                title: None,
                message: None,
                by: "ada",
            };
            world.merge(id, number, &request)
        });
        assert!(merged.is_some(), "it conflicts");
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
