//! Notices when somebody commits, or writes into a TASK.md.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use orange_engine::names::TaskId;

use super::{SupervisorError, Wake};
use crate::config::Home;

/// The folders in which files are watched: not the files, because who writes them replaces them.
pub(super) struct Files {
    watcher: RecommendedWatcher,
    worktrees: Arc<Mutex<BTreeMap<PathBuf, TaskId>>>,
}

impl Files {
    /// Watches the database of a home.
    pub(super) fn new(home: &Home, sender: Sender<Wake>) -> Result<Files, SupervisorError> {
        let worktrees: Arc<Mutex<BTreeMap<PathBuf, TaskId>>> = Arc::default();
        let (watched, root) = (Arc::clone(&worktrees), home.path().to_owned());
        let notice = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else {
                // Something was missed; a look at everything that has changed finds it.
                let _ended = sender.send(Wake::Committed);
                return;
            };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in &event.paths {
                if let Some(wake) = meaning(path, &root, &lock(&watched)) {
                    let _ended = sender.send(wake);
                }
            }
        };
        let failed = |error: notify::Error| SupervisorError::Files(error.to_string());
        let mut watcher = notify::recommended_watcher(notice).map_err(failed)?;
        watcher
            .watch(home.path(), RecursiveMode::NonRecursive)
            .map_err(failed)?;
        Ok(Files { watcher, worktrees })
    }

    /// Watches the worktree of a task instead of an earlier one.
    ///
    /// One that cannot be watched is looked at by the sweep alone.
    pub(super) fn follow(&mut self, task: &TaskId, before: Option<&Path>, now: Option<&Path>) {
        if before == now {
            return;
        }
        if let Some(before) = before {
            lock(&self.worktrees).remove(before);
            let _gone = self.watcher.unwatch(before);
        }
        if let Some(now) = now {
            lock(&self.worktrees).insert(now.to_owned(), task.clone());
            let _unwatched = self.watcher.watch(now, RecursiveMode::NonRecursive);
        }
    }
}

/// What it means that this file was written.
fn meaning(path: &Path, home: &Path, worktrees: &BTreeMap<PathBuf, TaskId>) -> Option<Wake> {
    let folder = path.parent()?;
    if folder == home {
        let is_settings = path.file_name().is_some_and(|name| name == "config.toml");
        let settings = is_settings.then_some(Wake::Settings);
        return settings.or_else(|| is_database(path).then_some(Wake::Committed));
    }
    let task = worktrees.get(folder).filter(|_| is_task_file(path))?;
    Some(Wake::Written(task.clone()))
}

fn lock(worktrees: &Mutex<BTreeMap<PathBuf, TaskId>>) -> MutexGuard<'_, BTreeMap<PathBuf, TaskId>> {
    worktrees.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file is the database or its log of changes.
fn is_database(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("orange.db"))
}

/// Its name can be chosen for each project, but not its end.
fn is_task_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Files")
            .field("worktrees", &self.worktrees)
            .finish_non_exhaustive()
    }
}
