//! Our types read everything that GitHub has published about what they describe.
//!
//! GitHub publishes three kinds of JSON: an example for each operation of its description, the
//! payloads of webhooks, and recorded answers. orange reads only the repository of a webhook, but a
//! payload contains the same objects as the answers of REST. Each test reads every object that one
//! of our types describes, compares what was read with the object, and counts the objects:
//!
//! - read: accounts, repositories, permissions, quotas, pull requests, merges, issues and their
//!   events, comments on issues, labels, check runs, commit statuses, runs and jobs of Actions,
//!   required checks, rules of branches, and errors;
//! - not read by these types, because orange asks GraphQL about them, and GitHub publishes no
//!   answers of GraphQL: reviews, threads, comments on code, and the short form of a pull request
//!   within a check. `tests/forge/gh.rs` compares these with what the real `gh` reads.
//!
//! The packages are installed by `.ci/forge`.

mod examples;
mod readers;
mod recordings;
mod webhooks;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use readers::Reader;

/// How many objects of each kind were read, and what was wrong.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, usize>,
    problems: Vec<String>,
}

impl Tally {
    /// Reads one object; `place` says where it is from.
    fn read(&mut self, reader: Reader, place: &str, value: &Value) {
        *self.counts.entry(reader.name()).or_default() += 1;
        if let Err(problem) = reader.read(value) {
            let name = reader.name();
            self.problems.push(format!("{place}: {name}: {problem}"));
        }
    }

    /// Reads each entry of a list.
    fn read_all(&mut self, reader: Reader, place: &str, list: &Value) {
        for value in list.as_array().unwrap() {
            self.read(reader, place, value);
        }
    }

    fn assert_counts(&self, expected: &[(&str, usize)]) {
        let counts: Vec<_> = self.counts.iter().map(|(name, it)| (*name, *it)).collect();
        assert_eq!(counts, expected);
    }
}

fn parse(path: &Path) -> Value {
    let text = fs::read(path).unwrap();
    serde_json::from_slice(&text).unwrap()
}
