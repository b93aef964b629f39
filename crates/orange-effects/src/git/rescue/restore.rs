//! Restores a rescue, overwriting nothing that differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId};

use super::rescues::Content;
use crate::git::pool::saved_contents::SavedContents;
use crate::git::repository::name::branch_ref;
use crate::git::worktree::disk::{DiskEntry, HashMode};
use crate::git::worktree::entry::{Entry, GITLINK, IndexEntry, LINK, Tree};
use crate::git::{Git, GitError, Rescue, Worktree};
use crate::safe_directory::{EntryKind, SafeDirectory};

/// Where files are written before they are moved into place, below the root.
const NEW: &str = ".orange-new";

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreResult {
    /// Every byte of the rescue is restored.
    Done {
        /// The paths that the rescue changes.
        paths: Vec<PathBuf>,
    },
    /// The rescue was not restored, and nothing has changed.
    Refused(RestoreRefusal),
}

/// Why a rescue cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreRefusal {
    /// These files are neither as in the rescue nor as in the commit it is based on.
    FilesDiffer(Vec<PathBuf>),
    /// The branch exists with different content.
    BranchExists(BranchName),
}

impl fmt::Display for RestoreRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreRefusal::FilesDiffer(paths) => {
                let first = paths.first().map(|path| path.to_string_lossy());
                let first = first.unwrap_or_default();
                let first = first.escape_debug();
                write!(
                    formatter,
                    "{} of its files have changed since it was saved (`{first}`)",
                    paths.len()
                )
            }
            RestoreRefusal::BranchExists(branch) => write!(formatter, "branch `{branch}` exists"),
        }
    }
}

/// The entries of the index at a path, by stage.
type Stages<'a> = BTreeSet<(u8, &'a Entry)>;

/// The change to make at a path.
struct Step {
    remove: Option<Entry>,
    write: Option<Entry>,
}

impl Worktree<'_> {
    /// Restores a rescue into the worktree: files, and what was staged or unresolved.
    ///
    /// A path changes only if it is as in the commit that the rescue is based on. Operations in
    /// progress are not restored; the rescue keeps their files.
    pub fn restore(&self, rescued: &Rescue) -> Result<RestoreResult, GitError> {
        let git = self.git();
        self.require_unlocked()?;
        let content = git.content_to_restore(rescued)?;
        let saved = SavedContents::default().and_rescue(rescued, &content);
        self.restore_held(|| Ok(SavedContents::default().and_rescue(rescued, &content)))?;
        git.remove_unfinished_restore(&self.place()?, self.path(), &content.work)?;
        let paths = content.paths();
        let steps = self.steps(&saved, &paths, &content.work)?;
        let staged = index_input(&self.index()?, &content);
        let (steps, staged) = match (steps, staged) {
            (Ok(steps), Ok(staged)) => (steps, staged),
            (steps, staged) => {
                let one = steps.err().unwrap_or_default().into_iter();
                let all: BTreeSet<PathBuf> = one.chain(staged.err().unwrap_or_default()).collect();
                let refusal = RestoreRefusal::FilesDiffer(all.into_iter().collect());
                return Ok(RestoreResult::Refused(refusal));
            }
        };
        self.perform(&steps)?;
        if !staged.is_empty() {
            let call = self.call(["update-index", "-z", "--index-info"]);
            call.input(staged).succeed()?;
        }
        self.call(["update-index", "-q", "--refresh"]).answer()?;
        let work = &content.work;
        let found = self.on_disk(&paths, HashMode::Hash)?;
        let is_restored = |(path, found): (&PathBuf, &DiskEntry)| match found {
            DiskEntry::Entry(entry) => work.get(path) == Some(entry),
            DiskEntry::Absent => !work.contains_key(path),
            // A nested repository, or a directory where a file was.
            DiskEntry::Folder => work.get(path).is_none_or(|it| it.mode == GITLINK),
            DiskEntry::Other => false,
        };
        if found.iter().all(is_restored) {
            Ok(RestoreResult::Done {
                paths: paths.into_iter().collect(),
            })
        } else {
            Err(GitError::FilesChanging(self.path().to_owned()))
        }
    }

    /// The changes to make on disk, or the paths that differ.
    fn steps(
        &self,
        saved: &SavedContents,
        paths: &BTreeSet<PathBuf>,
        work: &Tree,
    ) -> Result<Result<BTreeMap<PathBuf, Step>, Vec<PathBuf>>, GitError> {
        let place = self.place()?;
        let found = self.on_disk(paths, HashMode::Hash)?;
        let proved = saved.judge_found(self, &found, false)?.proved;
        let is_removed = |path: &Path| proved.contains_key(path) && !work.contains_key(path);
        let mut steps = BTreeMap::new();
        let mut different = Vec::new();
        for (path, found) in &found {
            let wanted = work.get(path).filter(|it| it.mode != GITLINK);
            let is_free = match found {
                DiskEntry::Entry(entry) if Some(entry) == wanted => continue,
                DiskEntry::Absent | DiskEntry::Folder if wanted.is_none() => continue,
                DiskEntry::Entry(_) => proved.contains_key(path),
                DiskEntry::Absent => {
                    let mut above = path.ancestors().skip(1);
                    let is_in_the_way = |it: &Path| {
                        let is_file =
                            matches!(place.kind(it), Ok(EntryKind::Entry(_) | EntryKind::Other));
                        is_file && !is_removed(it)
                    };
                    !above.any(|it| !it.as_os_str().is_empty() && is_in_the_way(it))
                }
                DiskEntry::Folder => {
                    let inside = place.files(path).map_err(self.file_error("list", path))?;
                    !inside.is_empty() && inside.iter().all(|file| is_removed(file))
                }
                DiskEntry::Other => false,
            };
            if is_free {
                let step = Step {
                    remove: proved.get(path).cloned(),
                    write: wanted.cloned(),
                };
                steps.insert(path.clone(), step);
            } else {
                different.push(path.clone());
            }
        }
        Ok(if different.is_empty() {
            Ok(steps)
        } else {
            Err(different)
        })
    }

    /// Makes the changes; removals come first, because a file may replace a directory.
    fn perform(&self, steps: &BTreeMap<PathBuf, Step>) -> Result<(), GitError> {
        let place = self.place()?;
        let removed = steps.iter();
        let removed = removed.filter_map(|(path, step)| Some((path.clone(), step.remove.clone()?)));
        let different = self.remove_proved(&removed.collect())?;
        if !different.is_empty() {
            return Err(GitError::FilesChanging(self.path().to_owned()));
        }
        for (path, step) in steps {
            if let Some(entry) = &step.write {
                self.git().write_entry(&place, path, entry)?;
            }
        }
        Ok(())
    }
}

impl Git {
    /// Creates a branch from a rescue: one commit on top of the commit that it is based on.
    pub fn restore_to_branch(
        &self,
        rescued: &Rescue,
        branch: &BranchName,
    ) -> Result<Result<CommitId, RestoreRefusal>, GitError> {
        let name = branch_ref(branch)?;
        let tree = format!("{}^{{tree}}", rescued.commit);
        let head = rescued.about.head.as_ref();
        if let Some(existing) = self.branch(branch)? {
            let same = self
                .call(["rev-parse", &tree, &format!("{existing}^{{tree}}")])
                .text()?;
            let is_same = same
                .split_once('\n')
                .is_some_and(|(one, other)| one == other);
            let parents = self.call(["rev-list", "--max-count=1", "--parents", existing.as_str()]);
            let parents = parents.text()?;
            let is_on_top = parents.split(' ').nth(1) == head.map(CommitId::as_str);
            return Ok(if is_same && is_on_top {
                Ok(existing)
            } else {
                Err(RestoreRefusal::BranchExists(branch.clone()))
            });
        }
        let mut call = self.call(["commit-tree", &tree]);
        if let Some(head) = head {
            call = call.with_arguments(["-p", head.as_str()]);
        }
        let message = format!("Saved work of task {}\n", rescued.about.task);
        let commit = CommitId::new(call.input(message).text()?);
        let nothing = self.null_id();
        let call = self.call(["update-ref", "-m", "orange: restore", &name]);
        call.with_arguments([commit.as_str(), &nothing]).succeed()?;
        Ok(Ok(commit))
    }

    /// Writes the files that a rescue changes into a directory, replacing nothing.
    pub fn restore_to_folder(
        &self,
        rescued: &Rescue,
        folder: &Path,
    ) -> Result<RestoreResult, GitError> {
        let place = SafeDirectory::open(folder).map_err(GitError::system("open", folder))?;
        let content = self.content(rescued)?;
        let work = &content.work;
        if let Some(path) = work.keys().find(|path| is_in_git_directory(path)) {
            let reason = format!("it contains `{}`, which git never writes", path.display());
            return Err(rescued.about.unreadable(&reason));
        }
        self.remove_unfinished_restore(&place, folder, work)?;
        let paths: Vec<PathBuf> = content.paths().into_iter().collect();
        let mut missing = Vec::new();
        let mut different = Vec::new();
        for path in &paths {
            let Some(entry) = work.get(path).filter(|it| it.mode != GITLINK) else {
                continue;
            };
            let kind = place
                .kind(path)
                .map_err(GitError::system("inspect", path))?;
            match kind {
                EntryKind::Absent => missing.push((path, entry)),
                EntryKind::Entry(mode) if mode == entry.mode => {
                    let content = content_at(&place, folder, path, entry.mode)?;
                    if content != self.blob(&entry.id)? {
                        different.push(path.clone());
                    }
                }
                _ => different.push(path.clone()),
            }
        }
        if !different.is_empty() {
            return Ok(RestoreResult::Refused(RestoreRefusal::FilesDiffer(
                different,
            )));
        }
        for (path, entry) in missing {
            self.write_entry(&place, path, entry)?;
        }
        Ok(RestoreResult::Done { paths })
    }

    /// Removes files of the rescue that a killed process had not yet moved into place.
    fn remove_unfinished_restore(
        &self,
        place: &SafeDirectory,
        root: &Path,
        work: &Tree,
    ) -> Result<(), GitError> {
        let new = Path::new(NEW);
        let failed = GitError::system("clean up", &root.join(new));
        for file in place.files(new).map_err(&failed)? {
            let path = file.strip_prefix(new).unwrap_or(&file);
            let (Some(entry), EntryKind::Entry(mode)) =
                (work.get(path), place.kind(&file).map_err(&failed)?)
            else {
                continue;
            };
            let content = content_at(place, root, &file, mode)?;
            if self.blob(&entry.id)?.starts_with(&content) {
                place.remove(&file).map_err(&failed)?;
                place.remove_empty_parents(&file);
            }
        }
        Ok(())
    }

    /// The bytes of a git object that is a file or a link.
    pub fn blob(&self, id: &str) -> Result<Vec<u8>, GitError> {
        self.call(["cat-file", "blob", id]).bytes()
    }

    /// Writes a file or link to a free path, byte for byte as it was saved.
    fn write_entry(
        &self,
        place: &SafeDirectory,
        path: &Path,
        entry: &Entry,
    ) -> Result<(), GitError> {
        let content = self.blob(&entry.id)?;
        // Written aside and then moved, so that a killed process leaves no partial file in place.
        let aside = Path::new(NEW).join(path);
        let failed = GitError::system("write", path);
        place
            .create(&aside, entry.mode, &content)
            .map_err(&failed)?;
        let is_moved = place.rename(&aside, path).map_err(&failed)?;
        if !is_moved {
            let _tidied = place.remove(&aside);
        }
        place.remove_empty_parents(&aside);
        is_moved
            .then_some(())
            .ok_or_else(|| failed(std::io::ErrorKind::AlreadyExists.into()))
    }
}

/// Whether a path is in a git directory, which a rescue never contains. The case is ignored,
/// because some file systems ignore it.
fn is_in_git_directory(path: &Path) -> bool {
    let mut names = path.components().map(std::path::Component::as_os_str);
    names.any(|name| name.eq_ignore_ascii_case(".git"))
}

fn content_at(
    place: &SafeDirectory,
    root: &Path,
    path: &Path,
    mode: u32,
) -> Result<Vec<u8>, GitError> {
    let full = root.join(path);
    let read = if mode == LINK {
        place.read_link(path)
    } else {
        fs::read(&full)
    };
    read.map_err(GitError::system("read", &full))
}

/// The input for updating the index, or the paths that differ in it.
fn index_input(index: &[IndexEntry], content: &Content) -> Result<Vec<u8>, Vec<PathBuf>> {
    let before = &content.before;
    let mut current: BTreeMap<&Path, Stages<'_>> = BTreeMap::new();
    for indexed in index {
        let stages = current.entry(indexed.path.as_path()).or_default();
        stages.insert((indexed.stage, &indexed.entry));
    }
    let mut required: BTreeMap<&Path, Stages<'_>> = BTreeMap::new();
    let all: BTreeSet<&PathBuf> = before.keys().chain(content.index.keys()).collect();
    let differs = |path: &&PathBuf| before.get(*path) != content.index.get(*path);
    for path in all.into_iter().filter(differs) {
        let entry = content.index.get(path).map(|entry| (0, entry));
        required.insert(path.as_path(), entry.into_iter().collect());
    }
    for (path, stage, entry) in &content.unmerged {
        let stages = required.entry(path.as_path()).or_default();
        stages.insert((*stage, entry));
    }
    let mut input = Vec::new();
    let mut different = Vec::new();
    for (path, stages) in required {
        let base_stages: Stages<'_> = before.get(path).map(|it| (0, it)).into_iter().collect();
        let current_stages = current.remove(path).unwrap_or_default();
        if current_stages == stages {
            continue;
        }
        if current_stages != base_stages {
            different.push(path.to_owned());
            continue;
        }
        let digits = base_stages
            .iter()
            .chain(&stages)
            .next()
            .map_or(40, |(_, it)| it.id.len());
        let nothing = "0".repeat(digits);
        let mut line = |text: String| {
            input.extend_from_slice(text.as_bytes());
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        };
        line(format!("0 {nothing} 0\t"));
        for (stage, entry) in stages {
            line(format!("{:06o} {} {stage}\t", entry.mode, entry.id));
        }
    }
    if different.is_empty() {
        Ok(input)
    } else {
        Err(different)
    }
}
