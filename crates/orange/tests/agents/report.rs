//! What the tests measured, and which passed in which version.
//!
//! Every test adds a line to a report below the target folder, which the CI prints. A test that
//! passes while documents are written adds its line to `results.txt`, from which the page about
//! agents is generated: each cell is a test that passed with the version in its header.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::agent::{Agent, pinned};

/// The report; the CI starts a new one.
const REPORT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/agents-report.tsv");

/// The tests that passed, with their versions.
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/results.txt");

pub struct Measurement<'a> {
    pub what: &'a str,
    pub agents: &'a [Agent],
    pub seconds: u64,
    pub requests: usize,
    /// How many packets had no route out of loopback.
    pub packets: u64,
}

/// Prints the measurement and appends it to the report.
pub fn record_measurement(it: &Measurement<'_>) {
    let Measurement {
        what,
        seconds,
        requests,
        packets,
        ..
    } = it;
    println!(
        "{what}: {seconds} s, {requests} requests, {packets} packets that tried to leave loopback"
    );
    let names: Vec<&str> = it.agents.iter().map(|agent| agent.name()).collect();
    let agents = names.join("+");
    let line = format!("{agents}\t{seconds}\t{requests}\t{packets}\t{what}\n");
    fs::create_dir_all(Path::new(REPORT).parent().unwrap()).unwrap();
    // Appends shorter than a page do not interleave.
    let opened = OpenOptions::new().append(true).create(true).open(REPORT);
    opened.unwrap().write_all(line.as_bytes()).unwrap();
}

/// An agent with its tested version.
pub fn name_with_version(name: &str) -> String {
    let version = pinned(name).rsplit_once('@').unwrap().1;
    format!("{name} {version}")
}

/// The tests that have passed.
pub fn shown() -> Vec<String> {
    let results = fs::read_to_string(RESULTS).unwrap_or_default();
    let lines = results.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(test, _)| test.to_owned()).collect()
}

/// The agents and versions with which a test passed.
pub fn passed_versions(test: &str) -> Vec<String> {
    let results = fs::read_to_string(RESULTS).unwrap_or_default();
    let mut lines = results.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(name, _)| *name == test);
    let versions = found.map_or("", |(_, versions)| versions).split(", ");
    versions.map(str::to_owned).collect()
}

/// Records that a test passed, if documents are being written.
pub fn record_pass(test: &str, agents: &[Agent]) {
    if agents.is_empty() || std::env::var_os("ORANGE_WRITE_DOCS").is_none() {
        return;
    }
    let versions = agents.iter().map(|agent| name_with_version(agent.name()));
    let line = format!("{test}: {}", versions.collect::<Vec<_>>().join(", "));
    // Tests may end at the same time.
    let lock = File::create(format!("{REPORT}.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let results = fs::read_to_string(RESULTS).unwrap_or_default();
    let others = results
        .lines()
        .filter(|it| !it.starts_with(&format!("{test}: ")));
    let mut lines: Vec<&str> = others.chain([line.as_str()]).collect();
    lines.sort_unstable();
    fs::write(RESULTS, lines.join("\n") + "\n").unwrap();
}
