//! Reads every recorded answer of `@octokit/fixtures`, and its headers.

use std::fs;
use std::path::Path;

use orange_engine::time::Timestamp;
use serde_json::Value;

use super::super::super::classify::classify;
use super::super::super::error::Trouble;
use super::super::super::host::Host;
use super::super::super::http::HttpResponse;
use super::super::super::link::{NextPage, next_page};
use super::readers::Reader;
use super::{Tally, parse};

/// What an answer is read as, and whether it is a list.
fn answer(method: &str, path: &str) -> Option<(Reader, bool)> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let rest = match parts.as_slice() {
        ["repos", _, _, rest @ ..] | ["repositories", _, rest @ ..] => rest,
        ["orgs", _, "repos"] => &[],
        _ => return None,
    };
    Some(match (method, rest) {
        ("get" | "patch" | "post", []) => (Reader::Repository, false),
        ("get", ["issues"]) => (Reader::Issue, true),
        ("post", ["issues"]) => (Reader::Issue, false),
        ("post", ["issues", _, "labels"]) | ("get", ["labels"]) => (Reader::Label, true),
        ("post", ["labels"]) | ("get" | "patch", ["labels", _]) => (Reader::Label, false),
        ("get", ["collaborators"]) => (Reader::Account, true),
        ("post", ["statuses", _]) => (Reader::Status, false),
        ("get", ["commits", _, "statuses"]) => (Reader::Status, true),
        ("get", ["commits", _, "status"]) => (Reader::Statuses, false),
        _ => return None,
    })
}

/// The headers of a recording, which are an object or a flat list.
fn headers(recording: &Value) -> Vec<(String, String)> {
    let pair = |name: &str, value: &Value| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (name.to_lowercase(), value)
    };
    if let Some(headers) = recording["headers"].as_object() {
        return headers.iter().map(|(name, it)| pair(name, it)).collect();
    }
    let list = recording["rawHeaders"].as_array().unwrap();
    let pairs = list.chunks_exact(2);
    pairs
        .map(|it| pair(it[0].as_str().unwrap(), &it[1]))
        .collect()
}

fn response(recording: &Value) -> HttpResponse {
    let headers = headers(recording);
    let headers = headers
        .iter()
        .map(|(name, it)| (name.as_str(), it.as_str()));
    let headers: Vec<_> = headers.collect();
    let status = recording["status"].as_u64().unwrap();
    let body = recording["response"].to_string();
    HttpResponse::new(status.try_into().unwrap(), &headers, &body)
}

/// What was found in the recordings, apart from objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    recordings: usize,
    next_pages: usize,
    last_pages: usize,
    moved: usize,
    absent: usize,
    invalid: usize,
}

fn read_recording(tally: &mut Tally, found: &mut Found, recording: &Value) {
    let [method, path] = ["method", "path"].map(|it| recording[it].as_str().unwrap());
    let place = format!("{method} {path}");
    let response = response(recording);
    found.recordings += 1;
    match next_page(response.header_values("link")) {
        NextPage::At(_) => found.next_pages += 1,
        NextPage::None => found.last_pages += 1,
        NextPage::Unknown => tally.problems.push(format!("{place}: its next page")),
    }
    match classify(&response, &Host::github(), Timestamp::default()) {
        Ok(()) => {}
        Err(Trouble::Moved { .. }) => found.moved += 1,
        Err(Trouble::AbsentOrNotAllowed { .. }) => found.absent += 1,
        Err(Trouble::Unprocessable { errors, .. }) if !errors.is_empty() => found.invalid += 1,
        Err(trouble) => tally.problems.push(format!("{place}: {trouble}")),
    }
    let body = &recording["response"];
    if !matches!(response.status, 200..=299) {
        return;
    }
    match answer(method, path) {
        Some((reader, true)) => tally.read_all(reader, &place, body),
        Some((reader, false)) => tally.read(reader, &place, body),
        None if path.starts_with("/search/issues") => {
            tally.read_all(Reader::Issue, &place, &body["items"]);
        }
        None if body["required_status_checks"].is_object() => {
            tally.read(
                Reader::RequiredChecks,
                &place,
                &body["required_status_checks"],
            );
        }
        None => {}
    }
}

fn read_recordings(package: &Path, file: &str) -> (Tally, Found) {
    let (mut tally, mut found) = (Tally::default(), Found::default());
    for scenario in fs::read_dir(package.join("scenarios/api.github.com")).unwrap() {
        let recordings = parse(&scenario.unwrap().path().join(file));
        for recording in recordings.as_array().unwrap() {
            read_recording(&mut tally, &mut found, recording);
        }
    }
    assert_eq!(tally.problems, Vec::<String>::new());
    (tally, found)
}

#[test]
fn every_recorded_answer_is_read() {
    let test = "every_recorded_answer_is_read";
    let Some(package) = scripted_forge::packages::package(test, "fixtures") else {
        return;
    };
    // As GitHub sent them, with the requests that set up and remove what was recorded.
    let (tally, found) = read_recordings(&package, "raw-fixture.json");
    let expected = Found {
        recordings: 132,
        next_pages: 4,
        last_pages: 128,
        moved: 3,
        absent: 1,
        invalid: 2,
    };
    assert_eq!(found, expected);
    tally.assert_counts(&[
        ("account", 3),
        ("issue", 32),
        ("label", 15),
        ("repository", 20),
        ("required checks", 1),
        ("status", 4),
        ("statuses", 1),
    ]);
    // The same without these requests, and with numbers that never change.
    let (tally, found) = read_recordings(&package, "normalized-fixture.json");
    let expected = Found {
        recordings: 71,
        last_pages: 67,
        ..expected
    };
    assert_eq!(found, expected);
    tally.assert_counts(&[
        ("account", 3),
        ("issue", 16),
        ("label", 15),
        ("repository", 4),
        ("required checks", 1),
        ("status", 4),
        ("statuses", 1),
    ]);
}
