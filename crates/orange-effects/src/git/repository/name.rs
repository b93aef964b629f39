//! Names that become refs, files or directories.

use orange_engine::names::{BranchName, TaskId, WorkspaceName};

use crate::git::GitError;

/// The longest name, in bytes. git stores a ref in a file of the same name and appends `.lock` to
/// lock it, and file names are limited to 255 bytes.
const MAX_BYTES: usize = 200;

/// The longest part of a branch name that is made of a summary, in characters.
const MAX_WORDS_CHARS: usize = 40;

/// The branch of a task for which neither a branch name nor a summary is given.
pub fn default_task_branch(task: &TaskId) -> BranchName {
    BranchName::new(format!("orange-tasks/{task}"))
}

/// The words of a summary as part of a branch name; empty if it has no letters or digits.
pub fn branch_words(summary: &str) -> String {
    let line = summary.lines().find(|line| !line.trim().is_empty());
    let words = line
        .unwrap_or_default()
        .split(|it: char| !it.is_alphanumeric());
    let mut name = String::new();
    for word in words.filter(|it| !it.is_empty()) {
        let word = word.to_lowercase();
        if !name.is_empty() {
            if name.chars().count() + 1 + word.chars().count() > MAX_WORDS_CHARS {
                break;
            }
            name.push('-');
        }
        name.extend(word.chars().take(MAX_WORDS_CHARS));
    }
    name
}

/// Checks that git and the file system accept a branch name as such.
pub fn require_branch(branch: &BranchName) -> Result<(), GitError> {
    branch_ref(branch).map(drop)
}

/// The full ref of a branch, if git cannot interpret the name as anything else.
pub(crate) fn branch_ref(branch: &BranchName) -> Result<String, GitError> {
    require("a branch", branch.as_str(), is_ref)?;
    Ok(format!("refs/heads/{branch}"))
}

/// A task id as a component of a ref.
pub(crate) fn task_part(task: &TaskId) -> Result<&str, GitError> {
    let is_part = |text: &str| !text.contains('/') && is_ref(text);
    require("a task id", task.as_str(), is_part)?;
    Ok(task.as_str())
}

/// The name of a workspace's directory.
pub(crate) fn folder_name(workspace: &WorkspaceName) -> Result<&str, GitError> {
    let is_folder = |text: &str| !text.contains('/') && !text.ends_with(' ') && is_ref(text);
    require("a workspace's name", workspace.as_str(), is_folder)?;
    Ok(workspace.as_str())
}

/// A file at the root of the repository.
pub(crate) fn root_file(name: &str) -> Result<&str, GitError> {
    require("the name of the task's file", name, is_plain)?;
    Ok(name)
}

/// A file anywhere in the repository whose path an exclude line can contain literally.
pub(crate) fn tree_file(path: &str) -> Result<&str, GitError> {
    let is_path = |text: &str| text.split('/').all(|it| !it.is_empty() && is_plain(it));
    require("a file in the worktree", path, is_path)?;
    Ok(path)
}

fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    characters.all(|it| it.is_alphanumeric() || matches!(it, '.' | '-' | '_'))
        && !matches!(text, "." | ".." | ".git")
        && !text.starts_with('-')
}

fn require(
    what: &'static str,
    value: &str,
    is_valid: impl Fn(&str) -> bool,
) -> Result<(), GitError> {
    let reason = if value.is_empty() {
        "it is empty"
    } else if value.len() > MAX_BYTES {
        "it is too long"
    } else if !is_valid(value) {
        "git does not allow it"
    } else {
        return Ok(());
    };
    Err(GitError::BadName {
        what,
        value: value.escape_debug().take(80).collect(),
        reason,
    })
}

/// git's own rules for refs, and no name that could be an option or `HEAD`.
pub(crate) fn is_ref(text: &str) -> bool {
    let is_forbidden =
        |it: char| it.is_control() || matches!(it, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        !part.is_empty() && !part.starts_with('.') && !bytes.ends_with(b".lock")
    };
    !text.contains(is_forbidden)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && !text.starts_with('-')
        && !matches!(text, "@" | "HEAD")
        && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_refused() {
        for name in [
            "",
            "-b",
            "..",
            "a..b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a\nb",
            "a\0b",
            "@",
            "HEAD",
            "a@{1}",
            "a.",
            "\u{7f}",
            "\u{1b}[31m",
            &"a".repeat(10_000),
        ] {
            assert!(branch_ref(&BranchName::new(name)).is_err(), "{name:?}");
            assert!(task_part(&TaskId::new(name)).is_err(), "{name:?}");
            assert!(folder_name(&WorkspaceName::new(name)).is_err(), "{name:?}");
        }
        assert!(task_part(&TaskId::new("a/b")).is_err());
        assert!(folder_name(&WorkspaceName::new("a/b")).is_err());
        for name in ["", ".git", "..", "a/b", "!TASK.md", "#a", "a*", "-f"] {
            assert!(root_file(name).is_err(), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_kept() {
        for name in [
            "fix",
            "a/b",
            "fix-v1.2",
            "ä/🦀",
            "orange-tasks/k3f9",
            "(detached)",
        ] {
            let expected = format!("refs/heads/{name}");
            assert_eq!(branch_ref(&BranchName::new(name)).unwrap(), expected);
        }
        assert!(folder_name(&WorkspaceName::new("app--12")).is_ok());
        assert!(root_file("TASK.md").is_ok());
        assert_eq!(
            default_task_branch(&TaskId::new("k3f9")).as_str(),
            "orange-tasks/k3f9"
        );
    }

    #[test]
    fn a_summary_becomes_part_of_a_branch() {
        for (summary, expected) in [
            ("Fix the login", "fix-the-login"),
            ("  Don't crash: `x.lock`!\nmore", "don-t-crash-x-lock"),
            ("-v --force ../..", "v-force"),
            ("Grüße für 日本語", "grüße-für-日本語"),
            ("…\u{202e}!", ""),
            ("", ""),
            (
                "Replace the old parser of the configuration file by a new one",
                "replace-the-old-parser-of-the",
            ),
        ] {
            let words = branch_words(summary);
            assert_eq!(words, expected);
            assert!(words.is_empty() || require_branch(&BranchName::new(&words)).is_ok());
        }
        let long = branch_words(&"日".repeat(1000));
        assert!(require_branch(&BranchName::new(&long)).is_ok(), "{long}");
    }
}
