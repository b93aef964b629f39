//! Files that no worktree of a repository should track.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use super::name::tree_file;
use super::own_directory::{LIMIT, read_file};
use crate::git::{Git, GitError};

impl Git {
    /// Makes sure that files are ignored, each named by its path. All worktrees share the list, and
    /// users edit it: lines are only appended.
    pub fn exclude(&self, files: &[&str]) -> Result<(), GitError> {
        let path = self.directory().join("info").join("exclude");
        let failed = GitError::system("write", &path);
        let text = read_file(&path, LIMIT).map_err(GitError::system("read", &path))?;
        let text = text.unwrap_or_default();
        let mut more = Vec::new();
        for file in files {
            let line = format!("/{}", tree_file(file)?);
            let mut lines = text.split(|byte| *byte == b'\n');
            if !lines.any(|it| it.trim_ascii_end() == line.as_bytes()) {
                more.extend_from_slice(line.as_bytes());
                more.push(b'\n');
            }
        }
        if more.is_empty() {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            more.insert(0, b'\n');
        }
        let folder = self.directory().join("info");
        fs::create_dir_all(folder).map_err(&failed)?;
        // Appended in one write, so that concurrent edits are kept.
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.map_err(&failed)?;
        file.write_all(&more).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        self.own.take_excludes(self.directory())
    }
}
