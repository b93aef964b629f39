//! Writes files for an agent into its worktree.

use std::io::{self, Read as _};
use std::path::Path;

use orange_config::HarnessFile;

use super::entry::FILE;
use crate::git::{Git, GitError};
use crate::safe_directory::{EntryKind, SafeDirectory};

/// The first line of each file that orange writes for an agent. A file without it is not orange's,
/// and stays.
const MARK: &str = "Written by orange. What is changed here is lost.\n";

/// Upper bound on the size of such a file.
const LARGEST: u64 = 256 * 1024;

impl Git {
    /// Makes sure that the worktree has these files, and that git ignores them. A file at the same
    /// path that orange did not write is not changed; this is an error unless the file is optional.
    /// Returns whether all files exist.
    pub fn write_agent_files(
        &self,
        worktree: &Path,
        files: &[HarnessFile],
    ) -> Result<bool, GitError> {
        if files.is_empty() {
            return Ok(true);
        }
        let paths: Vec<&str> = files.iter().map(|it| it.path.as_str()).collect();
        self.exclude(&paths)?;
        let place = SafeDirectory::open(worktree).map_err(GitError::system("open", worktree))?;
        let mut all_exist = true;
        for file in files {
            let path = Path::new(&file.path);
            match write_agent_file(&place, path, &with_mark(path, &file.text)) {
                Err(_) if file.optional => all_exist = false,
                result => result.map_err(GitError::system("write", &worktree.join(path)))?,
            }
        }
        Ok(all_exist)
    }
}

/// The text with the mark above it, as a comment in the file's format.
fn with_mark(path: &Path, text: &str) -> String {
    let is_json = path.extension().is_some_and(|it| it == "json");
    let sign = if is_json { "//" } else { "#" };
    format!("{sign} {MARK}{text}")
}

fn write_agent_file(place: &SafeDirectory, path: &Path, text: &str) -> io::Result<()> {
    if place.kind(path)? != EntryKind::Absent {
        let mut found = String::new();
        let file = place.open_file(path).map_err(|_| foreign_file_error())?;
        file.take(LARGEST).read_to_string(&mut found)?;
        if found == text {
            return Ok(());
        }
        // A process that died while writing may have left only the beginning of one of our files.
        let mark = with_mark(path, "");
        if !found.starts_with(&mark) && !mark.starts_with(&found) {
            return Err(foreign_file_error());
        }
        place.remove(path)?;
    }
    place.create(path, FILE, text.as_bytes())
}

fn foreign_file_error() -> io::Error {
    io::Error::other("the existing file was not written by orange; move it away")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_orange_did_not_write_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let place = SafeDirectory::open(root.path()).unwrap();
        let read = |path: &Path| fs::read_to_string(root.path().join(path)).unwrap();
        let path = Path::new(".agent/rules");
        let [one, two] = ["one", "two"].map(|text| with_mark(path, text));
        assert!(one.starts_with("# Written"), "{one}");
        assert!(with_mark(Path::new("a/b.json"), "{}").starts_with("// Written"));
        for text in [&one, &one, &two] {
            write_agent_file(&place, path, text).unwrap();
            assert_eq!(&read(path), text);
        }
        for torn in ["", "# Written"] {
            fs::write(root.path().join(path), torn).unwrap();
            write_agent_file(&place, path, &one).unwrap();
            assert_eq!(read(path), one);
        }
        fs::write(root.path().join(path), "mine").unwrap();
        assert!(write_agent_file(&place, path, &one).is_err());
        assert_eq!(read(path), "mine");
        symlink(outside.path(), root.path().join("door")).unwrap();
        assert!(write_agent_file(&place, Path::new("door/rules"), &one).is_err());
        symlink("/etc/hostname", root.path().join(".agent/link")).unwrap();
        assert!(write_agent_file(&place, Path::new(".agent/link"), &one).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
