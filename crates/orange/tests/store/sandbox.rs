//! A home for each test, and tasks to put into it.

use std::fs;
use std::path::{Path, PathBuf};

use orange_config::{Environment, Home};
use orange_engine::document::Document;
use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_engine::{Task, Workflow, shipped_workflows};
use orange_store::{
    Commit, CommitOutcome, CommittedTask, Creation, ImportResult, ImportedDocument, Store, import,
};
use tempfile::TempDir;

use crate::fixtures::{World, document, shipped_workflow};

pub struct Sandbox {
    _directory: TempDir,
    pub home: Home,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox::of(TempDir::new().unwrap())
    }

    /// A home in memory where available, for tests that sync thousands of times.
    pub fn in_memory() -> Sandbox {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| TempDir::new());
        Sandbox::of(directory.unwrap())
    }

    fn of(directory: TempDir) -> Sandbox {
        let home = home_at(&directory.path().join("orange"));
        Sandbox {
            _directory: directory,
            home,
        }
    }

    /// A directory that stands in for a worktree.
    pub fn worktree(&self) -> PathBuf {
        let path = self.home.path().join("workspaces/coffee--1");
        fs::create_dir_all(&path).unwrap();
        path
    }

    pub fn task_directory(&self) -> PathBuf {
        self.home.tasks().join("coffee/k3f9")
    }

    pub fn task_file(&self) -> PathBuf {
        self.task_directory().join("TASK.md")
    }

    pub fn store(&self) -> Store {
        Store::open(&self.home).unwrap()
    }
}

pub fn home_at(path: &Path) -> Home {
    let environment = Environment::of([("ORANGE_HOME", path.to_owned())]);
    Home::resolve(&environment).unwrap()
}

pub fn source(workflow: &Workflow) -> &'static str {
    shipped_workflows::find(workflow.name.as_str())
        .unwrap()
        .source
}

pub fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

/// Records an event that changes only the version and a line of the frontmatter.
pub fn nudge(store: &mut Store, task: &TaskId) -> Task {
    let now = store.require(task).unwrap().task;
    let event = Event {
        version: now.version + 1,
        at: instant(9),
        fact: Fact::AttentionRaised {
            reason: format!("version {}", now.version),
        },
    };
    let commit = Commit {
        task,
        version: now.version,
        events: &[event],
        document: None,
        reserve: None,
        limits: None,
        workflow_text: None,
    };
    match store.record(&commit).unwrap() {
        CommitOutcome::Recorded(recorded) => recorded.task,
        other => panic!("{other:?}"),
    }
}

/// Imports TASK.md, which must be readable.
pub fn import_now(store: &mut Store, task: &TaskId) -> ImportedDocument {
    import_at(store, task, 5)
}

/// The same, this many seconds after the epoch.
pub fn import_at(store: &mut Store, task: &TaskId, seconds: i64) -> ImportedDocument {
    match import(store, task, instant(seconds)).unwrap() {
        ImportResult::Read(imported) => *imported,
        ImportResult::Unknown(unknown) => panic!("{unknown}"),
    }
}

/// A world whose events are recorded in a store as they happen.
pub struct RecordedTask<'a> {
    pub world: World<'a>,
    recorded: usize,
}

impl<'a> RecordedTask<'a> {
    pub fn begin(store: &mut Store, workflow: &'a Workflow) -> RecordedTask<'a> {
        RecordedTask::of(store, World::begin(workflow))
    }

    pub fn of(store: &mut Store, world: World<'a>) -> RecordedTask<'a> {
        let text = document(world.file.as_deref().unwrap());
        let created = store
            .create(&Creation {
                events: &world.events,
                workflow_text: source(world.workflow),
                document: Some(&text),
                issue_text: None,
            })
            .unwrap();
        assert_eq!(created.task, world.task);
        RecordedTask {
            recorded: world.events.len(),
            world,
        }
    }

    /// Records what happened in the world since the last call.
    pub fn catch_up(&mut self, store: &mut Store) -> Option<CommittedTask> {
        let new = &self.world.events[self.recorded..];
        if new.is_empty() {
            return None;
        }
        let text = document(self.world.file.as_deref().unwrap_or_default());
        let recorded = commit(store, &self.world.task.id, self.recorded, new, &text);
        assert_eq!(recorded.task, self.world.task);
        self.recorded = self.world.events.len();
        Some(recorded)
    }
}

fn commit(
    store: &mut Store,
    task: &TaskId,
    version: usize,
    events: &[Event],
    document: &Document,
) -> CommittedTask {
    let answer = store.record(&Commit {
        task,
        version: version as u64,
        events,
        document: Some(document),
        reserve: None,
        limits: None,
        workflow_text: None,
    });
    match answer.unwrap() {
        CommitOutcome::Recorded(recorded) => *recorded,
        other => panic!("{other:?}"),
    }
}

pub fn minimal() -> Workflow {
    shipped_workflow("minimal")
}
