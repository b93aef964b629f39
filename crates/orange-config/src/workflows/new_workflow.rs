//! Writes a new workflow into the home atomically.
//!
//! The text is written and synced under a hidden name, which no list shows. It then gets its final
//! name by a hard link, which fails if that name exists. So even a crash leaves no incomplete file
//! under the name, and nothing is ever overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use orange_engine::shipped_workflows::{self, ShippedWorkflow};

use crate::{Home, reason};

/// The longest name that the language allows.
const LONGEST_NAME: usize = 64;

/// How many hidden files left by killed processes are skipped.
const LEFTOVERS: usize = 100;

/// Why a new workflow was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NewWorkflowError {
    /// The language does not allow the name.
    #[error("cannot create workflow `{0}`: invalid workflow name")]
    NameInvalid(String),
    /// The new workflow would replace a shipped one.
    #[error("cannot create workflow `{0}`: it would replace the shipped one")]
    NameShipped(String),
    /// The name is taken.
    #[error("cannot create workflow `{name}`: `{}` exists", .path.display())]
    Exists {
        name: String,
        /// The file that exists.
        path: PathBuf,
    },
    #[error("cannot write into `{}`: {reason}", .path.display())]
    NotWritten { path: PathBuf, reason: String },
}

impl NewWorkflowError {
    /// How to fix it; each hint is complete on its own.
    pub fn hints(&self) -> Vec<String> {
        match self {
            NewWorkflowError::NameInvalid(name) => {
                let rule = format!(
                    "a name has lower-case letters, digits, `-` and `_`, begins with a letter, and \
                     has at most {LONGEST_NAME} characters"
                );
                let suggestion =
                    suggested_name(name).map(|name| format!("run `orange workflow new {name}`"));
                suggestion.into_iter().chain([rule]).collect()
            }
            NewWorkflowError::NameShipped(name) => vec![format!(
                "choose another name, such as `orange workflow new my-{name} --from {name}`"
            )],
            NewWorkflowError::Exists { name, .. } => vec![
                format!("run `orange workflow show {name}` to see it"),
                "choose another name; nothing is overwritten".to_owned(),
            ],
            NewWorkflowError::NotWritten { path, .. } => {
                let command = format!("ls -ld {}", path.display());
                vec![format!(
                    "run `{command}`: it must be a directory you may write to"
                )]
            }
        }
    }
}

/// Writes a copy of a shipped workflow under a new name and returns its path.
pub fn new_workflow(
    home: &Home,
    name: &str,
    from: &ShippedWorkflow,
) -> Result<PathBuf, NewWorkflowError> {
    if !is_name(name) {
        return Err(NewWorkflowError::NameInvalid(name.to_owned()));
    }
    if shipped_workflows::find(name).is_some() {
        return Err(NewWorkflowError::NameShipped(name.to_owned()));
    }
    let folder = home.workflows();
    let exists = |path: PathBuf| NewWorkflowError::Exists {
        name: name.to_owned(),
        path,
    };
    // A `.yaml` is listed under the same name, so it counts as taken too.
    let path = folder.join(format!("{name}.yml"));
    for taken in [&path, &folder.join(format!("{name}.yaml"))] {
        if fs::symlink_metadata(taken).is_ok() {
            return Err(exists(taken.clone()));
        }
    }
    let written = fs::create_dir_all(&folder)
        .and_then(|()| write_new(&folder, &path, text(name, from).as_bytes()));
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_file() => {
            Err(exists(path))
        }
        Err(error) => Err(NewWorkflowError::NotWritten {
            path: folder,
            reason: reason(&error),
        }),
    }
}

/// Writes a file that does not exist yet.
fn write_new(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (hidden, file) = create_hidden(folder, path)?;
    let linked = fill(file, bytes).and_then(|()| fs::hard_link(&hidden, path));
    // Errors are ignored from here on: neither a leftover hidden file nor a folder that the file
    // system cannot sync changes whether the new file exists.
    let _stays = fs::remove_file(&hidden);
    let _unsynced = File::open(folder).and_then(|folder| folder.sync_all());
    linked
}

/// A new hidden file next to the one it will become.
fn create_hidden(folder: &Path, path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut number = 0;
    loop {
        let hidden = folder.join(format!(".{name}.{number}"));
        match options.open(&hidden) {
            Ok(file) => return Ok((hidden, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < LEFTOVERS => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// The shipped text under the new name, below instructions on how to proceed.
fn text(name: &str, from: &ShippedWorkflow) -> String {
    let header = format!(
        "\
# `{name}`: your own workflow, created as a copy of the shipped `{from}`.
#
# What to change first: `description`, which `orange workflow list` shows; then `prompts`, which
# agents receive; then `states` and `transitions`. Then remove these lines.
#
#   orange workflow check {name}     every problem, with line and column
#   orange workflow graph {name}     what it looks like
#   orange workflow diff {from} {name}     what you have changed so far
#   orange workflow schema --help    an editor that completes and explains keys
#
# A task keeps the workflow it was created with: your changes apply only to new tasks.

",
        from = from.name,
    );
    // `null` needs quotes: it is the only allowed name that YAML would read as null.
    let quotes = if name == "null" { "\"" } else { "" };
    let lines = from.source.split_inclusive('\n').map(|line| {
        if line.starts_with("name:") {
            format!("name: {quotes}{name}{quotes}\n")
        } else {
            line.to_owned()
        }
    });
    std::iter::once(header).chain(lines).collect()
}

/// Whether the language allows a name.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |part: char| matches!(part, 'a'..='z' | '0'..='9' | '-' | '_');
    text.len() <= LONGEST_NAME
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(is_part)
}

/// The name that was probably meant: without an extension, in lower case.
fn suggested_name(typed: &str) -> Option<String> {
    let lower = typed.to_lowercase();
    let stem = lower
        .strip_suffix(".yml")
        .or_else(|| lower.strip_suffix(".yaml"));
    let name = stem.unwrap_or(&lower).replace([' ', '.'], "-");
    (is_name(&name) && shipped_workflows::find(&name).is_none()).then_some(name)
}

#[cfg(test)]
mod tests {
    use orange_engine::load;

    use super::*;

    #[test]
    fn a_new_workflow_can_start_from_every_shipped_one() {
        for from in &shipped_workflows::ALL {
            for name in ["mine", "null", "true", "y", "a-b_9"] {
                let loaded = load(&text(name, from));
                assert_eq!(loaded.problems, [], "{name} from {}", from.name);
                let workflow = loaded.workflow.unwrap();
                assert_eq!(workflow.name.as_str(), name);
            }
        }
    }

    #[test]
    fn the_language_has_the_same_rule_for_names() {
        let long = "a".repeat(LONGEST_NAME);
        let longer = "a".repeat(LONGEST_NAME + 1);
        let minimal = &shipped_workflows::ALL[2];
        for name in [
            "a", "a-b", "a_b", "a1", "1a", "-a", "_a", "A", "aB", "ä", "a.b", "a b", "'a\"'",
            &long, &longer,
        ] {
            let is_allowed = load(&text(name, minimal)).problems.is_empty();
            assert_eq!(is_name(name), is_allowed, "{name}");
        }
        assert!(!is_name(""));
    }

    #[test]
    fn a_suggested_name_is_valid() {
        assert_eq!(suggested_name("Mine.yml").as_deref(), Some("mine"));
        assert_eq!(suggested_name("my flow").as_deref(), Some("my-flow"));
        assert_eq!(suggested_name("../x"), None);
        assert_eq!(suggested_name("minimal.yml"), None);
    }
}
