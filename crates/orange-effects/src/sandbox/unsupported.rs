//! Other systems have no sandbox for orange.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use orange_config::Environment;

use super::capabilities::Gap;
use super::description::Description;
use super::ending::AgentExit;
use super::unstarted::SandboxError;
use crate::run::RawText;

pub type StartOutside = Box<dyn Fn(&[&str]) -> Option<u32> + Send>;

/// An agent and its sandbox.
pub struct SandboxedRun<'a> {
    pub description: &'a Description,
    pub program: &'a OsStr,
    pub arguments: &'a [RawText],
    pub directory: &'a Path,
    pub environment: BTreeMap<OsString, OsString>,
    pub folder: &'a Path,
    pub output: Option<File>,
    pub start_outside: StartOutside,
}

pub fn run_in_sandbox(_run: SandboxedRun<'_>) -> Result<AgentExit, SandboxError> {
    Err(SandboxError::Unsupported)
}

pub fn run_init() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn confine() -> io::Error {
    io::ErrorKind::Unsupported.into()
}

pub fn ask_outside(_words: &[&str]) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn landlock_abi() -> u8 {
    0
}

pub(super) fn working_bwrap(
    _environment: &Environment,
    _worktrees: &[&Path],
) -> Result<PathBuf, Gap> {
    Err(Gap {
        reason: String::from("this system has no sandbox for orange"),
        fix: String::from("use Linux"),
    })
}
