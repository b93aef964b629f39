//! The folder for temporary files of one start.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::run::RawText;

/// The variables by which programs find a folder for temporary files; claude has one of its own.
const VARIABLES: [&str; 4] = ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"];

/// An empty folder that only the user can read; removed at the end. One that a killed process left
/// stays until the folder above it is removed.
pub(in crate::sandbox::linux) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(in crate::sandbox::linux) fn create(parent: &RawText) -> io::Result<Self> {
        let parent = Path::new(parent.as_os_str());
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700).create(parent)?;
        let path = parent.join(std::process::id().to_string());
        // Of a process that was killed and had the same id.
        let _absent = fs::remove_dir_all(&path);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
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
