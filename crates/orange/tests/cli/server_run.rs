//! `orange server run`, with `migrate` and `code`, which it needs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use postgres_fixture::{Cluster, Fsync};
use serde_json::Value;

use crate::schema_check::judge;
use crate::support::Stage;

/// A server that listens, and what it said at its start.
struct Running {
    process: Child,
    said: Value,
}

impl Running {
    fn start(stage: &Stage, url: &str) -> Running {
        let words = ["server", "run", "--database", url, "--json"];
        let words: Vec<&str> = words
            .into_iter()
            .chain(["--listen", "127.0.0.1:0"])
            .collect();
        let mut process = stage.orange(&words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap();
        judge(&said);
        Running { process, said }
    }

    fn ask(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.said["address"].as_str().unwrap()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        let length = body.len();
        let end = format!("Host: x\r\nConnection: close\r\nContent-Length: {length}");
        write!(stream, "{head} HTTP/1.1\r\n{end}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _code = self.process.wait();
    }
}

#[test]
fn a_server_needs_a_migrated_database_and_stops_when_asked_to() {
    let stage = Stage::new("default");
    let cluster = Cluster::start(Fsync::Off).unwrap();
    let url = cluster.url();
    let database = ["--database", url.as_str()];
    let call = |words: &[&str]| stage.json(&[&["server"], words, &database, &["--json"]].concat());

    let (code, refused) = call(&["run", "--listen", "127.0.0.1:0"]);
    assert_eq!(
        (code, refused["error"]["code"].as_str()),
        (6, Some("database-unusable"))
    );
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("run `orange server migrate`"), "{message}");
    for _ in 0..2 {
        let (code, answer) = call(&["migrate"]);
        assert_eq!(
            (code, &answer["migrated"]),
            (0, &Value::Bool(true)),
            "{answer}"
        );
    }
    let (code, refused) = call(&["run", "--listen", ":0"]);
    assert_eq!(
        (code, refused["error"]["code"].as_str()),
        (3, Some("tls-unusable"))
    );
    assert!(
        refused["error"]["hints"][0]
            .as_str()
            .unwrap()
            .contains("--tls self")
    );

    // The first server prints a code for an admin; while it is open, no other is made.
    let mut first = Running::start(&stage, &url);
    let second = Running::start(&stage, &url);
    assert!(
        first.said["admin_code"]
            .as_str()
            .unwrap()
            .starts_with("orc_")
    );
    assert_eq!(second.said["admin_code"], Value::Null);
    assert!(second.ask("GET /readyz", "").starts_with("HTTP/1.1 200 "));

    // A code works once, at any of the servers.
    let (_, answer) = call(&["code", "--org", "tea", "--person", "ann"]);
    let code = answer["code"].as_str().unwrap();
    let login = |server: &Running, digit: &str| {
        let sha = digit.repeat(64);
        let body = format!("{{\"code\":\"{code}\",\"token_sha256\":\"{sha}\"}}");
        server.ask("POST /v1/login", &body)
    };
    let answer = login(&first, "a");
    assert!(
        answer.contains("\"org\":\"tea\"") && answer.contains("\"person\":\"ann\""),
        "{answer}"
    );
    assert!(login(&second, "b").starts_with("HTTP/1.1 401 "));

    let pid = first.process.id().to_string();
    let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(asked.success());
    assert_eq!(first.process.wait().unwrap().code(), Some(0));
    assert!(second.ask("GET /healthz", "").starts_with("HTTP/1.1 200 "));
}
