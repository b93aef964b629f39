//! Requests for permission: a folder each, locked while the agent waits.
//!
//! The agent's hook creates the folder and keeps `request.json` in it locked for as long as it
//! waits, so a request is open only while its hook lives, whatever ends the hook. The first to
//! create `outcome.json` decides how the request ends: the user's answer, or the hook when it stops
//! waiting. The hook creates `taken` after it has passed the outcome on.
//!
//! An agent can write here, so no link is followed, and only regular files are opened.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use orange_config::clock;
use orange_engine::names::RequestId;
use orange_engine::permission::{PermissionOutcome, PermissionRequest};
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::steps::reach;

/// How many requests of a run are kept after they have ended, so that a late answer can say why
/// it is late.
const MAX_ENDED: usize = 20;

/// Upper bound on the size of a request's files.
const LARGEST_FILE: u64 = 1024 * 1024;

/// A request that the caller has filed, and that is open until it is dropped.
#[derive(Debug)]
pub struct FiledRequest {
    folder: PathBuf,
    /// Holds the lock.
    _file: File,
}

/// A request found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRequest {
    pub request: PermissionRequest,
    /// Whether its agent waits for an answer.
    pub is_open: bool,
    /// How it ended; `None` while it is open, and if its hook was killed.
    pub outcome: Option<PermissionOutcome>,
    /// Whether its hook is still running.
    pub has_hook: bool,
    /// Whether the agent shows its own dialog while the hook is running.
    pub has_dialog: bool,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// It decided the request.
    Recorded,
    /// The request had ended before; the outcome is unknown if its hook was killed.
    TooLate(Option<PermissionOutcome>),
}

impl FiledRequest {
    /// Files a request; other processes see it only once it is complete and locked.
    pub fn file(run_directory: &Path, request: &PermissionRequest) -> io::Result<FiledRequest> {
        let requests = requests_folder(run_directory);
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700).create(&requests)?;
        prune(&requests);
        let new = requests.join(format!(".{}", request.id));
        DirBuilder::new().mode(0o700).create(&new)?;
        let mut file = create(&new.join("request.json"))?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(request)?)?;
        reach("a request is written");
        let folder = requests.join(request.id.as_str());
        fs::rename(&new, &folder)?;
        reach("a request is filed");
        Ok(FiledRequest {
            folder,
            _file: file,
        })
    }

    /// Records that the agent shows its own dialog for as long as this request is filed.
    pub fn mark_dialog(&self) -> io::Result<()> {
        create(&self.folder.join("dialog")).map(|_| ())
    }

    /// The user's answer, if there is one.
    pub fn outcome(&self) -> Option<PermissionOutcome> {
        read(&self.folder.join("outcome.json"))
    }

    /// Ends the request without an answer; returns the outcome that counts, because the user may
    /// have been faster.
    pub fn end(&self, outcome: PermissionOutcome) -> PermissionOutcome {
        let is_first = create_outcome(&self.folder, &outcome);
        match is_first {
            Ok(true) | Err(_) => outcome,
            Ok(false) => self.outcome().unwrap_or(outcome),
        }
    }

    /// Records that the agent has the outcome.
    pub fn confirm(self) {
        // If this cannot be written, the user learns that the answer may be too late.
        let _unconfirmed = create(&self.folder.join("taken"));
    }
}

/// The requests of a run, open or not, the oldest first.
pub fn permission_requests(run_directory: &Path) -> Vec<FoundRequest> {
    let folders = folders(&requests_folder(run_directory));
    let mut found: Vec<FoundRequest> = folders.iter().filter_map(|it| load(it)).collect();
    found.sort_by(|one, two| {
        let key = |it: &FoundRequest| (it.request.asked_at, it.request.id.clone());
        key(one).cmp(&key(two))
    });
    found
}

/// Answers a request of a run.
pub fn answer_permission_request(
    run_directory: &Path,
    id: &RequestId,
    outcome: &PermissionOutcome,
) -> io::Result<AnswerResult> {
    let folders = folders(&requests_folder(run_directory));
    let has_id = |folder: &&PathBuf| folder.file_name().is_some_and(|it| it == id.as_str());
    let Some(folder) = folders.iter().find(has_id) else {
        return Ok(AnswerResult::TooLate(None));
    };
    let too_late = |folder: &Path| AnswerResult::TooLate(read(&folder.join("outcome.json")));
    if !is_locked(folder) || !create_outcome(folder, outcome)? {
        return Ok(too_late(folder));
    }
    reach("an answer is recorded");
    Ok(AnswerResult::Recorded)
}

/// Whether the agent has received the outcome of a request: `None` while it has not, but still
/// waits.
pub fn is_outcome_taken(run_directory: &Path, id: &RequestId) -> Option<bool> {
    let folder = requests_folder(run_directory).join(id.as_str());
    // The order matters: the hook creates the file while it still holds the lock.
    let is_locked = is_locked(&folder);
    let is_taken = folder.join("taken").exists();
    (is_taken || !is_locked).then_some(is_taken)
}

fn requests_folder(run_directory: &Path) -> PathBuf {
    run_directory.join("requests")
}

/// The folders of all requests; those that are still being written begin with a dot.
fn folders(requests: &Path) -> Vec<PathBuf> {
    let is_complete = |it: &PathBuf| {
        let name = it.file_name().unwrap_or_default();
        !name.as_encoded_bytes().starts_with(b".")
    };
    all_folders(requests).filter(is_complete).collect()
}

/// The directories in a directory. Links are left out; if the directory itself is a link, there are
/// none.
fn all_folders(requests: &Path) -> impl Iterator<Item = PathBuf> {
    let is_real = fs::symlink_metadata(requests).is_ok_and(|it| it.is_dir());
    let entries = is_real.then(|| fs::read_dir(requests).ok()).flatten();
    let entries = entries.into_iter().flatten().flatten();
    let folders = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    folders.map(|it| it.path())
}

fn open_regular(path: &Path) -> io::Result<File> {
    // Non-blocking, since opening a pipe could block forever.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is not a regular file"))
}

fn load(folder: &Path) -> Option<FoundRequest> {
    let request: PermissionRequest = read(&folder.join("request.json"))?;
    // A request that does not have the name of its folder was not written by orange.
    if folder.file_name()? != request.id.as_str() {
        return None;
    }
    let outcome = read(&folder.join("outcome.json"));
    let has_hook = is_locked(folder);
    Some(FoundRequest {
        is_open: outcome.is_none() && has_hook,
        request,
        outcome,
        has_hook,
        has_dialog: folder.join("dialog").exists(),
    })
}

/// Whether a hook holds the request. The check takes the lock for a moment, shared with other
/// checks.
fn is_locked(folder: &Path) -> bool {
    let opened = open_regular(&folder.join("request.json"));
    opened.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Creates the outcome atomically; returns `false` if there already is one.
fn create_outcome(folder: &Path, outcome: &impl Serialize) -> io::Result<bool> {
    let name = format!(".outcome-{}-{}", std::process::id(), clock::ticks());
    let new = folder.join(name);
    let written = create(&new).and_then(|mut file| {
        file.write_all(&serde_json::to_vec(outcome)?)?;
        // A hard link, unlike a rename, never replaces an existing file.
        fs::hard_link(&new, folder.join("outcome.json"))
    });
    fs::remove_file(&new)?;
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// The content of a file, if it exists and is complete.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut bytes = Vec::new();
    let file = open_regular(path).ok()?;
    file.take(LARGEST_FILE).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Removes the oldest requests that have ended, and what a killed hook left half-written.
fn prune(requests: &Path) {
    let ended = all_folders(requests).filter(|it| !is_locked(it));
    let mut ended: Vec<_> = ended
        .filter_map(|it| Some((fs::metadata(&it).ok()?.modified().ok()?, it)))
        .collect();
    ended.sort();
    let surplus = ended.len().saturating_sub(MAX_ENDED);
    for (_, folder) in ended.into_iter().take(surplus) {
        // A folder that cannot be removed now is removed with the next request.
        let _left_for_later = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use orange_engine::time::Timestamp;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn request(id: &str, at: i64) -> PermissionRequest {
        PermissionRequest {
            id: RequestId::new(id),
            tool: String::from("Bash"),
            command: format!("git push {id}"),
            directory: None,
            asked_at: Timestamp::from_millis(at),
            until: Timestamp::from_millis(at + 1000),
        }
    }

    fn open(run: &Path) -> Vec<String> {
        let all = permission_requests(run).into_iter();
        all.filter(|it| it.is_open)
            .map(|it| it.request.command)
            .collect()
    }

    #[test]
    fn a_request_is_open_while_its_hook_lives() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        assert_eq!(open(run), [""; 0]);
        let two = FiledRequest::file(run, &request("two", 2)).unwrap();
        let one = FiledRequest::file(run, &request("one", 1)).unwrap();
        assert_eq!(open(run), ["git push one", "git push two"]);
        // A hook that is killed drops its lock and nothing else.
        drop(two);
        assert_eq!(open(run), ["git push one"]);
        let allowed = PermissionOutcome::Allowed;
        let late = answer_permission_request(run, &RequestId::new("two"), &allowed).unwrap();
        assert_eq!(late, AnswerResult::TooLate(None));
        let answered = answer_permission_request(run, &RequestId::new("one"), &allowed).unwrap();
        assert_eq!(answered, AnswerResult::Recorded);
        assert_eq!(one.outcome(), Some(PermissionOutcome::Allowed));
        assert_eq!(open(run), [""; 0], "it is answered");
        let id = RequestId::new("one");
        assert_eq!(is_outcome_taken(run, &id), None, "its hook still waits");
        one.confirm();
        assert_eq!(is_outcome_taken(run, &id), Some(true));
        let two = is_outcome_taken(run, &RequestId::new("two"));
        assert_eq!(two, Some(false), "its hook was killed");
    }

    #[test]
    fn the_first_outcome_counts() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let id = RequestId::new("one");
        let filed = FiledRequest::file(run, &request("one", 1)).unwrap();
        let denied = PermissionOutcome::Denied { reason: None };
        answer_permission_request(run, &id, &denied).unwrap();
        let late = answer_permission_request(run, &id, &PermissionOutcome::Allowed).unwrap();
        assert_eq!(late, AnswerResult::TooLate(Some(denied.clone())));
        assert_eq!(filed.end(PermissionOutcome::TimedOut), denied);
        let filed = FiledRequest::file(run, &request("two", 2)).unwrap();
        let timed_out = PermissionOutcome::TimedOut;
        assert_eq!(filed.end(timed_out.clone()), timed_out);
        let late = answer_permission_request(run, &RequestId::new("two"), &denied).unwrap();
        assert_eq!(late, AnswerResult::TooLate(Some(timed_out)));
    }

    #[test]
    fn of_many_answers_exactly_one_counts() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let filed = FiledRequest::file(run, &request("one", 1)).unwrap();
        let answers = std::thread::scope(|scope| {
            let threads = (0..8).map(|number| {
                scope.spawn(move || {
                    let reason = Some(number.to_string());
                    let outcome = PermissionOutcome::Denied { reason };
                    let id = RequestId::new("one");
                    let result = answer_permission_request(run, &id, &outcome).unwrap();
                    (result == AnswerResult::Recorded).then_some(outcome)
                })
            });
            let threads: Vec<_> = threads.collect();
            let answers = threads.into_iter().filter_map(|it| it.join().unwrap());
            answers.collect::<Vec<_>>()
        });
        assert_eq!(answers, [filed.outcome().unwrap()]);
    }

    #[test]
    fn what_orange_did_not_write_is_ignored() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let planted = requests_folder(run).join("planted");
        fs::create_dir_all(&planted).unwrap();
        fs::create_dir_all(requests_folder(run).join(".half")).unwrap();
        let other = serde_json::to_vec(&request("../other", 1)).unwrap();
        fs::write(planted.join("request.json"), other).unwrap();
        let _filed = FiledRequest::file(run, &request("one", 1)).unwrap();
        assert_eq!(open(run), ["git push one"]);
        let outside = RequestId::new("../requests/one");
        let late = answer_permission_request(run, &outside, &PermissionOutcome::Allowed).unwrap();
        assert_eq!(late, AnswerResult::TooLate(None));
    }

    #[test]
    fn links_and_pipes_are_neither_followed_nor_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        let requests = requests_folder(&run);
        let outside = root.path().join("outside");
        let _locked = FiledRequest::file(&outside, &request("linked", 1)).unwrap();
        let real = requests_folder(&outside).join("linked");
        // A folder that is a link, and a file that is one.
        fs::create_dir_all(requests.join("file")).unwrap();
        symlink(&real, requests.join("linked")).unwrap();
        symlink(
            real.join("request.json"),
            requests.join("file/request.json"),
        )
        .unwrap();
        fs::create_dir_all(requests.join("pipe")).unwrap();
        let pipe = requests.join("pipe/request.json");
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        let (send, answer) = std::sync::mpsc::channel();
        let reader = run.clone();
        std::thread::spawn(move || {
            let id = RequestId::new("linked");
            let allowed = PermissionOutcome::Allowed;
            let answered = answer_permission_request(&reader, &id, &allowed).unwrap();
            send.send((permission_requests(&reader), answered)).unwrap();
        });
        let (found, answered) = answer
            .recv_timeout(std::time::Duration::from_secs(20))
            .expect("a pipe must not block");
        assert_eq!(found, []);
        assert_eq!(answered, AnswerResult::TooLate(None));
        assert!(!real.join("outcome.json").exists());
        // If all requests are behind a link, nothing there is read or removed.
        fs::remove_dir_all(&requests).unwrap();
        symlink(requests_folder(&outside), &requests).unwrap();
        assert_eq!(permission_requests(&run), []);
        prune(&requests);
        assert!(real.exists());
    }

    #[test]
    fn only_the_latest_ended_requests_are_kept() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let first = FiledRequest::file(run, &request("first", 0)).unwrap();
        for number in 1..=MAX_ENDED + 5 {
            let id = format!("r{number}");
            let at = i64::try_from(number).unwrap();
            drop(FiledRequest::file(run, &request(&id, at)).unwrap());
        }
        assert_eq!(open(run), ["git push first"], "it is still waiting");
        assert!(permission_requests(run).len() <= MAX_ENDED + 2);
        drop(first);
    }
}
