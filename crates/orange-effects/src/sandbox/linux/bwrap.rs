//! Finds a bwrap that can be trusted.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use orange_config::Environment;

/// Why no bwrap can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BwrapProblem {
    #[error("bwrap is not installed")]
    Missing,
    /// It would start with root's rights.
    #[error("`{}` is setuid", .0.display())]
    Setuid(PathBuf),
    /// An agent could have put it there.
    #[error("`{}` is in a worktree", .0.display())]
    InWorktree(PathBuf),
}

/// The bwrap of a machine on which a sandbox is known to work.
pub fn trusted_bwrap(environment: &Environment, worktrees: &[&Path]) -> Option<PathBuf> {
    find_bwrap(environment.variable("PATH"), worktrees).ok()
}

/// The bwrap on this `PATH`, unless it is setuid or below one of these folders, where agents write.
pub(super) fn find_bwrap(
    path: Option<&OsStr>,
    worktrees: &[&Path],
) -> Result<PathBuf, BwrapProblem> {
    let folders = std::env::split_paths(path.unwrap_or_default());
    let candidates = folders.filter(|it| it.is_absolute());
    let mut candidates = candidates.map(|folder| folder.join("bwrap"));
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|it| it.is_file() && it.mode() & 0o111 != 0)
    };
    let found = candidates.find(is_program).ok_or(BwrapProblem::Missing)?;
    let real = found.canonicalize().map_err(|_| BwrapProblem::Missing)?;
    let is_below = |path: &Path| {
        worktrees.iter().any(|folder| {
            let canonical = folder.canonicalize();
            path.starts_with(folder) || canonical.is_ok_and(|folder| path.starts_with(folder))
        })
    };
    if is_below(&found) || is_below(&real) {
        return Err(BwrapProblem::InWorktree(found));
    }
    if real.metadata().is_ok_and(|it| it.mode() & 0o6000 != 0) {
        return Err(BwrapProblem::Setuid(found));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_bwrap_that_agents_could_have_written_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let (tools, worktree) = (root.path().join("tools"), root.path().join("w"));
        for folder in [&tools, &worktree] {
            fs::create_dir(folder).unwrap();
        }
        let find = |folder: &Path| find_bwrap(Some(folder.as_os_str()), &[&worktree]);
        assert_eq!(find(&tools), Err(BwrapProblem::Missing));
        let program = worktree.join("bwrap");
        fs::write(&program, "").unwrap();
        assert_eq!(find(&worktree), Err(BwrapProblem::Missing));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let refused = Err(BwrapProblem::InWorktree(program.clone()));
        assert_eq!(find(&worktree), refused);
        // A link to it is as bad.
        let link = tools.join("bwrap");
        std::os::unix::fs::symlink(&program, &link).unwrap();
        assert_eq!(find(&tools), Err(BwrapProblem::InWorktree(link.clone())));
        fs::remove_file(&link).unwrap();
        fs::write(&link, "").unwrap();
        fs::set_permissions(&link, fs::Permissions::from_mode(0o4755)).unwrap();
        assert_eq!(find(&tools), Err(BwrapProblem::Setuid(link.clone())));
        fs::set_permissions(&link, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find(&tools), Ok(link.canonicalize().unwrap()));
    }
}
