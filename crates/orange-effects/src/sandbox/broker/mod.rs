//! Runs `orange` outside of a sandbox for calls from inside.
//!
//! Inside there is no home of orange, so `orange` sends its arguments and its input to `exec-run`
//! and prints what comes back. `exec-run` has one socket for each run and starts `orange` with the
//! run's own secret: possession of the socket is the identity of the run, and what an agent writes
//! into its variables changes nothing.

mod client;
mod frames;
mod server;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::secret::Secret;

pub use client::{CallResult, OutputStream, call_outside};
pub(super) use server::answer_calls;

/// Decides whether these arguments of `orange` may be run for an agent; else says why not.
pub type CallPolicy = Box<dyn Fn(&[OsString]) -> Result<(), String> + Send + Sync>;

/// How `orange` is run outside.
pub struct Broker {
    pub orange: PathBuf,
    /// The variables of the run, with its secret.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where the run works. The caller's own directory does not count.
    pub directory: PathBuf,
    pub policy: CallPolicy,
    /// What a call must name, where others reach the broker too.
    pub secret: Option<Secret>,
}
