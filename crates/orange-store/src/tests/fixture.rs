//! A home with one task, and operations that can be repeated.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use orange_config::{Environment, Home};
use orange_engine::document::Document;
use orange_engine::event::{Event, Fact, TaskCreation};
use orange_engine::names::{BranchName, HarnessName, ProjectName, Status, TaskId, WorkflowName};
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::time::Timestamp;
use tempfile::TempDir;

use crate::TaskDirectory;
use crate::files::task_directory::FileLock;
use crate::{
    Commit, CommitOutcome, Creation, ImportResult, Store, StoreError, bind, import, project,
    rebuild, release,
};

const WORDS: &str = "---\nmine: 1\n---\n## Notes\n\nfirst words\n";

pub(super) struct Stage {
    home: Home,
    _directory: Option<TempDir>,
}

/// What must be the same after a crash and a retry as after an uninterrupted run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct State {
    task: String,
    versions: Vec<u64>,
    history: String,
    text: String,
    linked: bool,
    worktree: Vec<String>,
    left_over: Vec<String>,
    strays: usize,
}

/// The arguments of the process to kill: its home, and the mark.
pub(super) fn child_arguments() -> Option<(PathBuf, usize)> {
    let word =
        |key: &str| std::env::args().find_map(|word| word.strip_prefix(key).map(str::to_owned));
    Some((word("home=")?.into(), word("mark=")?.parse().ok()?))
}

pub(super) fn format_child_arguments(stage: &Stage, at: usize) -> [String; 2] {
    [
        format!("home={}", stage.home.path().display()),
        format!("mark={at}"),
    ]
}

impl Stage {
    pub(super) fn new() -> Stage {
        let directory = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| TempDir::new())
            .unwrap();
        Stage {
            home: Stage::at(&directory.path().join("orange")).home,
            _directory: Some(directory),
        }
    }

    pub(super) fn at(home: &Path) -> Stage {
        let environment = Environment::of([("ORANGE_HOME", home.to_owned())]);
        Stage {
            home: Home::resolve(&environment).unwrap(),
            _directory: None,
        }
    }

    fn store(&self) -> Store {
        Store::open(&self.home).unwrap()
    }

    fn task() -> TaskId {
        TaskId::new("k3f9")
    }

    fn directory(&self) -> PathBuf {
        self.home.tasks().join("coffee/k3f9")
    }

    pub(super) fn inside(&self) -> PathBuf {
        self.home.path().join("workspaces/coffee--1/TASK.md")
    }

    pub(super) fn create(&self) {
        let created = TaskCreation {
            id: Stage::task(),
            project: ProjectName::new("coffee"),
            workflow: WorkflowName::new("a"),
            by: Role::Human,
            status: Status::new("here"),
            summary: String::from("Add a thing"),
            branch: BranchName::new("b"),
            harness: HarnessName::new("h"),
            review_harness: HarnessName::new("h"),
            agent_settings: orange_engine::task::AgentSettings::default(),
            routing: Routing::default(),
            queueing: orange_engine::task::Queueing::default(),
            fields: BTreeMap::new(),
            sections: BTreeMap::new(),
            issue: None,
            job: None,
            pull_request: None,
        };
        let events = [
            event(1, Fact::TaskCreated(Box::new(created))),
            event(2, Fact::HooksFinished),
        ];
        let creation = Creation {
            events: &events,
            workflow_text: "name: a\n",
            document: Some(&Document::parse(WORDS.as_bytes()).unwrap()),
            issue_text: None,
        };
        match self.store().create(&creation) {
            Ok(_) | Err(StoreError::DuplicateTask { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Records the event that follows a version, unless it is already recorded.
    pub(super) fn record(&self, version: u64) {
        let reason = String::from("look");
        let events = [event(version + 1, Fact::AttentionRaised { reason })];
        let commit = Commit {
            task: &Stage::task(),
            version,
            events: &events,
            document: None,
            reserve: None,
            limits: None,
            workflow_text: None,
        };
        let answer = self.store().record(&commit).unwrap();
        assert!(!matches!(answer, CommitOutcome::Taken { .. }));
    }

    pub(super) fn project(&self) {
        let projected = project(&mut self.store(), &Stage::task(), at()).unwrap();
        assert_eq!(projected.deferred, None);
    }

    /// The lock that every process takes before it changes the files.
    pub(super) fn lock_files(&self) -> FileLock {
        let project = ProjectName::new("coffee");
        let directory = TaskDirectory::new(&self.home, &project, &Stage::task()).unwrap();
        directory.lock("test the lock").unwrap()
    }

    pub(super) fn bind(&self) {
        fs::create_dir_all(self.inside().parent().unwrap()).unwrap();
        bind(&mut self.store(), &Stage::task(), &self.inside(), at()).unwrap();
    }

    pub(super) fn release(&self) {
        release(&mut self.store(), &Stage::task(), at()).unwrap();
    }

    pub(super) fn import(&self) {
        let reading = import(&mut self.store(), &Stage::task(), at()).unwrap();
        assert!(matches!(reading, ImportResult::Read(_)), "{reading:?}");
    }

    pub(super) fn rebuild(&self) {
        let report = rebuild(&self.home).unwrap();
        assert_eq!((report.tasks.len(), report.skipped.len()), (1, 0));
    }

    /// The file as an agent opens it.
    pub(super) fn open_file(&self) -> File {
        OpenOptions::new().append(true).open(self.inside()).unwrap()
    }

    pub(super) fn append(&self, line: &str) {
        self.open_file().write_all(line.as_bytes()).unwrap();
    }

    /// Checks that no text is lost: it is in a file of the task, or in the database.
    pub(super) fn hold_words(&self) {
        let mut files = vec![self.inside(), self.directory().join("TASK.md")];
        let replaced = fs::read_dir(self.directory().join("replaced"));
        files.extend(
            replaced
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().path()),
        );
        let mut output: Vec<String> = files
            .iter()
            .filter_map(|file| fs::read_to_string(file).ok())
            .collect();
        if let Ok(store) = Store::open(&self.home) {
            if store.load(&Stage::task()).unwrap().is_none() {
                return;
            }
            let imports = store.imports(&Stage::task()).unwrap();
            output.extend(imports.into_iter().map(|import| import.text));
        }
        assert!(output.iter().any(|text| text.contains("first words")));
    }

    pub(super) fn state(&self) -> State {
        // After imports, and time, nothing is left to copy over.
        for seconds in [1, 100, 200, 300] {
            let now = Timestamp::from_millis(seconds * 1000);
            import(&mut self.store(), &Stage::task(), now).unwrap();
        }
        self.project();
        let store = self.store();
        let task = Stage::task();
        let names = |path: &Path| {
            let entries = fs::read_dir(path).into_iter().flatten();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let history = fs::read_to_string(self.directory().join("history.jsonl")).unwrap();
        let versions = store.events(&task, 0).unwrap();
        let stray = store.imports(&task).unwrap();
        State {
            task: serde_json::to_string(&store.require(&task).unwrap().task).unwrap(),
            versions: versions.iter().map(|event| event.event.version).collect(),
            // The number of a commit differs when a process died between two commits.
            history: history
                .lines()
                .map(|line| line.split_once(',').unwrap().1)
                .collect(),
            text: fs::read_to_string(self.directory().join("TASK.md")).unwrap(),
            linked: self.directory().join("TASK.md").is_symlink(),
            worktree: names(self.inside().parent().unwrap()),
            left_over: [
                names(&self.directory()),
                names(&self.directory().join("replaced")),
            ]
            .concat(),
            strays: stray.iter().filter(|import| import.stray).count(),
        }
    }
}

fn event(version: u64, fact: Fact) -> Event {
    Event {
        version,
        at: at(),
        fact,
    }
}

fn at() -> Timestamp {
    Timestamp::from_millis(1000)
}
