//! Finds a program on the `PATH`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// The path of a program on the `PATH` of its environment. `None` if the program is given by its
/// path, if it is not found, or if `PATH` has a relative entry; the system then resolves it.
///
/// A program with a known path is started without forking this process first.
pub fn find(program: &OsStr, environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return None;
    }
    let path = environment.get(OsStr::new("PATH"))?;
    let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    // A relative entry is relative to the directory that the program will run in.
    if folders.iter().any(|folder| folder.is_relative()) {
        return None;
    }
    folders.iter().find_map(|folder| {
        let candidate = folder.join(program);
        let is_program = candidate
            .metadata()
            .is_ok_and(|it| it.is_file() && it.mode() & 0o111 != 0);
        is_program.then_some(candidate)
    })
}
