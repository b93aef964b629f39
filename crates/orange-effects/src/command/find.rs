//! Where a program is that is given by its name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// The place of a program on the `PATH` of its environment; nothing where the system has to look.
///
/// A program of a known place is started without copying this process first.
pub fn find(program: &OsStr, environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return None;
    }
    let path = environment.get(OsStr::new("PATH"))?;
    let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    // One that is relative is meant as seen from where the program will be.
    if folders.iter().any(|folder| folder.is_relative()) {
        return None;
    }
    folders.iter().find_map(|folder| {
        let place = folder.join(program);
        let is_program = place
            .metadata()
            .is_ok_and(|it| it.is_file() && it.mode() & 0o111 != 0);
        is_program.then_some(place)
    })
}
