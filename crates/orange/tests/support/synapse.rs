//! Synapse, the real Matrix homeserver, on a loopback address.

use std::cell::Cell;
use std::env;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::wait_for;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often another port is tried, if a program took the chosen one meanwhile.
const STARTS: usize = 5;

/// Nothing is encrypted with it: this server talks to no other.
const SIGNING_KEY: &str = "ed25519 a_test AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";

const LOGGING: &str = r#"{ "version": 1, "disable_existing_loggers": false,
"handlers": { "console": { "class": "logging.StreamHandler", "stream": "ext://sys.stderr" } },
"root": { "level": "WARNING", "handlers": ["console"] } }"#;

pub struct Synapse {
    child: Child,
    port: u16,
}

/// A user of the server.
pub struct MatrixUser {
    port: u16,
    pub id: String,
    pub token: String,
    /// How many events were sent.
    sent: Cell<usize>,
}

impl Synapse {
    /// Starts a new server in this folder. `None` if `.ci/matrix` did not install it; in CI, where
    /// `.ci/run` does, that is a failure.
    pub fn start(folder: &Path) -> Option<Synapse> {
        let program = installed().join("synapse");
        if !program.exists() {
            let program = program.display();
            assert!(!must_run(), "{program} is missing: run `.ci/matrix`");
            return None;
        }
        fs::create_dir(folder).unwrap();
        for _ in 0..STARTS {
            let port = free_port();
            let config = folder.join("homeserver.yaml");
            fs::write(&config, configuration(folder, port).to_string()).unwrap();
            let log = fs::File::create(folder.join("log")).unwrap();
            let child = Command::new(&program)
                .arg("--config-path")
                .arg(&config)
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap();
            let mut synapse = Synapse { child, port };
            let mut is_over = false;
            wait_for("Synapse", || {
                is_over = synapse.child.try_wait().unwrap().is_some();
                is_over || synapse.is_up()
            });
            if !is_over {
                return Some(synapse);
            }
        }
        let log = fs::read_to_string(folder.join("log")).unwrap();
        panic!("Synapse does not start:\n{log}");
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn is_up(&self) -> bool {
        let answer = exchange(self.port, "GET", "/_matrix/client/versions", None, None);
        answer.is_some_and(|(status, _)| status == 200)
    }

    /// A new user.
    pub fn register(&self, name: &str) -> MatrixUser {
        let body = json!({
            "auth": { "type": "m.login.dummy" }, "username": name, "password": "a password",
        });
        let path = "/_matrix/client/v3/register";
        let (status, body) = exchange(self.port, "POST", path, Some(&body), None).unwrap();
        assert_eq!(status, 200, "{body}");
        MatrixUser {
            port: self.port,
            id: body["user_id"].as_str().unwrap().to_owned(),
            token: body["access_token"].as_str().unwrap().to_owned(),
            sent: Cell::new(0),
        }
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        // It may have exited already.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl MatrixUser {
    /// A request that the server does not refuse.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let path = format!("/_matrix/client/v3/{path}");
        let (status, answer) = exchange(self.port, method, &path, body, Some(&self.token)).unwrap();
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// A new room that only invited users can enter.
    pub fn create_room(&self, invited: &[&MatrixUser]) -> String {
        let invited: Vec<&str> = invited.iter().map(|it| it.id.as_str()).collect();
        let body = json!({ "preset": "private_chat", "invite": invited });
        let answer = self.call("POST", "createRoom", Some(&body));
        answer["room_id"].as_str().unwrap().to_owned()
    }

    pub fn join(&self, room: &str) {
        self.call("POST", &format!("rooms/{room}/join"), Some(&json!({})));
    }

    /// Writes a message; returns its id.
    pub fn write(&self, room: &str, text: &str) -> String {
        let body = json!({ "msgtype": "m.text", "body": text });
        self.send(room, "m.room.message", &body)
    }

    /// Sends an event; returns its id.
    pub fn send(&self, room: &str, kind: &str, body: &Value) -> String {
        let transaction = self.sent.get();
        self.sent.set(transaction + 1);
        let path = format!("rooms/{room}/send/{kind}/{transaction}");
        let answer = self.call("PUT", &path, Some(body));
        answer["event_id"].as_str().unwrap().to_owned()
    }

    pub fn members(&self, room: &str) -> Vec<String> {
        let answer = self.call("GET", &format!("rooms/{room}/joined_members"), None);
        let members = answer["joined"].as_object().unwrap().keys();
        members.cloned().collect()
    }

    /// The texts that another user wrote in a room, oldest first.
    pub fn texts_of(&self, room: &str, user: &MatrixUser) -> Vec<String> {
        let path = format!("rooms/{room}/messages?dir=b&limit=500");
        let answer = self.call("GET", &path, None);
        let events = answer["chunk"].as_array().unwrap().iter().rev();
        let events = events.filter(|it| it["sender"] == user.id.as_str());
        let texts = events.filter_map(|it| it["content"]["body"].as_str());
        texts.map(str::to_owned).collect()
    }
}

/// Where `.ci/matrix` installs Synapse.
fn installed() -> PathBuf {
    match env::var_os("ORANGE_MATRIX") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/matrix"),
    }
}

/// Whether a missing Synapse is a failure.
fn must_run() -> bool {
    let is_left_out = env::var("ORANGE_CI_AGENTS").is_ok_and(|it| it == "0");
    env::var_os("CI").is_some() && !is_left_out
}

/// A port that is free now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// JSON is YAML too. The server talks to no other, and its limits are out of the way.
fn configuration(folder: &Path, port: u16) -> Value {
    fs::write(folder.join("signing.key"), SIGNING_KEY).unwrap();
    fs::write(folder.join("log.yaml"), LOGGING).unwrap();
    let many = json!({ "per_second": 1000, "burst_count": 1000 });
    json!({
        "server_name": "example.org",
        "report_stats": false,
        "listeners": [{
            "port": port, "type": "http", "bind_addresses": ["127.0.0.1"],
            "resources": [{ "names": ["client"] }],
        }],
        "database": { "name": "sqlite3", "args": { "database": folder.join("homeserver.db") } },
        "pid_file": folder.join("pid"),
        "media_store_path": folder.join("media"),
        "signing_key_path": folder.join("signing.key"),
        "log_config": folder.join("log.yaml"),
        "macaroon_secret_key": "for this test only",
        "form_secret": "for this test only",
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "presence": { "enabled": false },
        "bcrypt_rounds": 4,
        "enable_registration": true,
        "enable_registration_without_verification": true,
        "rc_message": many,
        "rc_registration": many,
        "rc_invites": { "per_room": many, "per_user": many, "per_issuer": many },
        "rc_joins": { "local": many, "remote": many },
    })
}

/// One request; `None` if nothing answers.
fn exchange(
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
    token: Option<&str>,
) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = body.map(ToString::to_string).unwrap_or_default();
    let token = token.map(|it| format!("authorization: Bearer {it}\r\n"));
    // The answer to a request of this version is not in pieces and ends the connection.
    let request = format!(
        "{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n{}\r\n{body}",
        body.len(),
        token.unwrap_or_default()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}
