//! The folder for temporary files of one start.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::run::RawText;

/// The variables by which programs find a folder for temporary files; claude has one of its own.
const VARIABLES: [&str; 4] = ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"];

/// How often the folder above is made again.
const ATTEMPTS: u32 = 1_000;

/// An empty folder that only the user can read; removed at the end. One that a killed process left
/// stays until the folder above it is removed.
pub(in crate::sandbox::linux) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(in crate::sandbox::linux) fn create(parent: &RawText) -> io::Result<Self> {
        let parent = Path::new(parent.as_os_str());
        let path = parent.join(std::process::id().to_string());
        // Of a process that was killed and had the same id.
        let _absent = fs::remove_dir_all(&path);
        let mut attempts = 0;
        loop {
            let mut private = DirBuilder::new();
            let made = private.recursive(true).mode(0o700).create(parent);
            let made = made.and_then(|()| DirBuilder::new().mode(0o700).create(&path));
            match made.map_err(|error| error.kind()) {
                // Another process has just removed the folder above it, because it was empty.
                Err(io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
                    if attempts < ATTEMPTS =>
                {
                    attempts += 1;
                }
                Err(kind) => return Err(kind.into()),
                Ok(()) => return Ok(Self(path)),
            }
        }
    }

    /// The variables that name it.
    pub(in crate::sandbox::linux) fn variables(
        &self,
        has_home: bool,
    ) -> io::Result<BTreeMap<String, String>> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let not_text =
            || io::Error::other("the path of the folder for temporary files is not UTF-8");
        let folder = text(&self.0).ok_or_else(not_text)?;
        let names = VARIABLES.iter();
        let mut variables: BTreeMap<String, String> = names
            .map(|name| ((*name).to_owned(), folder.clone()))
            .collect();
        if has_home {
            let home = self.0.join("home");
            fs::create_dir(&home)?;
            variables.insert(String::from("HOME"), text(&home).ok_or_else(not_text)?);
        }
        Ok(variables)
    }

    pub(in crate::sandbox::linux) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.0);
        // Another program may use it at the same time.
        let _used = self.0.parent().map(fs::remove_dir);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_folder_is_made_while_others_remove_the_empty_one_above_it() {
        let root = tempfile::tempdir().unwrap();
        let parent = root.path().join("temporary");
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let _in_use = fs::remove_dir(&parent);
                    thread::sleep(Duration::from_micros(20));
                }
            });
            let made = (0..2_000).try_for_each(|_| {
                let folder = TemporaryFolder::create(&RawText::from(&parent))?;
                assert!(folder.path().is_dir());
                io::Result::Ok(())
            });
            is_done.store(true, Ordering::Relaxed);
            made.unwrap();
        });
    }
}
