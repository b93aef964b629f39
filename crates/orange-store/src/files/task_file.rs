//! The one TASK.md of a task: its path and its text.
//!
//! Invariants. There is one physical file: in the worktree while `.bound` exists, else in the task
//! directory. A new text only ever replaces a text that was read before; the old file is kept, and
//! what is written to the old file meanwhile is copied over. All code here holds the lock of the
//! task's files, and the process may die after any step: `recover` continues from there.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use orange_engine::document::Document;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;

use super::exchange::exchange;
use super::read_document;
use super::read_document::FileStamp;
use super::replaced_file::{Fingerprint, Mark, ReplacedFile, ReplacedFolder, fingerprint};
use super::task_directory::{FileLock, TaskDirectory};
use super::whole_file;
use crate::error::StoreError;
use crate::open::make_private;
use crate::steps::reach;
use crate::{Store, StoredTask};

/// How often a replacement is retried until no agent writes; one try takes a fraction of a
/// millisecond.
const ATTEMPTS: usize = 50;

/// The file of a task, with the lock on it.
#[derive(Debug)]
pub(crate) struct TaskFile {
    pub(crate) directory: TaskDirectory,
    /// The path of the physical file.
    pub(crate) live: PathBuf,
    /// Whether it is in a worktree.
    pub(crate) bound: bool,
    pub(crate) now: Timestamp,
    _lock: FileLock,
}

impl TaskFile {
    /// Locks the files of a task and completes what a killed process left half done.
    pub(crate) fn open(
        directory: &TaskDirectory,
        now: Timestamp,
        attempt: &'static str,
    ) -> Result<TaskFile, StoreError> {
        let lock = directory.lock(attempt)?;
        make_private(&directory.replaced_folder())?;
        let (live, bound) = locate(directory);
        let mut file = TaskFile {
            directory: directory.clone(),
            live,
            bound,
            now,
            _lock: lock,
        };
        file.resolve_announced()?;
        file.recover()?;
        Ok(file)
    }

    /// Locks the files of a task, then reads the task. What was read before the lock may be older
    /// than what another process has written to the files meanwhile.
    pub(crate) fn open_with_task(
        store: &Store,
        task: &TaskId,
        now: Timestamp,
        attempt: &'static str,
    ) -> Result<(TaskFile, StoredTask), StoreError> {
        let project = store.require(task)?.task.project;
        let directory = TaskDirectory::new(&store.home, &project, task)?;
        let file = TaskFile::open(&directory, now, attempt)?;
        Ok((file, store.require(task)?))
    }

    /// Completes a release that was begun, and repairs the link to a bound file.
    pub(crate) fn recover(&mut self) -> Result<(), StoreError> {
        if !read_document::is_behind_link(&self.live) {
            whole_file::remove(&whole_file::temporary(&self.live))?;
        }
        if self.bound {
            // This link was left by a release that was killed before it took effect.
            whole_file::remove(&self.directory.releasing_link())?;
            return self.repair_link();
        }
        if let Ok(left_behind) = fs::read_link(self.directory.releasing_link()) {
            self.take_out(&left_behind)?;
            whole_file::remove(&self.directory.releasing_link())?;
        }
        Ok(())
    }

    /// Makes TASK.md in the task directory a link to the file in the worktree.
    ///
    /// A regular file there was left by a bind, or an editor saved it over the link; either way it
    /// is kept and read again like any replaced file.
    fn repair_link(&self) -> Result<(), StoreError> {
        let link = self.directory.task_file();
        if fs::read_link(&link).is_ok_and(|target| target == self.live) {
            return Ok(());
        }
        if let Ok(Some(content)) = read_document::read(&link) {
            let text_of = |path: &Path| read_document::read(path).ok().flatten();
            let mut mark = Mark::new(self.next_number()?, self.now);
            if text_of(&self.live).as_ref() == Some(&content) {
                mark = mark.with_known_content(&content);
            }
            // This file may later replace a live text that was imported, but never one that was
            // not.
            let imported = text_of(&self.directory.imported_file());
            mark.body = imported.and_then(|text| body_print(&text));
            let kept_path = self.own_folder().path_of(&mark);
            // Keep the file under a second name first, so that the link replaces the file
            // atomically.
            fs::hard_link(&link, &kept_path)
                .map_err(|error| StoreError::file("keep", &link, &error))?;
            reach("the file beside the link is kept");
        }
        whole_file::write_link(&link, &self.live)
    }

    /// Takes a file out of a worktree; text that it has beyond the live file is copied over later.
    fn take_out(&self, left_behind: &Path) -> Result<(), StoreError> {
        if read_document::is_behind_link(left_behind) {
            return Ok(());
        }
        whole_file::remove(&whole_file::temporary(left_behind))?;
        for replaced in folder_beside(left_behind).files()? {
            // Forget the announcement: copying a text over twice is better than never.
            let mark = Mark {
                copy: None,
                ..replaced.mark
            };
            self.move_to_replaced(&replaced.path, &mark)?;
        }
        let Ok(Some(content)) = read_document::read(left_behind) else {
            // A missing file is already out. A link holds no text; anything else is not ours to
            // remove.
            return if left_behind.is_symlink() {
                whole_file::remove(left_behind)
            } else {
                Ok(())
            };
        };
        let live = read_document::read(&self.live)
            .ok()
            .flatten()
            .unwrap_or_default();
        let mark = Mark::new(self.next_number()?, self.now);
        let mark = if content.starts_with(&live) {
            mark.with_known_content(&live)
        } else {
            mark
        };
        self.move_to_replaced(left_behind, &mark)
    }

    /// Moves a file into the task's folder of replaced files, also across file systems.
    fn move_to_replaced(&self, path: &Path, mark: &Mark) -> Result<(), StoreError> {
        let place = self.own_folder().path_of(mark);
        match fs::rename(path, &place) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let content =
                    fs::read(path).map_err(|error| StoreError::file("read", path, &error))?;
                whole_file::write(&place, &content, 0o600)?;
                whole_file::remove(path)?;
            }
            moved => moved.map_err(|error| StoreError::file("move", path, &error))?,
        }
        reach("a file is in the folder of replaced files");
        Ok(())
    }

    /// Replaces a text that was just read with a new one.
    ///
    /// Text that is appended to the old file up to the last moment is appended to the new one too.
    /// Returns `None` when the old text is no longer there; then nothing was changed.
    pub(crate) fn replace(
        &self,
        old: &str,
        new: &Text<'_>,
    ) -> Result<Option<ReplacedFile>, StoreError> {
        let failed = |error: &io::Error| StoreError::file("replace", &self.live, error);
        let Ok(metadata) = fs::symlink_metadata(&self.live) else {
            return Ok(None);
        };
        let mut folder = self.own_folder();
        // Names can be swapped only within one file system.
        let is_same_file_system =
            fs::metadata(&folder.directory).is_ok_and(|folder| folder.dev() == metadata.dev());
        if !is_same_file_system {
            folder = folder_beside(&self.live);
        }
        let new_path = folder.directory.join(format!("{}new", folder.prefix));
        whole_file::write_synced(&new_path, new.text.as_bytes(), metadata.mode() & 0o777)?;
        reach("a new text is written");
        let number = self.next_number()?;
        let mut known = old.as_bytes().to_vec();
        let body = new.text.get(new.body_at..).unwrap_or_default();
        let mut prints = [old, new.text, body].map(|text| Fingerprint::of(text.as_bytes()));
        for _ in 0..ATTEMPTS {
            let before = read_document::stamp(&self.live);
            let Ok(Some(current)) = read_document::read(&self.live) else {
                continue;
            };
            let Some(tail) = current.strip_prefix(known.as_slice()) else {
                break;
            };
            if !tail.is_empty() {
                whole_file::append(&new_path, tail)?;
                for print in &mut prints {
                    print.extend(tail);
                }
                known = current;
            }
            let [of_old, of_new, of_body] = prints.each_ref().map(|print| Some(print.digits()));
            let mark = Mark {
                length: known.len(),
                known: of_old,
                ours: of_new,
                body: of_body,
                ..Mark::new(number, self.now)
            };
            let path = folder.path_of(&mark);
            whole_file::rename(&new_path, &path)?;
            if read_document::stamp(&self.live) != before {
                whole_file::rename(&path, &new_path)?;
                continue;
            }
            match exchange(&path, &self.live) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    whole_file::remove(&path)?;
                    return Ok(None);
                }
                exchanged => exchanged.map_err(|error| failed(&error))?,
            }
            // The new text itself is synced to disk, but what was appended to it since may not be.
            if known.len() > old.len() {
                whole_file::sync(&self.live)?;
            }
            whole_file::sync_directory_of(&self.live)?;
            return Ok(Some(ReplacedFile { path, mark }));
        }
        whole_file::remove(&new_path)?;
        Ok(None)
    }

    /// Every replaced file, in order.
    pub(crate) fn replaced_files(&self) -> Result<Vec<ReplacedFile>, StoreError> {
        let mut files = self.own_folder().files()?;
        if self.bound && !read_document::is_behind_link(&self.live) {
            files.extend(folder_beside(&self.live).files()?);
        }
        files.sort_by_key(|file| file.mark.number);
        Ok(files)
    }

    /// A number that no replaced file uses.
    pub(crate) fn next_number(&self) -> Result<u64, StoreError> {
        let last = self.replaced_files()?.last().map(|file| file.mark.number);
        Ok(last.map_or(1, |last| last + 1))
    }

    fn own_folder(&self) -> ReplacedFolder {
        ReplacedFolder {
            directory: self.directory.replaced_folder(),
            prefix: String::new(),
        }
    }
}

/// The path of the physical file of a task, and whether it is in a worktree.
///
/// Only our own link counts: a link that an agent put in place of TASK.md could point anywhere, and
/// we would write to its target.
pub(crate) fn locate(directory: &TaskDirectory) -> (PathBuf, bool) {
    let own = directory.task_file();
    match fs::read_link(directory.bound_link()) {
        Ok(target) => (target, true),
        Err(_) => (own, false),
    }
}

impl FileStamp {
    /// The stamp of a task's TASK.md; `None` when there is no such file.
    pub fn of_task_file(directory: &TaskDirectory) -> Option<FileStamp> {
        let (live, _bound) = locate(directory);
        read_document::stamp(&live)
    }
}

/// The folder for replaced files beside a TASK.md in a worktree on another file system; git ignores
/// them like TASK.md.
fn folder_beside(live: &Path) -> ReplacedFolder {
    let name = live.file_name().unwrap_or_default().to_string_lossy();
    ReplacedFolder {
        directory: live.parent().unwrap_or(Path::new("/")).to_owned(),
        prefix: format!(".{name}.orange-"),
    }
}

/// The fingerprint of a document's body.
fn body_print(content: &[u8]) -> Option<String> {
    let document = Document::parse(content).ok()?;
    Some(fingerprint(document.body().as_bytes()))
}

/// A replacement text, and where its body begins.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    pub(crate) body_at: usize,
}

impl<'a> From<&'a Document> for Text<'a> {
    fn from(document: &'a Document) -> Text<'a> {
        Text {
            text: document.text(),
            body_at: body_at(document),
        }
    }
}

/// Where the body of a document begins.
pub(crate) fn body_at(document: &Document) -> usize {
    document.text().len() - document.body().len()
}
