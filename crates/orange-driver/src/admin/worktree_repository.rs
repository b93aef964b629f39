//! Opens the repository that a worktree belongs to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use orange_config::Environment;
use orange_effects::git::Git;
use orange_effects::private_file;

/// The largest `.git` file of a worktree that is read, in bytes.
const LARGEST_LINK: u64 = 64 * 1024;

/// The repository of a worktree; `None` if it is gone, or is the directory itself. The error says
/// that it exists and could not be opened.
pub(super) fn open_worktree(path: &Path, environment: &Environment) -> Result<Option<Git>, String> {
    let error = match Git::open_checkout("git", path, environment) {
        Ok(git) => return Ok(Some(git)),
        Err(error) => error,
    };
    let link = path.join(".git");
    if fs::symlink_metadata(&link).is_ok_and(|it| it.is_dir()) {
        return Ok(None);
    }
    // An agent may have put a pipe or a huge file there.
    let link = private_file::read_from_agent(&link, LARGEST_LINK).map_err(|it| it.to_string())?;
    let link = link.unwrap_or_default();
    let record = link.trim_ascii_end().strip_prefix(b"gitdir: ");
    let record = record.map(|it| path.join(OsStr::from_bytes(it)));
    match record.map(|it| it.try_exists()) {
        None | Some(Ok(false)) => Ok(None),
        Some(_) => Err(format!("its repository could not be opened: {error}")),
    }
}
