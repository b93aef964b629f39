//! A machine and the real server, with PostgreSQL.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use orange_engine::names::TaskId;
use orange_fleet::chain::Sha;
use postgres_fixture::{Cluster, Fsync};
use serde_json::{Value, json};

use super::machines::{Machine, new_task};
use super::{CANCEL, START, WORK};
use crate::support::{Stage, wait_for};

/// The server, and the token of its admin.
struct Server {
    process: Child,
    address: String,
    token: String,
    _cluster: Cluster,
}

impl Server {
    fn start(stage: &Stage) -> Server {
        let cluster = Cluster::start(Fsync::Off).unwrap();
        let url = cluster.url();
        stage.run_ok(&["server", "migrate", "--database", &url]);
        let words = ["server", "run", "--database", &url, "--json", "--listen"];
        let words = [&words[..], &["127.0.0.1:0"]].concat();
        let mut process = stage.orange(&words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let server = Server {
            process,
            address: said["address"].as_str().unwrap().to_owned(),
            token: format!("orp_{}", "5".repeat(64)),
            _cluster: cluster,
        };
        let sha = Sha::of(server.token.as_bytes());
        let code = &said["admin_code"];
        server.post(
            "login",
            &json!({ "code": code, "token_sha256": sha }).to_string(),
        );
        server
    }

    fn call(&self, head: &str, body: &str) -> Value {
        // A person may ask twenty times per second.
        thread::sleep(Duration::from_millis(100));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let patience = Some(Duration::from_mins(1));
        stream.set_read_timeout(patience).unwrap();
        let (token, length) = (&self.token, body.len());
        let token = format!("Authorization: Bearer {token}");
        let end = format!("Host: x\r\nConnection: close\r\n{token}\r\nContent-Length: {length}");
        write!(stream, "{head} HTTP/1.1\r\n{end}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let (_head, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    fn post(&self, path: &str, body: &str) -> Value {
        self.call(&format!("POST /v1/{path}"), body)
    }

    fn ask(&self, task: &TaskId, key: &str, ask: &str) -> Value {
        let path = format!("tasks/{task}/requests");
        self.post(&path, &format!("{{\"key\":\"{key}\",\"ask\":{ask}}}"))
    }

    fn task(&self, task: &TaskId) -> Value {
        self.call(&format!("GET /v1/tasks/{task}"), "")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _code = self.process.wait();
    }
}

#[test]
fn a_machine_joins_the_real_server_with_a_code_and_works_for_it() {
    let stage = Stage::new("minimal");
    let server = Server::start(&stage);
    let wanted = json!({ "for": "runner", "runner": "a", "projects": ["app"] });
    let code = server.post("codes", &wanted.to_string());
    let code = code["code"].as_str().unwrap();
    let address = format!("http://{}", server.address);
    let (exit, text) = stage.call(&["runner", "join", &address, code, "--name", "other"]);
    assert_eq!(exit, 3, "{text}");
    assert!(text.contains("the code is for runner `a`"), "{text}");
    // The code was used by the other home, which keeps its token for another try.
    let (exit, text) = stage.call(&["runner", "join", &address, code, "--name", "a"]);
    assert_eq!(exit, 0, "{text}");
    stage.run_ok(&["runner", "leave"]);
    let code = server.post("codes", &wanted.to_string());
    let code = code["code"].as_str().unwrap();
    let mut machine = Machine::join_at("a", &address, code, None);
    machine.stage.script("worker-1", WORK);
    let task = new_task("Add a line");
    let id = TaskId::new(task.task.as_str());
    server.post("tasks", &serde_json::to_string(&task).unwrap());
    server.ask(&id, "start", START);
    machine.run();
    let status = || server.task(&id)["summary"]["status"].clone();
    wait_for("the work", || status() == "reviewing");
    let runners = server.call("GET /v1/runners", "");
    assert_eq!(runners["runners"][0]["runner"], "a", "{runners}");
    let request = server.ask(&id, "cancel", CANCEL);
    let request = request["id"].as_str().unwrap();
    let decided = || server.call(&format!("GET /v1/requests/{request}?wait=5"), "");
    wait_for("the decision", || decided()["status"] == "recorded");
    wait_for("the end", || server.task(&id)["state"]["state"] == "ended");
    assert_eq!(status(), "cancelled");
}
