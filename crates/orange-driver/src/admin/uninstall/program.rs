//! The program itself, where the install script put it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The list of what the install script put below its directory. A line that ends in a slash is a
/// directory that was not there before.
const RECEIPT: &str = "share/orange/receipt";

/// Where the script unpacks a version before it moves the files; left by a script that was killed.
const UNPACKED: &str = "share/orange/new";

/// What the install script put on this machine.
#[derive(Clone, Debug, Default)]
pub(super) struct InstalledFiles {
    prefix: PathBuf,
    files: Vec<PathBuf>,
    /// Outermost first.
    directories: Vec<PathBuf>,
}

impl InstalledFiles {
    /// `None` if the install script did not install this program.
    pub(super) fn of_program(program: &Path) -> Option<Self> {
        let prefix = program.parent()?.parent()?;
        let text = fs::read_to_string(prefix.join(RECEIPT)).ok()?;
        let mut found = Self {
            prefix: prefix.to_owned(),
            ..Self::default()
        };
        for line in text.lines() {
            let path = Path::new(line);
            // A receipt names nothing outside its own directory.
            let is_inside = |it| matches!(it, Component::Normal(_) | Component::CurDir);
            if line.is_empty() || !path.components().all(is_inside) {
                continue;
            }
            match line.strip_suffix('/') {
                Some(".") => found.directories.push(prefix.to_owned()),
                Some(directory) => found.directories.push(prefix.join(directory)),
                None => found.files.push(prefix.join(path)),
            }
        }
        found.directories.sort();
        found.files.contains(&program.to_owned()).then_some(found)
    }

    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Removes the files, and the directories that are empty then. Returns what could not be
    /// removed, with the reason. The receipt goes after the other files, so this can be repeated.
    pub(super) fn remove(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut remove = |path: &Path, result: std::io::Result<()>| match result {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                problems.push(format!("cannot remove `{}`: {error}", path.display()));
            }
            _ => {}
        };
        let unpacked = self.prefix.join(UNPACKED);
        remove(&unpacked, fs::remove_dir_all(&unpacked));
        let receipt = self.prefix.join(RECEIPT);
        for file in self.files.iter().filter(|it| **it != receipt) {
            remove(file, fs::remove_file(file));
        }
        if problems.is_empty() {
            let _still_listed = fs::remove_file(&receipt);
            for directory in self.directories.iter().rev() {
                // One that has other files by now stays.
                let _not_empty = fs::remove_dir(directory);
            }
        }
        problems
    }
}
