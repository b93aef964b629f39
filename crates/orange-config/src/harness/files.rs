//! Files for an agent, in its worktree or outside of it.

use std::path::{Component, Path};

use serde::Deserialize;
use toml::Spanned;

use super::Problem;

/// A file that is written into the worktree before the agent starts, and that git ignores.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HarnessFile {
    /// The path, relative to the root of the worktree.
    pub path: String,
    /// The content; orange adds a first line that says that it wrote the file.
    pub text: String,
    /// Whether the agent may start without this file when a file that orange did not write is
    /// already at its path.
    #[serde(default)]
    pub optional: bool,
}

/// A file that each run gets in its own folder, outside of the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFileText {
    /// Its name in that folder.
    pub name: String,
    pub text: String,
}

/// Rejects names that would leave the folder of the run.
pub(crate) fn validate_names(
    files: Vec<Spanned<RunFileText>>,
) -> Result<Vec<RunFileText>, Problem> {
    for file in &files {
        let name = file.get_ref().name.as_str();
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_allowed) {
            let message = format!("`{}` is not a valid file name", name.escape_debug());
            let hint = "write a name of letters, digits, `.`, `-` and `_` that does not begin with `.`, such as `hooks.json`";
            return Err((file.span(), message, hint.to_owned()));
        }
    }
    Ok(files.into_iter().map(Spanned::into_inner).collect())
}

/// Rejects paths that would leave the worktree or reach into `.git`.
pub(crate) fn validate_files(
    files: Vec<Spanned<HarnessFile>>,
) -> Result<Vec<HarnessFile>, Problem> {
    for file in &files {
        let path = file.get_ref().path.as_str();
        let is_plain = |it: Component<'_>| matches!(it, Component::Normal(part) if part != ".git");
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || "._-/".contains(it);
        let is_valid = path.chars().all(is_allowed) && Path::new(path).components().all(is_plain);
        // A path at the root is rejected: it could be TASK.md or a file of the repository.
        if !is_valid || !path.contains('/') || path.ends_with('/') {
            let path = path.escape_debug();
            let message = format!("`{path}` is not a valid path for a file in a worktree");
            let hint = "write a path below a folder of the agent's own, such as `.agent/rules.toml`, \
                        of letters, digits, `.`, `-` and `_`";
            return Err((file.span(), message, hint.to_owned()));
        }
    }
    Ok(files.into_iter().map(Spanned::into_inner).collect())
}
