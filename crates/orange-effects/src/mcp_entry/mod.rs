//! Adds the MCP server to an agent's settings, and removes it.
//!
//! Invariant: nothing else in the file changes, and an entry is removed only if it is still as
//! orange wrote it. A process that is killed midway leaves the old file or the new one.

mod json;
mod toml;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use orange_config::{McpSettings, reason};

use crate::private_file;

/// The largest file that is read.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// How often an edit is tried while the agent writes its file too.
const TRIES: usize = 5;

/// What became of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryOutcome {
    Written,
    /// It was already there.
    Unchanged,
    Removed,
    /// There was none.
    Absent,
    /// There is one with this name that orange did not write, or that was changed since.
    Kept,
}

/// Why the settings could not be read or changed. Nothing was changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpEntryError {
    #[error("cannot {verb} it: {reason}")]
    System { verb: &'static str, reason: String },
    #[error("it is a link that leads nowhere")]
    DanglingLink,
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it has more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it is not UTF-8")]
    NotText,
    #[error("{0}")]
    Text(TextError),
    #[error("it keeps changing")]
    Changing,
}

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("it cannot be parsed: {0}")]
    Broken(String),
    #[error("`{0}` in it is no table of keys and values")]
    NotAnObject(String),
    #[error("`{0}` is in it twice")]
    Twice(String),
    #[error("`{0}` is written with escapes in it")]
    Escaped(String),
}

/// What to do with the entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Insert,
    Remove,
}

/// Adds the entry, unless the file has one with its name.
pub fn install(file: &Path, settings: &McpSettings) -> Result<EntryOutcome, McpEntryError> {
    edit(file, settings, Edit::Insert)
}

/// Removes the entry if it is as orange wrote it.
pub fn remove(file: &Path, settings: &McpSettings) -> Result<EntryOutcome, McpEntryError> {
    edit(file, settings, Edit::Remove)
}

/// Whether the file has the entry as orange wrote it. Changes nothing.
pub fn is_installed(file: &Path, settings: &McpSettings) -> Result<bool, McpEntryError> {
    let text = match locate(file)? {
        Some(real) => read(&real)?,
        None => return Ok(false),
    };
    let found = find(file, &text, &settings.path()).map_err(McpEntryError::Text)?;
    Ok(found.as_ref() == Some(&settings.entry))
}

fn edit(file: &Path, settings: &McpSettings, edit: Edit) -> Result<EntryOutcome, McpEntryError> {
    let keys = settings.path();
    for _ in 0..TRIES {
        let real = locate(file)?;
        let text = real.as_deref().map(read).transpose()?;
        let before = text.as_deref().unwrap_or_default();
        let found = find(file, before, &keys).map_err(McpEntryError::Text)?;
        match (edit, found) {
            (Edit::Remove, None) => return Ok(EntryOutcome::Absent),
            (_, Some(entry)) if entry != settings.entry => return Ok(EntryOutcome::Kept),
            (Edit::Insert, Some(_)) => return Ok(EntryOutcome::Unchanged),
            (Edit::Insert, None) | (Edit::Remove, Some(_)) => {}
        }
        let after = match (edit, is_toml(file)) {
            (Edit::Insert, true) => toml::insert(before, &keys, &settings.entry),
            (Edit::Insert, false) => json::insert(before, &keys, &settings.entry),
            (Edit::Remove, true) => toml::remove(before, &keys),
            (Edit::Remove, false) => json::remove(before, &keys),
        };
        let after = after.map_err(McpEntryError::Text)?;
        // The agent may have written its file meanwhile.
        let still = locate(file)?;
        if still != real || still.as_deref().map(read).transpose()? != text {
            continue;
        }
        let written = match &real {
            // Behind a link, the file that it leads to is replaced, so that the link stays.
            Some(real) => private_file::replace(real, after.as_bytes()),
            None => private_file::write(file, after.as_bytes()),
        };
        written.map_err(|error| McpEntryError::System {
            verb: "write",
            reason: error.to_string(),
        })?;
        return Ok(match edit {
            Edit::Insert => EntryOutcome::Written,
            Edit::Remove => EntryOutcome::Removed,
        });
    }
    Err(McpEntryError::Changing)
}

fn find(file: &Path, text: &str, keys: &[&str]) -> Result<Option<serde_json::Value>, TextError> {
    if is_toml(file) {
        toml::find(text, keys)
    } else {
        json::find(text, keys)
    }
}

fn is_toml(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "toml")
}

/// The file behind all links; `None` if there is none yet.
fn locate(file: &Path) -> Result<Option<PathBuf>, McpEntryError> {
    match fs::canonicalize(file) {
        Ok(real) => Ok(Some(real)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if file.is_symlink() {
                return Err(McpEntryError::DanglingLink);
            }
            Ok(None)
        }
        Err(error) => Err(failed("find")(&error)),
    }
}

fn read(file: &Path) -> Result<String, McpEntryError> {
    let metadata = fs::metadata(file).map_err(|error| failed("read")(&error))?;
    if !metadata.is_file() {
        return Err(McpEntryError::NotRegular);
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| failed("read")(&error))?;
    let read = opened.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed("read")(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|it| it > MAX_BYTES) {
        return Err(McpEntryError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| McpEntryError::NotText)
}

fn failed(verb: &'static str) -> impl Fn(&io::Error) -> McpEntryError {
    move |error| McpEntryError::System {
        verb,
        reason: reason(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use serde_json::json;

    use super::*;

    fn settings() -> McpSettings {
        McpSettings {
            file: String::from("~/s.json"),
            keys: vec![String::from("mcpServers")],
            entry: json!({ "command": "orange", "args": ["mcp"] }),
        }
    }

    #[test]
    fn a_file_is_made_if_there_is_none() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("agent/s.json");
        let settings = settings();
        assert_eq!(remove(&file, &settings), Ok(EntryOutcome::Absent));
        assert!(!file.parent().unwrap().exists(), "looking makes nothing");
        assert_eq!(install(&file, &settings), Ok(EntryOutcome::Written));
        assert_eq!(install(&file, &settings), Ok(EntryOutcome::Unchanged));
        assert_eq!(is_installed(&file, &settings), Ok(true));
        assert_eq!(remove(&file, &settings), Ok(EntryOutcome::Removed));
        assert_eq!(is_installed(&file, &settings), Ok(false));
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
    }

    #[test]
    fn links_and_modes_stay() {
        let root = tempfile::tempdir().unwrap();
        let (real, link) = (
            root.path().join("dotfiles.json"),
            root.path().join("s.json"),
        );
        fs::write(&real, "{\n  // mine\n  \"a\": 1\n}\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("dotfiles.json", &link).unwrap();
        assert_eq!(install(&link, &settings()), Ok(EntryOutcome::Written));
        assert!(link.is_symlink());
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(remove(&link, &settings()), Ok(EntryOutcome::Removed));
        let text = fs::read_to_string(&real).unwrap();
        assert_eq!(text, "{\n  // mine\n  \"a\": 1\n}\n");
        let names = fs::read_dir(root.path()).unwrap().count();
        assert_eq!(names, 2, "no other file is left");
    }

    #[test]
    fn what_orange_did_not_write_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("s.json");
        for mine in [
            r#"{"mcpServers":{"orange":{"command":"other"}}}"#,
            r#"{"mcpServers":{"orange":{"command":"orange","args":["mcp"],"disabled":true}}}"#,
            r#"{"mcpServers":{"orange":null}}"#,
        ] {
            fs::write(&file, mine).unwrap();
            assert_eq!(install(&file, &settings()), Ok(EntryOutcome::Kept));
            assert_eq!(remove(&file, &settings()), Ok(EntryOutcome::Kept));
            assert_eq!(fs::read_to_string(&file).unwrap(), mine);
        }
    }

    #[test]
    fn what_cannot_be_edited_is_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("s.json");
        for broken in [
            &b"{ \"a\": "[..],
            b"{}}",
            b"\xff{}",
            b"[]",
            b"{\"mcpServers\":[]}",
        ] {
            fs::write(&file, broken).unwrap();
            let error = install(&file, &settings()).unwrap_err();
            assert!(!error.to_string().is_empty());
            assert!(remove(&file, &settings()).is_err() || broken == b"[]");
            assert_eq!(fs::read(&file).unwrap(), broken);
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(install(&file, &settings()), Err(McpEntryError::NotRegular));
        let dangling = root.path().join("d.json");
        symlink(root.path().join("nowhere"), &dangling).unwrap();
        let refused = install(&dangling, &settings());
        assert_eq!(refused, Err(McpEntryError::DanglingLink));
        assert!(!root.path().join("nowhere").exists());
    }
}
