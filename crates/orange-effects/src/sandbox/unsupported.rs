//! Other systems have no sandbox for orange.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use orange_config::{Environment, HostPort};

use super::attempts::{AttemptResults, Targets};
use super::capabilities::{Gap, Level};
use super::description::Description;
use super::ending::AgentExit;
use super::network::PortForward;
use super::sandboxed_run::SandboxedRun;
use super::unstarted::{ConfineFailure, SandboxError};
use crate::command::Invocation;
use crate::run::RawText;

pub fn run_in_sandbox(_run: SandboxedRun<'_>) -> Result<AgentExit, SandboxError> {
    Err(SandboxError::Unsupported)
}

pub fn run_init(_environment: &Environment) -> io::Result<u8> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn confine(_environment: &Environment) -> Option<ConfineFailure> {
    Some(ConfineFailure {
        is_missing: false,
        message: SandboxError::Unsupported.to_string(),
    })
}

/// There is no description from which this could be called.
pub fn program_in_sandbox(
    description: &Description,
    _program: &OsStr,
    _arguments: &[RawText],
    environment: &BTreeMap<OsString, OsString>,
    _directory: &Path,
    _proxy: Option<&StartedProxy>,
) -> Invocation {
    Invocation::new(description.orange.as_os_str(), environment.clone())
}

/// A proxy, of which there is none.
#[derive(Clone)]
pub struct StartedProxy;

pub fn start_proxy(
    _folder: &Path,
    _name: &str,
    _hosts: &[HostPort],
    _level: Level,
) -> io::Result<StartedProxy> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nothing that could be attacked.
#[derive(Debug)]
pub struct TargetSockets;

pub fn create_targets(_folder: &Path, _home: &Path) -> io::Result<(Targets, TargetSockets)> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn make_attempts(_targets: &Targets, _environment: &Environment) -> AttemptResults {
    AttemptResults::new()
}

pub fn machine_arguments(_description: &Description) -> Vec<OsString> {
    Vec::new()
}

pub fn has_server(_folder: &Path, _port: u16) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn forward_port(_folder: &Path, _forward: PortForward) {}

pub fn trusted_bwrap(_environment: &Environment, _worktrees: &[&Path]) -> Option<PathBuf> {
    None
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
