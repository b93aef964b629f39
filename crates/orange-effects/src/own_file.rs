//! Writes a file wherever the user wants it, without replacing another's.
//!
//! Invariant: an existing file is replaced only if it begins with our mark. A process that is killed
//! midway leaves the old file or the new one, and at most a temporary file beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use orange_config::reason;

/// Why a file was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write `{}`: {reason}", .path.display())]
pub struct OwnFileError {
    pub path: PathBuf,
    pub reason: String,
}

/// Writes a text that begins with `mark`. Replaces only a regular file that begins with it too.
pub fn write(path: &Path, mark: &str, text: &str) -> Result<(), OwnFileError> {
    let refuse = |reason: &str| OwnFileError {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let failed = |error: io::Error| refuse(&reason(&error));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path, text).map_err(failed),
        Err(error) => Err(failed(error)),
        Ok(found) if !found.is_file() => Err(refuse("it exists and is not a regular file")),
        Ok(_) if begins_with(path, mark).map_err(failed)? => replace(path, text).map_err(failed),
        Ok(_) => Err(refuse("it exists, and orange did not write it")),
    }
}

fn begins_with(path: &Path, mark: &str) -> io::Result<bool> {
    let mut start = Vec::new();
    let length = u64::try_from(mark.len()).unwrap_or(u64::MAX);
    File::open(path)?.take(length).read_to_end(&mut start)?;
    Ok(start == mark.as_bytes())
}

/// Creates the file; fails if another process was faster.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let temporary = write_beside(path, text)?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    linked
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions();
    let temporary = write_beside(path, text)?;
    let moved = fs::set_permissions(&temporary, mode).and_then(|()| fs::rename(&temporary, path));
    if moved.is_err() {
        fs::remove_file(&temporary)?;
    }
    moved
}

/// Writes a new file beside the path; returns its own path. A file that is already there is not
/// ours.
fn write_beside(path: &Path, text: &str) -> io::Result<PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(&temporary)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        fs::remove_file(&temporary)?;
    }
    written.map(|()| temporary)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "<!-- ours -->";

    #[test]
    fn only_our_own_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        write(&path, MARK, "<!-- ours -->one").unwrap();
        write(&path, MARK, "<!-- ours -->two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "<!-- ours -->two");
        for other in ["", "<!-- our", "notes <!-- ours -->"] {
            fs::write(&path, other).unwrap();
            let error = write(&path, MARK, "<!-- ours -->three").unwrap_err();
            assert!(error.to_string().contains("orange did not write it"));
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        let names = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 1, "no temporary file is left");
    }

    #[test]
    fn links_and_directories_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "<!-- ours -->one").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [link.as_path(), folder.path()] {
            let error = write(path, MARK, "<!-- ours -->two").unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "<!-- ours -->one");
        let missing = folder.path().join("missing/page.html");
        let error = write(&missing, MARK, MARK).unwrap_err();
        assert_eq!(error.path, missing);
    }
}
