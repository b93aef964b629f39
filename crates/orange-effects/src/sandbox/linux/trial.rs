//! Tries whether bwrap can make a sandbox here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::Environment;

use super::arguments::{mount_arguments, namespace_arguments};
use super::bwrap::find_bwrap;
use super::fixes::{bwrap_fix, explain_failure};
use crate::command::Invocation;
use crate::sandbox::capabilities::Gap;
use crate::sandbox::network::Network;
use crate::sandbox::system_mounts::system_mounts;

/// How long bwrap may take to start a program that prints a word.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the program prints: another program in the place of bwrap may succeed without starting it.
const STARTED: &str = "started";

/// Finds bwrap, and starts a program in an empty sandbox with the arguments of a real one.
pub(in crate::sandbox) fn working_bwrap(
    environment: &Environment,
    worktrees: &[&Path],
) -> Result<PathBuf, Gap> {
    let bwrap = find_bwrap(environment.variable("PATH"), worktrees).map_err(|problem| Gap {
        reason: problem.to_string(),
        fix: bwrap_fix(&problem),
    })?;
    // A limited network needs one namespace more.
    let mut words = namespace_arguments("orange", &Network::None);
    words.extend(mount_arguments(&system_mounts()));
    words.extend(
        [
            "--as-pid-1",
            "--",
            "/bin/sh",
            "-c",
            "printf %s \"$0\"",
            STARTED,
        ]
        .map(Into::into),
    );
    let trial = Invocation::new(&bwrap, environment.passed_variables([]))
        .arguments(words)
        .directory("/")
        .timeout(TIMEOUT);
    let failure = match trial.run() {
        Ok(finished) if finished.stdout.bytes == STARTED.as_bytes() => return Ok(bwrap),
        Ok(finished) => String::from_utf8_lossy(&finished.stderr.bytes).into_owned(),
        Err(error) => error.to_string(),
    };
    let (reason, fix) = explain_failure(&failure);
    Err(Gap { reason, fix })
}
