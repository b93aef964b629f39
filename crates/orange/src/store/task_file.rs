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

use orange_engine::document::{Document, MAX_DOCUMENT_BYTES};

use super::error::StoreError;
use super::exchange::exchange;
use super::open::make_private;
use super::reading::{self, Look, judge, look};
use super::replaced::{Mark, News, Print, Replaced, Shelf, fingerprint, news};
use super::steps::reached;
use super::task_directory::{FileLock, TaskDirectory};
use super::whole_file;

/// A replaced file is read again by so many imports.
const READS: u64 = 2;

/// How often something is tried anew when agents keep writing.
const ROUNDS: usize = 4;

/// How often a moment is looked for in which nobody writes; one takes a fraction of a millisecond.
const ATTEMPTS: usize = 50;

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
    /// What is appended to the old one until the last moment is appended to the new one too.
    /// `None` when the old one is no longer there; then nothing happened.
    pub(super) fn replace(
        &self,
        old: &str,
        new: &Text<'_>,
    ) -> Result<Option<Replaced>, StoreError> {
        let failed = |error: &io::Error| StoreError::file("replace", &self.live, error);
        let Ok(found) = fs::symlink_metadata(&self.live) else {
            return Ok(None);
        };
        let mut shelf = self.shelf();
        // Names can be exchanged within one file system only.
        let same = fs::metadata(&shelf.directory).is_ok_and(|shelf| shelf.dev() == found.dev());
        if !same {
            shelf = shelf_beside(&self.live);
        }
        let unnamed = shelf.directory.join(format!("{}new", shelf.prefix));
        whole_file::write_synced(&unnamed, new.text.as_bytes(), found.mode() & 0o777)?;
        reached("a new text is written");
        let mut known = old.as_bytes().to_vec();
        let body = new.text.get(new.body_at..).unwrap_or_default();
        let mut prints = [old, new.text, body].map(|text| Print::of(text.as_bytes()));
        for _ in 0..ATTEMPTS {
            let before = reading::stamp(&self.live);
            let Ok(Some(now)) = reading::read(&self.live) else {
                continue;
            };
            let Some(tail) = now.strip_prefix(known.as_slice()) else {
                break;
            };
            if !tail.is_empty() {
                whole_file::append(&unnamed, tail)?;
                for print in &mut prints {
                    print.extend(tail);
                }
                known = now;
            }
            let [of_old, of_new, of_body] = prints.each_ref().map(|print| Some(print.digits()));
            let mark = Mark {
                length: known.len(),
                known: of_old,
                ours: of_new,
                body: of_body,
                ..Mark::new(self.next_number()?)
            };
            let path = shelf.place(&mark);
            whole_file::rename(&unnamed, &path)?;
            if reading::stamp(&self.live) != before {
                whole_file::rename(&path, &unnamed)?;
                continue;
            }
            match exchange(&path, &self.live) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    whole_file::remove(&path)?;
                    return Ok(None);
                }
                exchanged => exchanged.map_err(|error| failed(&error))?,
            }
            whole_file::sync(&self.live)?;
            whole_file::sync_directory_of(&self.live)?;
            return Ok(Some(Replaced { path, mark }));
        }
        whole_file::remove(&unnamed)?;
        Ok(None)
    }

    /// Brings over what was written to replaced files, until there is no more of it.
    ///
    /// When agents keep writing to them, the rest is left for the next time.
    pub(super) fn settle(&self, keep: &mut Keep<'_>) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            if !self.bring_over(self.replaced_files()?, keep)? {
                break;
            }
        }
        Ok(())
    }

    /// Brings over what was written to these files; answers whether there was anything.
    pub(super) fn bring_over(
        &self,
        files: Vec<Replaced>,
        keep: &mut Keep<'_>,
    ) -> Result<bool, StoreError> {
        let mut changed = false;
        let mut appended = Vec::new();
        for file in files {
            let last_chance = file.mark.reads + 1 >= READS;
            match news(&file.path, &file.mark) {
                None | Some(News::Nothing) => {}
                Some(News::Rewritten(content)) => {
                    changed |= self.adopt(&file, &content, last_chance, keep)?;
                }
                Some(News::Appended(mut tail)) => {
                    // A line in the making is left for the next time, if there is one.
                    if !last_chance {
                        tail.truncate(whole_lines(&tail));
                    }
                    if !tail.is_empty() {
                        appended.push((file, tail));
                    }
                }
            }
        }
        changed |= self.append(&appended, keep)?;
        Ok(changed)
    }

    /// Appends to the live file what was appended to those it replaced.
    fn append(
        &self,
        appended: &[(Replaced, Vec<u8>)],
        keep: &mut Keep<'_>,
    ) -> Result<bool, StoreError> {
        if appended.is_empty() {
            return Ok(false);
        }
        let live = look(&self.live);
        let mut text = String::new();
        if let Look::Text(live) = &live {
            for (_, tail) in appended {
                let tail = String::from_utf8_lossy(tail);
                // A process that died after the exchange has brought it over already.
                if !has_lines(live.text(), &tail) && !has_lines(&text, &tail) {
                    text.push_str(&tail);
                }
            }
        }
        let brought_over = match &live {
            Look::Text(_) if text.is_empty() => true,
            Look::Text(live) if live.text().len() + text.len() < MAX_DOCUMENT_BYTES => {
                let gap = if live.text().ends_with('\n') {
                    ""
                } else {
                    "\n"
                };
                let new = Text {
                    text: &format!("{}{gap}{text}", live.text()),
                    body_at: body_at(live),
                };
                self.replace(live.text(), &new)?.is_some()
            }
            _ => false,
        };
        for (file, tail) in appended {
            if !brought_over {
                // Kept as it is, unless it will be looked at once more.
                if file.mark.reads + 1 < READS {
                    continue;
                }
                keep(&String::from_utf8_lossy(tail))?;
                reached("a stray text is kept");
            }
            let mut content = fs::read(&file.path)
                .map_err(|error| StoreError::file("read", &file.path, &error))?;
            content.truncate(file.mark.length + tail.len());
            file.remark(&shelf_of(file), file.mark.clone().knowing(&content))?;
        }
        Ok(brought_over)
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
                let unchanged = file.mark.body == Some(fingerprint(live.body().as_bytes()));
                let known = live.text() == new.text();
                let text = Text::from(&new);
                known || unchanged && self.replace(live.text(), &text)?.is_some()
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

/// Whether these lines stand in a text, one after the other.
fn has_lines(text: &str, lines: &str) -> bool {
    text.match_indices(lines)
        .any(|(at, _)| at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
}

/// How many bytes of a text are whole lines.
fn whole_lines(text: &[u8]) -> usize {
    let last = text.iter().rposition(|byte| *byte == b'\n');
    last.map_or(0, |at| at + 1)
}

/// A text to put in the place of another, and where its body begins.
#[derive(Debug)]
pub(super) struct Text<'a> {
    text: &'a str,
    body_at: usize,
}

impl<'a> From<&'a Document> for Text<'a> {
    fn from(document: &'a Document) -> Text<'a> {
        Text {
            text: document.text(),
            body_at: body_at(document),
        }
    }
}

fn body_at(document: &Document) -> usize {
    document.text().len() - document.body().len()
}
