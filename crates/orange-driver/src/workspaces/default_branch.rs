//! A default branch that the repository lacks, and how to fix it.

use orange_config::Project;
use orange_effects::git::{Git, GitError};
use orange_engine::names::BranchName;

/// A default branch that does not exist.
#[derive(Debug)]
pub(crate) struct MissingDefaultBranch {
    pub(crate) message: String,
    pub(crate) fix: String,
}

/// Describes the problem if the repository lacks the project's default branch but has others.
pub(crate) fn missing_default_branch(
    git: &Git,
    project: &Project,
) -> Result<Option<MissingDefaultBranch>, GitError> {
    let branch = &project.default_branch;
    if git.has_branch(branch)? || !git.has_branches()? {
        return Ok(None);
    }
    let (name, path) = (&project.name, project.path.display());
    let current = checked_out_branch(git, project);
    let current = current.as_ref().map_or("BRANCH", BranchName::as_str);
    Ok(Some(MissingDefaultBranch {
        message: format!("there is no branch `{branch}` in `{path}`"),
        fix: format!(
            "if you renamed it, run `orange project update {name} --default-branch {current}`"
        ),
    }))
}

/// The branch that the user has checked out, if it has a commit and a shell takes its name as it is.
fn checked_out_branch(git: &Git, project: &Project) -> Option<BranchName> {
    let branch = git.worktree(&project.path).ok()?.branch().ok()??;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
    let is_usable = branch.as_str().chars().all(is_plain);
    let commit = git.branch(&branch).ok()?;
    (is_usable && commit.is_some()).then_some(branch)
}
