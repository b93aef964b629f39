//! Judges a pack before the real repository has it.
//!
//! The pack is written into a directory of its own that only borrows the real objects. A pack that
//! is refused, or that a killed process left behind, was never part of the real repository.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;

use orange_engine::names::{CommitId, TaskId};

use super::import::{ImportRefusal, ImportRequest};
use super::record::Record;
use crate::command::{CapturedStream, CommandExit, CommandOutput};
use crate::git::repository::call::{Call, quote_path};
use crate::git::repository::name::task_part;
use crate::git::{Git, GitError};

/// The folder of these directories, in the real `.git`: on the same disk as its objects, and under a
/// name that git does not know.
const FOLDER: &str = "orange-import";

/// How much is read of what either git prints.
const LIMIT: usize = 64 * 1024;

/// What git says about a pack beyond the limit.
const TOO_LARGE: &[u8] = b"pack exceeds maximum allowed size";

/// Settings that keep the memory for one hostile object small.
const CAREFUL: [&str; 4] = ["-c", "core.bigFileThreshold=16m", "-c", "pack.threads=1"];

/// The content of the file that keeps a pack from `gc` until a ref names its commits.
const KEEP: &[u8] = b"orange: import\n";

/// A directory for the objects of one import.
pub(super) struct Incoming {
    path: PathBuf,
}

/// Objects that were judged, and that the real repository does not have yet.
pub(super) struct Accepted {
    incoming: Incoming,
    pack: Option<String>,
}

pub(super) enum Verdict {
    Accepted(Accepted),
    Refused(ImportRefusal),
}

impl Git {
    /// An empty directory for the objects of an import.
    pub(super) fn incoming(&self, task: &TaskId) -> Result<Incoming, GitError> {
        let path = self.directory().join(FOLDER).join(task_part(task)?);
        let incoming = Incoming { path };
        incoming.clear()?;
        let alternates = incoming.path.join("info/alternates");
        let made = fs::create_dir_all(incoming.path.join("info"));
        made.map_err(GitError::system("create", &incoming.path))?;
        let objects = quote_path(&self.directory().join("objects"));
        fs::write(&alternates, objects).map_err(GitError::system("write", &alternates))?;
        Ok(incoming)
    }

    /// Removes what a killed import of a task left behind.
    pub(super) fn clear_incoming(&self, task: &TaskId) -> Result<(), GitError> {
        let path = self.directory().join(FOLDER).join(task_part(task)?);
        Incoming { path }.clear()
    }

    /// Lets `gc` treat the pack of an import as any other.
    pub(super) fn finish_pack(&self, record: &Record) -> Result<(), GitError> {
        let pack = record.import.as_ref().and_then(|it| it.pack.as_ref());
        let Some(pack) = pack else { return Ok(()) };
        let path = self.pack_file(pack, "keep");
        match fs::read(&path) {
            Ok(content) if content == KEEP => {
                fs::remove_file(&path).map_err(GitError::system("remove", &path))
            }
            // It is gone already, or it is the user's.
            _ => Ok(()),
        }
    }

    fn pack_file(&self, pack: &str, extension: &str) -> PathBuf {
        let name = format!("objects/pack/pack-{pack}.{extension}");
        self.directory().join(name)
    }
}

impl Incoming {
    /// Receives the commits up to `tip` that are not before the known ones, and judges them.
    pub fn receive(
        self,
        git: &Git,
        request: &ImportRequest<'_>,
        tip: &CommitId,
        known: &BTreeSet<CommitId>,
    ) -> Result<Verdict, GitError> {
        let mut revisions = format!("{tip}\n");
        for commit in known {
            let _never_fails = writeln!(revisions, "^{commit}");
        }
        let words = [
            "--no-replace-objects",
            "pack-objects",
            "--revs",
            "--stdout",
            "-q",
            "--delta-base-offset",
        ];
        let source = (request.inside)(&words)
            .input(revisions.clone())
            .limit(LIMIT);
        let limit = format!("--max-input-size={}", request.max_bytes);
        let reader = self.call(git, &["index-pack", "--stdin", "--strict", &limit]);
        let output = reader.run_fed_by(&source)?;
        if output.reader.ending != CommandExit::Code(0) {
            let message = &output.reader.stderr;
            // The source also fails when its reader refuses the pack.
            let refusal = if message.has(TOO_LARGE) {
                let limit = request.max_bytes;
                ImportRefusal::TooLarge { limit }
            } else if has_failed_alone(&output.source) {
                ImportRefusal::Inside(first_line(&output.source.stderr))
            } else {
                ImportRefusal::Invalid(first_line(message))
            };
            return Ok(Verdict::Refused(refusal));
        }
        let answer = output.reader.stdout.bytes;
        let pack = std::str::from_utf8(&answer).ok().and_then(|text| {
            let id = text.trim_end().strip_prefix("pack\t")?;
            let is_hex = id.len() == git.id_digits() && id.bytes().all(|it| it.is_ascii_hexdigit());
            is_hex.then(|| id.to_owned())
        });
        let pack = pack.ok_or_else(|| reader.malformed_output(&answer))?;
        let kind = self.call(git, &["cat-file", "-t", tip.as_str()]).finish()?;
        if kind.ending != CommandExit::Code(0) {
            let message = first_line(&kind.stderr);
            return Ok(Verdict::Refused(ImportRefusal::Invalid(message)));
        }
        if kind.stdout.bytes != b"commit\n" {
            return Ok(Verdict::Refused(ImportRefusal::NotACommit(tip.clone())));
        }
        let walk = self.call(git, &["rev-list", "--objects", "--quiet", "--stdin"]);
        let walked = walk.input(revisions).with_long_timeout().finish()?;
        if walked.ending != CommandExit::Code(0) {
            let message = first_line(&walked.stderr);
            return Ok(Verdict::Refused(ImportRefusal::Invalid(message)));
        }
        let is_empty = self.pack_is_empty(git, &pack)?;
        Ok(Verdict::Accepted(Accepted {
            incoming: self,
            pack: (!is_empty).then_some(pack),
        }))
    }

    /// A command that writes into this directory and also reads the real objects.
    fn call(&self, git: &Git, words: &[&str]) -> Call {
        let call = git.call(CAREFUL).with_arguments(words);
        call.variable("GIT_OBJECT_DIRECTORY", &self.path)
            .with_long_timeout()
    }

    /// Whether the pack has no object, because the real repository has all of them.
    fn pack_is_empty(&self, git: &Git, pack: &str) -> Result<bool, GitError> {
        let path = self.path.join(format!("pack/pack-{pack}.pack"));
        let size = fs::metadata(&path)
            .map_err(GitError::system("read", &path))?
            .len();
        // A header of twelve bytes, and a hash.
        let empty = 12 + git.id_digits() / 2;
        Ok(usize::try_from(size).is_ok_and(|size| size <= empty))
    }

    fn clear(&self) -> Result<(), GitError> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GitError::system("remove", &self.path)(error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next import.
        let _left_for_later = self.clear();
        let _not_empty = self.path.parent().map(fs::remove_dir);
    }
}

impl Accepted {
    pub fn pack(&self) -> Option<&str> {
        self.pack.as_deref()
    }

    /// Moves the pack into the real repository. Its index comes last, because git looks for that.
    pub fn move_into(&self, git: &Git) -> Result<(), GitError> {
        let Some(pack) = &self.pack else {
            return Ok(());
        };
        // The real repository may have the same pack, from an import that was killed.
        let keep = git.pack_file(pack, "keep");
        if let Some(folder) = keep.parent() {
            fs::create_dir_all(folder).map_err(GitError::system("create", folder))?;
        }
        if fs::symlink_metadata(&keep).is_err() {
            fs::write(&keep, KEEP).map_err(GitError::system("write", &keep))?;
        }
        for extension in ["pack", "rev", "idx"] {
            let from = self
                .incoming
                .path
                .join(format!("pack/pack-{pack}.{extension}"));
            let to = git.pack_file(pack, extension);
            if fs::symlink_metadata(&from).is_err() || fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            fs::rename(&from, &to).map_err(GitError::system("move", &from))?;
        }
        // Some file systems cannot sync a directory; the pack is there nevertheless.
        let folder = keep.parent().map(fs::File::open);
        let _unsynced = folder.map(|folder| folder.and_then(|it| it.sync_all()));
        Ok(())
    }
}

/// Whether the source failed by itself, and not because its reader closed the pipe.
fn has_failed_alone(source: &CommandOutput) -> bool {
    match source.ending {
        CommandExit::Code(code) => code != 0 && !source.stderr.bytes.is_empty(),
        CommandExit::Signal(_) | CommandExit::TimedOut(_) => false,
    }
}

/// The first line of a message, without control characters.
fn first_line(message: &CapturedStream) -> String {
    let text = String::from_utf8_lossy(&message.bytes);
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    line.chars()
        .filter(|it| !it.is_control())
        .take(200)
        .collect()
}
