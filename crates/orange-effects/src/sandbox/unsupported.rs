//! Other systems have no sandbox for orange.

use std::io;
use std::path::{Path, PathBuf};

use orange_config::Environment;

use super::capabilities::Gap;
use super::ending::AgentExit;
use super::sandboxed_run::SandboxedRun;
use super::unstarted::SandboxError;

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
