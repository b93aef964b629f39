//! The committed schemas are what the pinned packages give.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "looks where CI installed the packages, and says what it skips"
)]

use std::fs;
use std::path::{Path, PathBuf};

use scripted_forge::prune;

/// Where `.ci/forge` installs packages and `gh`.
pub fn installed() -> PathBuf {
    match std::env::var_os("ORANGE_FORGE") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/forge"),
    }
}

/// Says loudly that a test is skipped. In CI it fails instead, where `.ci/run` installs things.
pub fn skip(name: &str, missing: &Path) {
    let is_left_out = std::env::var("ORANGE_CI_AGENTS").is_ok_and(|it| it == "0");
    let must_run = std::env::var_os("CI").is_some() && cfg!(target_os = "linux") && !is_left_out;
    assert!(
        !must_run,
        "{} is missing: run `.ci/forge`",
        missing.display()
    );
    println!(
        "SKIPPED {name}: {} is missing; run `.ci/forge`",
        missing.display()
    );
}

#[test]
fn pruning_again_gives_the_committed_schemas() {
    let packages = installed().join("node_modules");
    if !packages.exists() {
        return skip("pruning_again_gives_the_committed_schemas", &packages);
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, text) in prune::from_packages(&packages).unwrap() {
        let committed = fs::read_to_string(schema.join(name)).unwrap();
        let same = committed == text;
        assert!(
            same,
            "schema/{name} differs: run `cargo run --example prune target/forge/node_modules`"
        );
    }
}
