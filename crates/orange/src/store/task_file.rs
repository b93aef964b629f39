//! The one TASK.md of a task: where it is, and how its text changes.
//!
//! Invariants. There is one physical file: in the worktree while `.bound` says so, else in the
//! task directory. A text is only ever put in the place of one that was read before, the old file
//! is kept, and what was written to it meanwhile is brought over. Everything here holds the lock
//! of the task's files, and every step can be the last one: `recover` goes on from there.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use orange_engine::document::Document;

use super::error::StoreError;
use super::exchange::exchange;
use super::open::make_private;
use super::reading::{self, Look, judge, look};
use super::replaced::{Mark, News, Replaced, Shelf, fingerprint, news};
use super::steps::reached;
use super::task_directory::{FileLock, TaskDirectory};
use super::whole_file;

/// A replaced file is read again by so many imports.
const READS: u64 = 2;

/// How often settling starts over when agents keep writing.
const ROUNDS: usize = 8;

/// The file of a task, with the right to change it.
#[derive(Debug)]
pub(super) struct TaskFile {
    pub(super) directory: TaskDirectory,
    /// Where the physical file is.
    pub(super) live: PathBuf,
    /// Whether it is in a worktree.
    pub(super) bound: bool,
    _lock: FileLock,
}

/// Remembers a text that cannot be brought into the file.
pub(super) type Keep<'a> = dyn FnMut(&str) -> Result<(), StoreError> + 'a;

impl TaskFile {
    /// Locks the files of a task and finishes what a killed process left half done.
    pub(super) fn open(
        directory: &TaskDirectory,
        attempt: &'static str,
    ) -> Result<TaskFile, StoreError> {
        let lock = directory.lock(attempt)?;
        make_private(&directory.replaced())?;
        let (live, bound) = whereabouts(directory);
        let mut file = TaskFile {
            directory: directory.clone(),
            live,
            bound,
            _lock: lock,
        };
        file.recover()?;
        Ok(file)
    }

    /// Finishes a release that was begun, and repairs the link of a bound file.
    pub(super) fn recover(&mut self) -> Result<(), StoreError> {
        if self.bound {
            // Left by a release that was killed before it counted.
            whole_file::remove(&self.directory.releasing())?;
            return self.repair_link();
        }
        if let Ok(left_behind) = fs::read_link(self.directory.releasing()) {
            self.take_out(&left_behind)?;
            whole_file::remove(&self.directory.releasing())?;
        }
        Ok(())
    }

    /// Makes TASK.md in the task directory a link to the file in the worktree.
    ///
    /// A regular file there is what a bind left, or what an editor saved over the link; either way
    /// it is kept and read again like any replaced file.
    fn repair_link(&self) -> Result<(), StoreError> {
        let link = self.directory.task_file();
        if fs::read_link(&link).is_ok_and(|target| target == self.live) {
            return Ok(());
        }
        if let Ok(Some(content)) = reading::read(&link) {
            let text_of = |path: &Path| reading::read(path).ok().flatten();
            let mut mark = Mark::new(self.next_number()?);
            if text_of(&self.live).as_ref() == Some(&content) {
                mark = mark.knowing(&content);
            }
            // It may take the place of a text that was imported, never of one that was not.
            let imported = text_of(&self.directory.imported());
            mark.body = imported.and_then(|text| body_print(&text));
            let kept = self.shelf().place(&mark);
            // A second name first, so that the link takes the place of the file in one step.
            fs::hard_link(&link, &kept).map_err(|error| StoreError::file("keep", &link, &error))?;
            reached("the file beside the link is kept");
        }
        whole_file::write_link(&link, &self.live)
    }

    /// Takes a file out of a worktree; what it says beyond the live one is read again later.
    fn take_out(&self, left_behind: &Path) -> Result<(), StoreError> {
        for beside in shelf_beside(left_behind).files()? {
            self.shelve(&beside.path, &beside.mark)?;
        }
        let Ok(Some(content)) = reading::read(left_behind) else {
            // A file that is not there is out already; anything else is not ours to remove.
            return Ok(());
        };
        let live = reading::read(&self.live).ok().flatten().unwrap_or_default();
        let mark = Mark::new(self.next_number()?);
        let mark = if content.starts_with(&live) {
            mark.knowing(&live)
        } else {
            mark
        };
        self.shelve(left_behind, &mark)
    }

    /// Moves a file onto the shelf of the task directory, over the border of a file system too.
    fn shelve(&self, path: &Path, mark: &Mark) -> Result<(), StoreError> {
        let place = self.shelf().place(mark);
        match fs::rename(path, &place) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let content =
                    fs::read(path).map_err(|error| StoreError::file("read", path, &error))?;
                whole_file::write(&place, &content, 0o600)?;
                whole_file::remove(path)?;
            }
            moved => moved.map_err(|error| StoreError::file("move", path, &error))?,
        }
        reached("a file is on the shelf");
        Ok(())
    }

    /// Puts a new text in the place of one that was just read.
    ///
    /// `None` when the file went away meanwhile.
    pub(super) fn replace(&self, old: &str, new: &str) -> Result<Option<Replaced>, StoreError> {
        let failed = |error: &io::Error| StoreError::file("replace", &self.live, error);
        let found = match fs::symlink_metadata(&self.live) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|error| failed(&error))?,
        };
        let mut shelf = self.shelf();
        // Names can be exchanged within one file system only.
        let same = fs::metadata(&shelf.directory).is_ok_and(|shelf| shelf.dev() == found.dev());
        if !same {
            shelf = shelf_beside(&self.live);
        }
        let mark = Mark {
            ours: Some(fingerprint(new.as_bytes())),
            body: body_print(new.as_bytes()),
            ..Mark::new(self.next_number()?).knowing(old.as_bytes())
        };
        let path = shelf.place(&mark);
        let unnamed = shelf.directory.join(format!("{}new", shelf.prefix));
        whole_file::write_synced(&unnamed, new.as_bytes(), found.mode() & 0o777)?;
        reached("a new text is written");
        whole_file::rename(&unnamed, &path)?;
        match exchange(&path, &self.live) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                whole_file::remove(&path)?;
                return Ok(None);
            }
            exchanged => exchanged.map_err(|error| failed(&error))?,
        }
        whole_file::sync_directory_of(&self.live)?;
        Ok(Some(Replaced { path, mark }))
    }

    /// Brings over what was written to replaced files, until there is no more of it.
    pub(super) fn settle(&self, keep: &mut Keep<'_>) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let mut changed = false;
            for file in self.replaced_files()? {
                changed |= self.bring_over(&file, keep)?;
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Brings over what was written to one replaced file; answers whether there was anything.
    pub(super) fn bring_over(
        &self,
        file: &Replaced,
        keep: &mut Keep<'_>,
    ) -> Result<bool, StoreError> {
        let Some(found) = news(&file.path, &file.mark) else {
            return Ok(false);
        };
        let last_chance = file.mark.reads + 1 >= READS;
        match found {
            News::Nothing => Ok(false),
            News::Appended(tail) => self.append(file, &tail, last_chance, keep),
            News::Rewritten(content) => self.adopt(file, &content, last_chance, keep),
        }
    }

    /// Appends to the live file what was appended to the one it replaced.
    fn append(
        &self,
        file: &Replaced,
        tail: &[u8],
        last_chance: bool,
        keep: &mut Keep<'_>,
    ) -> Result<bool, StoreError> {
        // A line in the making is left for the next time, if there is one.
        let length = match tail.iter().rposition(|byte| *byte == b'\n') {
            Some(at) if !last_chance => at + 1,
            None if !last_chance => return Ok(false),
            _ => tail.len(),
        };
        let tail = tail.get(..length).unwrap_or_default();
        let content = Self::known_part(file, length)?;
        let text = String::from_utf8_lossy(tail);
        match look(&self.live) {
            // A process that died after this step has brought it over already.
            Look::Text(live) if live.text().contains(&*text) => {}
            Look::Text(live) => {
                let old = live.text();
                let gap = if old.ends_with('\n') { "" } else { "\n" };
                if self.replace(old, &format!("{old}{gap}{text}"))?.is_none() {
                    return Ok(false);
                }
            }
            Look::Missing | Look::Unknown(_) if last_chance => keep(&text)?,
            Look::Missing | Look::Unknown(_) => return Ok(false),
        }
        file.remark(&shelf_of(file), file.mark.clone().knowing(&content))?;
        Ok(true)
    }

    /// The first bytes of a replaced file: those that were known, and so many more.
    fn known_part(file: &Replaced, more: usize) -> Result<Vec<u8>, StoreError> {
        let mut content =
            fs::read(&file.path).map_err(|error| StoreError::file("read", &file.path, &error))?;
        content.truncate(file.mark.length + more);
        Ok(content)
    }

    /// Lets a text take the place of the one we wrote, when nobody has changed that since.
    fn adopt(
        &self,
        file: &Replaced,
        content: &[u8],
        last_chance: bool,
        keep: &mut Keep<'_>,
    ) -> Result<bool, StoreError> {
        let adopted = match (judge(content), look(&self.live)) {
            (Look::Text(new), Look::Text(live)) => {
                let unchanged = file.mark.body == body_print(live.text().as_bytes());
                let known = live.text() == new.text();
                known || unchanged && self.replace(live.text(), new.text())?.is_some()
            }
            // A text in the making is left for the next time, if there is one.
            _ if !last_chance => return Ok(false),
            _ => false,
        };
        if !adopted {
            keep(&String::from_utf8_lossy(content))?;
            reached("a stray text is kept");
        }
        file.remark(&shelf_of(file), file.mark.clone().knowing(content))?;
        Ok(true)
    }

    /// Counts an import, and forgets the replaced files that were read often enough.
    ///
    /// Files that were replaced during this import are not counted.
    pub(super) fn count_import(&self, before: u64) -> Result<(), StoreError> {
        for file in self.replaced_files()? {
            if file.mark.number >= before {
                continue;
            }
            let mut mark = file.mark.clone();
            mark.reads += 1;
            if mark.reads < READS {
                file.remark(&shelf_of(&file), mark)?;
            } else if news(&file.path, &file.mark) == Some(News::Nothing) {
                whole_file::remove(&file.path)?;
                reached("a replaced file is forgotten");
            }
        }
        Ok(())
    }

    /// Every replaced file, in order.
    fn replaced_files(&self) -> Result<Vec<Replaced>, StoreError> {
        let mut files = self.shelf().files()?;
        if self.bound {
            files.extend(shelf_beside(&self.live).files()?);
        }
        files.sort_by_key(|file| file.mark.number);
        Ok(files)
    }

    /// A number that no replaced file has.
    pub(super) fn next_number(&self) -> Result<u64, StoreError> {
        let last = self.replaced_files()?.last().map(|file| file.mark.number);
        Ok(last.map_or(1, |last| last + 1))
    }

    fn shelf(&self) -> Shelf {
        Shelf {
            directory: self.directory.replaced(),
            prefix: String::new(),
        }
    }
}

/// Where the physical file of a task is, and whether that is in a worktree.
pub(super) fn whereabouts(directory: &TaskDirectory) -> (PathBuf, bool) {
    let own = directory.task_file();
    match fs::read_link(directory.bound()).or_else(|_| fs::read_link(&own)) {
        Ok(target) => (target, true),
        Err(_) => (own, false),
    }
}

/// The shelf beside a file in a worktree on another file system; git ignores it with the file.
fn shelf_beside(live: &Path) -> Shelf {
    let name = live.file_name().unwrap_or_default().to_string_lossy();
    Shelf {
        directory: live.parent().unwrap_or(Path::new("/")).to_owned(),
        prefix: format!(".{name}.orange-"),
    }
}

/// The shelf on which a replaced file is.
fn shelf_of(file: &Replaced) -> Shelf {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = name.rfind(".orange-").map_or(0, |at| at + ".orange-".len());
    Shelf {
        directory: file.path.parent().unwrap_or(Path::new("/")).to_owned(),
        prefix: name.get(..prefix).unwrap_or_default().to_owned(),
    }
}

/// The fingerprint of what a document says below its frontmatter.
fn body_print(content: &[u8]) -> Option<String> {
    let document = Document::parse(content).ok()?;
    Some(fingerprint(document.body().as_bytes()))
}
