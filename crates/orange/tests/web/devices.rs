//! Devices: one-time codes, scopes, revocation.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use orange_config::clock::Stopwatch;
use serde_json::json;

use crate::client::Api;
use crate::support::Stage;

#[test]
fn a_code_pairs_one_device_once() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let (_, answer) = stage.json(&["web", "pair", "phone", "--json"]);
    let code = answer["code"].as_str().unwrap();
    assert_eq!(answer["scope"], "read");
    assert!(
        !stage.web_files("codes").iter().any(|it| it == code),
        "only its hash is stored"
    );
    let statuses = thread::scope(|scope| {
        let tries = [(); 8].map(|()| scope.spawn(|| api.exchange_code(code).status));
        tries.map(|it| it.join().unwrap())
    });
    assert_eq!(
        statuses.iter().filter(|it| **it == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|it| **it == 401).count(),
        7,
        "{statuses:?}"
    );
    assert!(stage.web_files("codes").is_empty());
    let (_, listed) = stage.json(&["web", "devices", "--json"]);
    assert_eq!(listed["devices"][0]["name"], "phone");
    assert_eq!(listed["devices"].as_array().unwrap().len(), 1);
    for bad in ["", "x", "../devices/phone", &"a".repeat(32)] {
        assert_eq!(api.exchange_code(bad).status, 401, "{bad}");
    }
}

#[test]
fn an_expired_code_pairs_nothing() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let (_, answer) = stage.json(&["web", "pair", "phone", "--json"]);
    let code = answer["code"].as_str().unwrap();
    let name = stage.web_files("codes").remove(0);
    let file = stage.home().web().join("codes").join(name);
    let text = fs::read_to_string(&file).unwrap();
    let expires = answer["expires_at"].as_str().unwrap();
    fs::write(&file, text.replace(expires, "2026-01-01T00:00:00.000Z")).unwrap();
    assert_eq!(api.exchange_code(code).status, 401);
    assert!(stage.web_files("devices").is_empty());
}

#[test]
fn names_are_unique_and_plain() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    api.pair(&stage, "phone", "read");
    let code = |words: &[&str]| {
        let words: Vec<&str> = ["web"]
            .iter()
            .chain(words)
            .chain(&["--json"])
            .copied()
            .collect();
        let (exit, answer) = stage.json(&words);
        (
            exit,
            answer["error"]["code"]
                .as_str()
                .unwrap_or("none")
                .to_owned(),
        )
    };
    assert_eq!(code(&["pair", "phone"]), (3, String::from("device-exists")));
    assert_eq!(code(&["pair", "../x"]), (2, String::from("name-invalid")));
    assert_eq!(code(&["pair", "A b"]), (2, String::from("name-invalid")));
    assert_eq!(
        code(&["revoke", "laptop"]),
        (4, String::from("device-not-found"))
    );
    assert_eq!(
        code(&["revoke", "../codes"]),
        (2, String::from("name-invalid"))
    );
    for number in 0..20 {
        assert_eq!(code(&["pair", &format!("d{number}")]).0, 0, "{number}");
    }
    assert_eq!(code(&["pair", "more"]), (3, String::from("devices-full")));
}

#[test]
fn a_device_that_may_read_cannot_act() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "tablet", "read");
    assert_eq!(api.get("/api/v1/attention", &token).status, 200);
    let answer = api.post("/api/v1/notes", &token, &json!({ "text": "Be kind" }));
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (403, "scope-missing")
    );
    let (_, notes) = stage.json(&["note", "list", "--all", "--json"]);
    assert_eq!(notes["notes"], json!([]));
}

#[test]
fn rows_31_44_a_revoked_device_is_refused_and_its_streams_end() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let other = api.pair(&stage, "laptop", "read");
    let open = |token: &str| {
        let bearer = format!("Bearer {token}");
        let head = api.head("GET /api/v1/events", &[("Authorization", &bearer)]);
        let mut stream = api.connect();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while !line.starts_with("event: ready") {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "no stream");
        }
        lines
    };
    let (mut revoked, mut kept) = (open(&token), open(&other));
    stage.run_ok(&["web", "revoke", "phone"]);
    let since = Stopwatch::start();
    let mut line = String::new();
    // The end of a body in chunks.
    while line != "0\r\n" {
        line.clear();
        assert_ne!(
            revoked.read_line(&mut line).unwrap(),
            0,
            "the end was not announced"
        );
    }
    assert!(
        since.elapsed() <= Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    let refused = api.get("/api/v1/events", &token);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (401, "unauthorized")
    );
    // The other device goes on.
    let id = stage.create(&["one", "One"]);
    while !line.contains(id.as_str()) {
        line.clear();
        assert_ne!(
            kept.read_line(&mut line).unwrap(),
            0,
            "the other stream has ended"
        );
    }
    // A use never brings back a device that was revoked.
    assert_eq!(stage.web_files("devices"), ["laptop"]);
    let file = stage.home().web().join("devices/laptop");
    assert_eq!(
        fs::metadata(file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn an_uninstall_removes_the_devices() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    api.pair(&stage, "phone", "act");
    stage.run_ok(&["web", "pair", "laptop"]);
    drop(api);
    stage.run_ok(&["uninstall", "--yes"]);
    assert!(
        !stage.home().path().exists(),
        "{:?}",
        stage.web_files("devices")
    );
}

#[test]
fn a_code_can_be_taken_back() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let code = || {
        let (exit, answer) = stage.json(&["web", "pair", "phone", "--json"]);
        assert_eq!(exit, 0, "{answer}");
        answer["code"].as_str().unwrap().to_owned()
    };
    let pair = |code: &str| {
        api.post("/api/v1/pair", "", &json!({ "code": code }))
            .status
    };
    let replaced = code();
    let revoked = code();
    assert_eq!(pair(&replaced), 401, "a later code replaces it");
    stage.run_ok(&["web", "revoke", "phone"]);
    assert_eq!(pair(&revoked), 401);
    let (exit, answer) = stage.json(&["web", "revoke", "phone", "--json"]);
    assert_eq!(exit, 4, "nothing is left to revoke: {answer}");
    assert_eq!(pair(&code()), 200);
    let (exit, answer) = stage.json(&["web", "pair", "My phone", "--json"]);
    assert_eq!(exit, 2);
    assert!(!answer.to_string().contains("check-ref-format"), "{answer}");
}
