//! Watches for commits, agent events and edits of TASK.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use orange_config::Home;
use orange_engine::names::TaskId;

use super::{SupervisorError, Wake};

/// Watches the folders that contain the files, because writers replace the files themselves.
pub(super) struct Files {
    watcher: RecommendedWatcher,
    /// The task of each folder.
    folders: Arc<Mutex<BTreeMap<PathBuf, TaskId>>>,
    /// The folders that the system really watches.
    watched: BTreeSet<PathBuf>,
}

impl Files {
    /// Watches the database and the settings of a home.
    pub(super) fn new(home: &Home, sender: Sender<Wake>) -> Result<Files, SupervisorError> {
        let folders: Arc<Mutex<BTreeMap<PathBuf, TaskId>>> = Arc::default();
        let (known, root) = (Arc::clone(&folders), home.path().to_owned());
        let notice = move |event: notify::Result<notify::Event>| {
            let event = event.ok().filter(|event| !event.need_rescan());
            let Some(event) = event else {
                // Events were missed; checking everything finds them.
                let _ended = sender.send(Wake::Committed);
                for task in lock(&known).values() {
                    let _ended = sender.send(Wake::Written(task.clone()));
                    let _ended = sender.send(Wake::AgentEvent(task.clone()));
                }
                return;
            };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in &event.paths {
                if let Some(wake) = wake_for(path, &root, &lock(&known)) {
                    let _ended = sender.send(wake);
                }
            }
        };
        let watch_error = |error: notify::Error| SupervisorError::Files(error.to_string());
        let mut watcher = notify::recommended_watcher(notice).map_err(watch_error)?;
        watcher
            .watch(home.path(), RecursiveMode::NonRecursive)
            .map_err(watch_error)?;
        Ok(Files {
            watcher,
            folders,
            watched: BTreeSet::new(),
        })
    }

    /// Watches a folder of a task (its worktree, or a run's folder) instead of an earlier folder.
    ///
    /// A folder that is still being created cannot be watched yet; the next call tries again.
    pub(super) fn follow(&mut self, task: &TaskId, before: Option<&Path>, now: Option<&Path>) {
        if let Some(before) = before.filter(|before| Some(*before) != now) {
            let mut folders = lock(&self.folders);
            // Another task may use the folder by now.
            if folders.get(before) == Some(task) {
                folders.remove(before);
                drop(folders);
                self.watched.remove(before);
                let _gone = self.watcher.unwatch(before);
            }
        }
        let Some(now) = now else { return };
        lock(&self.folders).insert(now.to_owned(), task.clone());
        if !self.watched.contains(now) && now.is_dir() {
            let result = self.watcher.watch(now, RecursiveMode::NonRecursive);
            if result.is_ok() {
                self.watched.insert(now.to_owned());
            }
        }
    }
}

/// The wake that a write to this file causes.
fn wake_for(path: &Path, home: &Path, folders: &BTreeMap<PathBuf, TaskId>) -> Option<Wake> {
    let folder = path.parent()?;
    if folder == home {
        let is_settings = path.file_name().is_some_and(|name| name == "config.toml");
        let settings = is_settings.then_some(Wake::Settings);
        return settings.or_else(|| is_database(path).then_some(Wake::Committed));
    }
    let task = folders.get(folder)?;
    if is_event_file(path) {
        return Some(Wake::AgentEvent(task.clone()));
    }
    is_task_file(path).then(|| Wake::Written(task.clone()))
}

fn lock(folders: &Mutex<BTreeMap<PathBuf, TaskId>>) -> MutexGuard<'_, BTreeMap<PathBuf, TaskId>> {
    folders.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file is the database or its write-ahead log.
fn is_database(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("orange.db"))
}

/// Whether agents report their events in this file.
fn is_event_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "events.jsonl")
}

/// Whether a file may be a task file. Projects choose its name, but not its extension.
fn is_task_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Files")
            .field("folders", &self.folders)
            .finish_non_exhaustive()
    }
}
