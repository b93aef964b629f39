//! Where `.ci/forge` has installed GitHub's packages and `gh`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this crate is for tests: it looks where CI installed things, and says what is skipped"
)]

use std::env;
use std::path::{Path, PathBuf};

use crate::stop::stop;

/// The folder in which `.ci/forge` has installed everything.
pub fn installed() -> PathBuf {
    match env::var_os("ORANGE_FORGE") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/forge"),
    }
}

/// The folder of one of GitHub's npm packages. Without it, the test of this name is skipped.
pub fn package(test: &str, name: &str) -> Option<PathBuf> {
    let path = installed().join("node_modules/@octokit").join(name);
    find(test, path)
}

/// Returns the path if it exists. Otherwise it says loudly that the test is skipped; in CI the test
/// fails, because `.ci/run` installs everything there.
pub fn find(test: &str, path: PathBuf) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    let is_left_out = env::var("ORANGE_CI_AGENTS").is_ok_and(|it| it == "0");
    let must_run = env::var_os("CI").is_some() && cfg!(target_os = "linux") && !is_left_out;
    let path = path.display();
    if must_run {
        stop(&format!("{path} is missing: run `.ci/forge`"));
    }
    println!("SKIPPED {test}: {path} is missing; run `.ci/forge`");
    None
}
