//! What is needed to run an agent in a sandbox.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use super::broker::Broker;
use super::description::Description;
use crate::run::RawText;

/// An agent and its sandbox.
pub struct SandboxedRun<'a> {
    pub description: &'a Description,
    pub program: &'a OsStr,
    pub arguments: &'a [RawText],
    pub directory: &'a Path,
    pub environment: BTreeMap<OsString, OsString>,
    /// The login that stays outside.
    pub secret: Option<OsString>,
    /// The private folder of the run, for sockets.
    pub folder: &'a Path,
    /// Where the output goes, if not to this process's own.
    pub output: Option<File>,
    /// What runs the agent's calls of `orange`.
    pub broker: Broker,
}
