//! Reads the objects of every payload of `@octokit/webhooks-examples`.

use serde_json::Value;

use super::readers::Reader;
use super::{Tally, parse};

/// Where an object of ours is in a payload, whatever the event.
const PLACES: [(&str, Reader); 7] = [
    ("check_run", Reader::CheckRun),
    ("issue", Reader::Issue),
    ("label", Reader::Label),
    ("pull_request", Reader::PullRequest),
    ("repository", Reader::Repository),
    ("workflow_job", Reader::Job),
    ("workflow_run", Reader::Run),
];

/// Reads the accounts, at any depth.
fn read_accounts(tally: &mut Tally, place: &str, value: &Value) {
    match value {
        Value::Array(list) => list.iter().for_each(|it| read_accounts(tally, place, it)),
        Value::Object(object) => {
            for (key, inner) in object {
                let names_account = ["sender", "user", "assignee"].contains(&key.as_str());
                if names_account && inner.is_object() {
                    tally.read(Reader::Account, place, inner);
                }
                read_accounts(tally, place, inner);
            }
        }
        _ => {}
    }
}

fn read_payload(tally: &mut Tally, event: &str, place: &str, payload: &Value) {
    for (key, reader) in PLACES {
        if payload[key].is_object() {
            tally.read(reader, place, &payload[key]);
        }
    }
    match event {
        "issue_comment" => {
            tally.read(Reader::Comment, place, &payload["comment"]);
            tally.read(Reader::ListedComment, place, &payload["comment"]);
        }
        "status" => tally.read(Reader::Status, place, payload),
        _ => {}
    }
    read_accounts(tally, place, payload);
}

#[test]
fn every_payload_of_a_webhook_is_read() {
    let test = "every_payload_of_a_webhook_is_read";
    let Some(package) = scripted_forge::packages::package(test, "webhooks-examples") else {
        return;
    };
    let events = parse(&package.join("api.github.com/index.json"));
    let mut tally = Tally::default();
    let (mut payloads, mut without) = (0, Vec::new());
    for event in events.as_array().unwrap() {
        let name = event["name"].as_str().unwrap();
        for (index, payload) in event["examples"].as_array().unwrap().iter().enumerate() {
            let action = payload["action"].as_str().unwrap_or_default();
            let place = format!("{name}/{index} {action}");
            let before: usize = tally.counts.values().sum();
            read_payload(&mut tally, name, &place, payload);
            payloads += 1;
            if tally.counts.values().sum::<usize>() == before {
                without.push(name);
            }
        }
    }
    assert_eq!((events.as_array().unwrap().len(), payloads), (58, 329));
    // An advisory is about the whole of GitHub, and holds nothing that orange reads.
    assert_eq!(without, ["security_advisory"; 4]);
    tally.assert_counts(&[
        ("account", 587),
        ("check run", 10),
        ("comment", 9),
        ("issue", 38),
        ("job", 8),
        ("label", 17),
        ("listed comment", 9),
        ("pull request", 41),
        ("repository", 280),
        ("run", 8),
        ("status", 4),
    ]);
    // These two say neither whether the issue is open nor what its labels are. Orange must not guess
    // that, so it reads no issue without a state.
    assert_eq!(
        tally.problems,
        [
            "issues/19 pinned: issue: missing field `state`",
            "issues/28 unpinned: issue: missing field `state`",
        ]
    );
}
