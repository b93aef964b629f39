//! The event stream: nothing is lost, and nothing comes twice.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::browser::{asking, payload};
use crate::client::Api;
use crate::schema_check::judge;
use crate::support::Stage;

/// An open stream.
struct Reader {
    lines: BufReader<TcpStream>,
}

/// An event: its name, its id, its data.
type Found = (String, u64, Value);

impl Reader {
    fn open(api: &Api, token: &str, seen: Option<u64>) -> Reader {
        let bearer = format!("Bearer {token}");
        let seen = seen.map(|it| it.to_string());
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(seen.as_deref().map(|it| ("Last-Event-ID", it)));
        let head = api.head("GET /api/v1/events", &headers);
        let mut stream = api.connect();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        Reader {
            lines: BufReader::new(stream),
        }
    }

    fn next(&mut self) -> Found {
        let (mut name, mut id, mut data) = (None, None, None);
        loop {
            let mut line = String::new();
            assert_ne!(
                self.lines.read_line(&mut line).unwrap(),
                0,
                "the stream has ended"
            );
            let line = line.trim_end();
            if let Some(it) = line.strip_prefix("event: ") {
                name = Some(it.to_owned());
            } else if let Some(it) = line.strip_prefix("id: ") {
                id = it.parse().ok();
            } else if let Some(it) = line.strip_prefix("data: ") {
                data = serde_json::from_str(it).ok();
            }
            if let (Some(name), Some(data)) = (&name, &data) {
                judge(data);
                // An event about requests has no id, so that a reader resumes after the last commit.
                assert_eq!(id.is_none(), name == "requests");
                let id = id.unwrap_or_else(|| data["sequence"].as_u64().unwrap());
                return (name.clone(), id, Value::clone(data));
            }
        }
    }
}

#[test]
fn a_reader_that_reconnects_gets_every_change_once() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let mut reader = Reader::open(&api, &token, None);
    let (name, start, ready) = reader.next();
    assert_eq!(
        (name.as_str(), ready["changes"].as_array().unwrap().len()),
        ("ready", 0)
    );
    let mut created = Vec::new();
    let (mut found, mut last): (Vec<(u64, Value)>, u64) = (Vec::new(), start);
    for number in 0..12 {
        // Some changes come while it listens, and some while it does not.
        if number % 3 == 1 {
            drop(reader);
            created.push(stage.create(&[&format!("t{number}"), "While away"]));
            reader = Reader::open(&api, &token, Some(last));
            let (name, id, _) = reader.next();
            assert_eq!((name.as_str(), id), ("ready", last));
        } else {
            created.push(stage.create(&[&format!("t{number}"), "While there"]));
        }
        let task = created.last().unwrap().as_str();
        loop {
            let (name, id, data) = reader.next();
            assert_eq!(name, "change");
            last = id;
            let changes = data["changes"].as_array().unwrap().clone();
            let is_it = changes.iter().any(|it| it["task"] == task);
            found.extend(changes.into_iter().map(|it| (id, it)));
            if is_it {
                break;
            }
        }
    }
    let ids: Vec<u64> = found.iter().map(|(id, _)| *id).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let of = |task: &str| {
        let those = found.iter().filter(|(_, it)| it["task"] == task);
        those
            .map(|(_, it)| it["version"].as_u64().unwrap())
            .collect::<Vec<u64>>()
    };
    // The table is the truth: each commit of each task, once.
    for task in &created {
        let events = stage.store().events(task, 0).unwrap();
        let mut commits: Vec<(u64, u64)> = Vec::new();
        for event in events {
            match commits.last_mut() {
                Some(commit) if commit.0 == event.sequence => commit.1 = event.event.version,
                _ => commits.push((event.sequence, event.event.version)),
            }
        }
        // Commits after the last one that was read are not there yet.
        let read = commits.iter().filter(|(sequence, _)| *sequence <= last);
        let versions: Vec<u64> = read.map(|(_, version)| *version).collect();
        assert_eq!(of(task.as_str()), versions, "{task}");
    }
    // From the beginning, another reader gets the same.
    let mut late = Reader::open(&api, &token, Some(start));
    assert_eq!(late.next().0, "ready");
    let mut again = Vec::new();
    while again.len() < found.len() {
        let (_, id, data) = late.next();
        let changes = data["changes"].as_array().unwrap().clone();
        again.extend(changes.into_iter().map(|it| (id, it)));
    }
    assert_eq!(again, found);
}

#[test]
fn an_event_says_only_what_changed() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let mut reader = Reader::open(&api, &token, None);
    reader.next();
    let id = stage.create(&["secret-branch", "A secret summary"]);
    let (_, sequence, data) = reader.next();
    assert!(!data.to_string().contains("secret"), "{data}");
    let change = &data["changes"][0];
    assert_eq!(change["task"], id.as_str());
    assert_eq!(change["status"], stage.task(&id).status.as_str());
    assert_eq!(data["sequence"], sequence);
}

#[test]
fn a_number_that_does_not_exist_resets_the_reader() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    stage.create(&["one", "One"]);
    let mut reader = Reader::open(&api, &token, Some(1_000_000));
    let (name, id, _) = reader.next();
    assert_eq!(name, "reset");
    assert!(id < 1_000);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Last-Event-ID", "-1")];
    assert_eq!(api.send("GET /api/v1/events", &headers, "").status, 400);
    // A rebuild counts anew, also for a reader that listens.
    stage.lose_database();
    stage.run_ok(&["rebuild"]);
    let id = stage.create(&["two", "Two"]);
    loop {
        let (_, _, data) = reader.next();
        let changes = data["changes"].as_array().unwrap();
        if changes.iter().any(|it| it["task"] == id.as_str()) {
            break;
        }
    }
}

#[test]
fn requests_for_permission_are_announced_and_have_no_position() {
    let stage = Stage::new("minimal");
    stage.script(
        "worker-1",
        &format!("{}wait\n", asking("make it", "answer")),
    );
    let id = stage.create(&["one", "Ask for permission"]);
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "act");
    let mut reader = Reader::open(&api, &token, None);
    let mut last = reader.next().1;
    let mut next_request = |reader: &mut Reader| loop {
        let (name, id, data) = reader.next();
        assert!(id >= last, "{id} comes after {last}");
        last = id;
        if name == "requests" {
            assert_eq!(data["changes"], json!([]));
            return;
        }
        assert_eq!(name, "change");
    };
    let open = || {
        let items = api.get("/api/v1/attention", &token).json();
        let items = items["items"].as_array().unwrap().iter();
        let requests = items.filter_map(|it| it["request"]["id"].as_str().map(str::to_owned));
        requests.collect::<Vec<String>>()
    };
    stage.run_ok(&["task", "spawn", id.as_str()]);
    next_request(&mut reader);
    let asked = open();
    assert_eq!(asked.len(), 1);
    let allow = format!("/api/v1/requests/{}/allow", asked[0]);
    assert_eq!(api.post(&allow, &token, &json!({})).status, 200);
    next_request(&mut reader);
    assert_eq!(open(), [""; 0]);

    // A hook that is killed ends its request, which nothing but the lock says.
    stage.wait_for_turn("worker-1");
    let payload = payload("make it again").to_string();
    stage.script("payload", &payload);
    stage.script(
        "worker-2",
        "orange agent-ask < $SCRIPTS/payload > $SCRIPTS/answer-2 & hook=$!\n\
         pause stop\nkill -9 $hook\nwait\n",
    );
    stage.run_ok(&["task", "tell", id.as_str(), "-m", "again"]);
    next_request(&mut reader);
    assert_eq!(open().len(), 1);
    stage.script("stop", "");
    next_request(&mut reader);
    assert_eq!(open(), [""; 0]);
}
