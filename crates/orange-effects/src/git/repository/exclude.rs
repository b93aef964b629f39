//! Files that no worktree of a repository should track.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use super::name::tree_file;
use super::own_directory::{LIMIT, read_file};
use crate::git::{Git, GitError};
use crate::private_file;

/// orange writes this line before each line that it adds, to find the added lines again.
const MARK: &str = "# The next line was added by orange; `orange uninstall` removes it.";

impl Git {
    /// Makes sure that files are ignored, each named by its path. All worktrees share the list, and
    /// users edit it: lines are only appended.
    pub fn exclude(&self, files: &[&str]) -> Result<(), GitError> {
        let path = self.directory().join("info").join("exclude");
        let failed = GitError::system("write", &path);
        let text = read_file(&path, LIMIT).map_err(GitError::system("read", &path))?;
        let text = text.unwrap_or_default();
        let mut added_lines = Vec::new();
        for file in files {
            let line = format!("/{}", tree_file(file)?);
            let mut lines = text.split(|byte| *byte == b'\n');
            if !lines.any(|it| it.trim_ascii_end() == line.as_bytes()) {
                added_lines.extend_from_slice(format!("{MARK}\n{line}\n").as_bytes());
            }
        }
        if added_lines.is_empty() {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            added_lines.insert(0, b'\n');
        }
        let folder = self.directory().join("info");
        fs::create_dir_all(folder).map_err(&failed)?;
        // Appended in one write, so that concurrent edits are kept.
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.map_err(&failed)?;
        file.write_all(&added_lines).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        self.own.copy_excludes(self.directory())
    }

    /// The lines that `exclude` added.
    pub fn added_excludes(&self) -> Result<Vec<String>, GitError> {
        let path = self.directory().join("info").join("exclude");
        let text = read_file(&path, LIMIT).map_err(GitError::system("read", &path))?;
        Ok(split_added(&text.unwrap_or_default()).1)
    }

    /// Removes the lines that `exclude` added; every other line stays.
    pub fn remove_excludes(&self) -> Result<(), GitError> {
        let path = self.directory().join("info").join("exclude");
        let text = read_file(&path, LIMIT).map_err(GitError::system("read", &path))?;
        let text = text.unwrap_or_default();
        let (rest, added) = split_added(&text);
        if added.is_empty() {
            return Ok(());
        }
        Ok(private_file::replace(&path, &rest)?)
    }
}

/// The text without the lines that orange added, and these lines.
fn split_added(text: &[u8]) -> (Vec<u8>, Vec<String>) {
    let (mut rest, mut added) = (Vec::new(), Vec::new());
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let is_mark = line.trim_ascii_end() == MARK.as_bytes();
        let next = lines.next_if(|next| is_mark && next.starts_with(b"/"));
        match next {
            Some(next) => added.push(String::from_utf8_lossy(next.trim_ascii_end()).into_owned()),
            None => rest.extend_from_slice(line),
        }
    }
    (rest, added)
}
