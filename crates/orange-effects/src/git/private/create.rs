//! Creates a private repository, or finds the one of an earlier run.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use orange_config::clock;
use orange_engine::names::{BranchName, CommitId, TaskId};

use super::layout::{Layout, Lists, Remote};
use super::real_index::move_index;
use super::record::Record;
use super::ref_table::RefTable;
use super::{InsidePaths, PrivateRepository, PrivateResult};
use crate::git::repository::name::{branch_ref, task_part};
use crate::git::repository::own_directory::read_file;
use crate::git::{GitError, Worktree};

/// What is being created; it becomes the current one in one step.
const NEW: &str = "new";
const CURRENT: &str = "current";

/// Upper bound on the size of a file that is copied from the real repository.
const LIMIT: u64 = 16 * 1024 * 1024;

/// How many replaced repositories are kept beside the current one before the folder counts as
/// unusable.
const MAX_REPLACED: u32 = 10_000;

/// What to create.
#[derive(Clone, Copy, Debug)]
pub struct PrivateRequest<'a> {
    pub task: &'a TaskId,
    /// The task's branch, which the worktree is on.
    pub branch: &'a BranchName,
    /// The folder of the task's private repository. No sandbox may see the folder itself.
    pub folder: &'a Path,
    pub inside: InsidePaths<'a>,
}

impl Worktree<'_> {
    /// Creates the task's private repository, unless it exists. A creation that was killed leaves
    /// nothing that the next one uses.
    pub fn create_private(&self, request: &PrivateRequest<'_>) -> Result<PrivateResult, GitError> {
        task_part(request.task)?;
        branch_ref(request.branch)?;
        let repository = PrivateRepository {
            folder: request.folder.to_owned(),
            task: request.task.clone(),
            branch: request.branch.clone(),
        };
        let patience = self.git().caller.timeouts.lock;
        let _lock = PrivateRepository::lock_folder(request.folder, patience)?;
        let worktree = self.record_name();
        let current = request.folder.join(CURRENT);
        let exists = fs::symlink_metadata(&current).is_ok();
        // A record that cannot be read belongs to a repository that was damaged.
        let known = repository.record().ok().filter(|_| exists);
        if known.is_some_and(|it| it.branch == *request.branch && it.worktree == worktree) {
            return Ok(PrivateResult::Exists(repository));
        }
        let uncovered = self.uncovered_by_private(request.branch)?;
        if !uncovered.is_empty() {
            return Ok(PrivateResult::Uncovered(uncovered));
        }
        let new = request.folder.join(NEW);
        match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(GitError::system("remove", &new)(error));
            }
            _ => {}
        }
        self.fill_private(&new, request, worktree)?;
        let replaced = if exists {
            Some(put_aside(request.folder, &current)?)
        } else {
            None
        };
        fs::rename(&new, &current).map_err(GitError::system("create", &current))?;
        Ok(PrivateResult::Created {
            repository,
            replaced,
        })
    }

    /// The name of this worktree in git's records.
    fn record_name(&self) -> String {
        let name = self.directory().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Writes a new private repository, which is not yet the current one.
    fn fill_private(
        &self,
        new: &Path,
        request: &PrivateRequest<'_>,
        worktree: String,
    ) -> Result<(), GitError> {
        let git = self.git();
        let branch = request.branch;
        let base = git.branch(branch)?.ok_or_else(|| GitError::NoCommit {
            branch: branch.to_string(),
        })?;
        // Refs and index take long in a large repository, so they are made side by side.
        let refs = thread::scope(|scope| {
            let index = scope.spawn(|| self.make_index_of(&base));
            let refs = self.fill_without_index(new, request, &worktree, &base);
            let index = index.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            let refs = refs?;
            let path = new.join(format!("common/worktrees/{worktree}/index"));
            move_index(&index, &path)?;
            Ok::<_, GitError>(refs)
        })?;
        let record = Record {
            branch: branch.clone(),
            worktree,
            tip: base,
            import: None,
        };
        record.write_new(new, &refs)
    }

    /// Writes everything but the index and the record. Returns the refs that the agent sees.
    fn fill_without_index(
        &self,
        new: &Path,
        request: &PrivateRequest<'_>,
        worktree: &str,
        base: &CommitId,
    ) -> Result<RefTable, GitError> {
        let git = self.git();
        let branch = request.branch;
        let refs = git.shown_refs()?;
        let now = clock::now().millis().div_euclid(1000);
        git.keep_borrowed(request.task, base, &refs, now)?;
        let remote = git.remote_name();
        let layout = Layout {
            worktree,
            reference: &branch_ref(branch)?,
            base,
            main_head: self.head_of_main(branch, base),
            refs: &refs,
            format: &git.settings.format(),
            values: &self.values_for_private()?,
            remote: remote.as_deref().map(|name| Remote {
                name,
                path: request.inside.upstream,
                head: git.remote_head_target(name),
            }),
            objects: request.inside.objects,
            lists: Lists {
                exclude: copy(&git.own.path().join("info/exclude"))?,
                attributes: copy(&git.directory().join("info/attributes"))?,
                sparse: copy(&self.directory().join("info/sparse-checkout"))?,
                gitdir: copy(&self.directory().join("gitdir"))?,
            },
        };
        layout.write_to(new)?;
        Ok(refs)
    }

    /// The `HEAD` of the user's checkout, so that its branch counts as checked out inside too.
    fn head_of_main(&self, branch: &BranchName, base: &CommitId) -> String {
        let head = self.git().head_in_file(self.git().directory());
        let on = head.and_then(|(name, _)| name);
        let on = on.filter(|name| name != branch);
        match on.and_then(|name| branch_ref(&name).ok()) {
            Some(name) => format!("ref: {name}"),
            None => base.to_string(),
        }
    }
}

/// Renames the current repository, which does not fit; returns its new path.
pub(super) fn put_aside(folder: &Path, current: &Path) -> Result<PathBuf, GitError> {
    let free = (1..MAX_REPLACED).map(|number| folder.join(format!("replaced-{number}")));
    let mut free = free.filter(|path| fs::symlink_metadata(path).is_err());
    let aside = free.next().unwrap_or_else(|| folder.join("replaced"));
    fs::rename(current, &aside).map_err(GitError::system("move aside", current))?;
    Ok(aside)
}

/// The content of a file of the real repository; empty if there is none.
fn copy(path: &Path) -> Result<Vec<u8>, GitError> {
    let content = read_file(path, LIMIT).map_err(GitError::system("read", path))?;
    Ok(content.unwrap_or_default())
}
