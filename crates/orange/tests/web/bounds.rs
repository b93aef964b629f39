//! Everything is bounded.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use orange_config::clock::Stopwatch;
use serde_json::json;

use crate::client::Api;
use crate::support::Stage;

/// As many as `limits.rs` of the server allows.
const MAX_STREAMS: usize = 256;

#[test]
fn row_39_large_and_slow_requests_are_refused() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "act");
    let text = "x".repeat(300 * 1024);
    let answer = api.post("/api/v1/notes", &token, &json!({ "text": text }));
    assert_eq!(answer.status, 413);
    // The same without a length.
    let bearer = format!("Bearer {token}");
    let head = api.head(
        "POST /api/v1/notes",
        &[
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
            ("Transfer-Encoding", "chunked"),
        ],
    );
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    let body = format!("{head}\r\n{chunk}0\r\n\r\n");
    assert_eq!(api.exchange(body.as_bytes()).status, 413);
    let long = "x".repeat(70 * 1024);
    let answer = api.post("/api/v1/notes", &token, &json!({ "text": long }));
    assert_eq!(answer.status, 400);
    let answer = api.send("GET /api/v1/attention", &[("X-Long", &long)], "");
    assert_eq!(answer.status, 431);
    let path = format!("GET /api/v1/{}", "x".repeat(70 * 1024));
    assert!([414, 431].contains(&api.send(&path, &[], "").status));
    let many: Vec<(&str, &str)> = (0..150).map(|_| ("X-Many", "1")).collect();
    assert_eq!(api.send("GET /api/v1/attention", &many, "").status, 431);
    // A head that never ends.
    let since = Stopwatch::start();
    let mut slow = api.connect();
    slow.write_all(b"GET /api/v1/attention HTTP/1.1\r\n")
        .unwrap();
    let mut rest = Vec::new();
    let _reset = slow.read_to_end(&mut rest);
    assert!(since.elapsed() < Duration::from_mins(1));
    assert!(
        rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"),
        "{rest:?}"
    );
    assert_eq!(api.get("/api/v1/attention", &token).status, 200);
}

#[test]
fn row_39_streams_are_bounded_and_make_room_again() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let bearer = format!("Bearer {token}");
    let head = api.head("GET /api/v1/events", &[("Authorization", &bearer)]);
    let open = || {
        let mut stream = api.connect();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        (stream, String::from_utf8_lossy(&start).into_owned())
    };
    let streams: Vec<(TcpStream, String)> = (0..MAX_STREAMS).map(|_| open()).collect();
    assert!(streams.iter().all(|(_, start)| start == "HTTP/1.1 200"));
    assert_eq!(open().1, "HTTP/1.1 503");
    assert_eq!(
        api.get("/api/v1/attention", &token).status,
        200,
        "others go on"
    );
    drop(streams);
    crate::support::wait_for("room for a stream", || open().1 == "HTTP/1.1 200");
}

#[test]
fn it_stops_when_it_is_told_to_even_with_open_streams() {
    let stage = Stage::new("minimal");
    let mut api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let bearer = format!("Bearer {token}");
    let head = api.head("GET /api/v1/events", &[("Authorization", &bearer)]);
    let mut stream = api.connect();
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    let pid = api.pid().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(killed.unwrap().success());
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(api.wait(), Some(0));
}
