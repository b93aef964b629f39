//! Moves the directory of a deleted task to the trash and back.
//!
//! Nothing is deleted. Both directions are safe to repeat, even after a kill: a directory that was
//! already moved stays, and a number is added to a name that is taken.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::TaskId;

use super::task_directory::TaskDirectory;
use super::whole_file;
use crate::Store;
use crate::error::StoreError;
use crate::open::make_private;

/// How many trashed directories one task may have.
const MAX_DIRECTORIES: u32 = 1000;

/// Moves the directory of a task into the trash; returns its path there.
pub fn move_to_trash(store: &Store, task: &TaskId) -> Result<Option<PathBuf>, StoreError> {
    let (directory, folder) = directories(store, task)?;
    if !directory.path().exists() {
        return Ok(latest(&folder, task));
    }
    let _lock = directory.lock("move the task into the trash")?;
    make_private(&folder)?;
    let mut names = names(&folder, task);
    let target = names.find(|path| fs::symlink_metadata(path).is_err());
    let target = target.unwrap_or_else(|| folder.join(task.as_str()));
    whole_file::rename(directory.path(), &target)?;
    whole_file::sync_directory_of(&target)?;
    Ok(Some(target))
}

/// Moves the directory of a task out of the trash, unless the task already has a directory.
pub fn restore_from_trash(store: &Store, task: &TaskId) -> Result<(), StoreError> {
    let (directory, folder) = directories(store, task)?;
    if directory.path().exists() {
        return Ok(());
    }
    let Some(found) = latest(&folder, task) else {
        return Ok(());
    };
    make_private(directory.path().parent().unwrap_or(Path::new("/")))?;
    whole_file::rename(&found, directory.path())?;
    whole_file::sync_directory_of(directory.path())
}

fn directories(store: &Store, task: &TaskId) -> Result<(TaskDirectory, PathBuf), StoreError> {
    let project = store.require(task)?.task.project;
    let directory = TaskDirectory::new(&store.home, &project, task)?;
    Ok((directory, store.home.trash().join(project.as_str())))
}

fn names(folder: &Path, task: &TaskId) -> impl Iterator<Item = PathBuf> {
    let first = folder.join(task.as_str());
    let numbered = |number| first.with_file_name(format!("{task}-{number}"));
    let numbered: Vec<PathBuf> = (2..=MAX_DIRECTORIES).map(numbered).collect();
    std::iter::once(first).chain(numbered)
}

/// The deleted tasks in a folder of the trash, each with its latest directory, the one with the
/// highest number.
pub(crate) fn deleted_tasks(folder: &Path) -> Vec<(TaskId, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        // Ids have no hyphen: what follows one is the number.
        let id = TaskId::new(name.split('-').next()?);
        Some((id.clone(), latest(folder, &id)?))
    });
    let found: BTreeMap<TaskId, PathBuf> = found.collect();
    found.into_iter().collect()
}

fn latest(folder: &Path, task: &TaskId) -> Option<PathBuf> {
    names(folder, task).take_while(|path| path.exists()).last()
}
