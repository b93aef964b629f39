//! A server, and requests to it as bytes.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::schema_check::judge;
use crate::support::Stage;

/// How long an answer may take; a loaded machine is slow.
const TIMEOUT: Duration = Duration::from_mins(2);

/// `orange web` on a port of its own; dropping it ends the process.
pub struct Api {
    process: Child,
    pub port: u16,
}

impl Drop for Api {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    /// With names in lowercase.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body, which must be what its published schema says.
    pub fn json(&self) -> Value {
        let answer = serde_json::from_str(&self.body);
        let answer = answer.unwrap_or_else(|error| panic!("{error}: {self:?}"));
        judge(&answer);
        answer
    }

    pub fn code(&self) -> String {
        let answer = self.json();
        answer["error"]["code"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    }
}

impl Api {
    pub fn start(stage: &Stage) -> Api {
        Api::start_with(stage, &[])
    }

    pub fn start_with(stage: &Stage, options: &[&str]) -> Api {
        let words = ["web", "--port", "0", "--json"];
        let words: Vec<&str> = words.iter().chain(options).copied().collect();
        let mut process = stage.orange(&words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let announced: Value = serde_json::from_str(&line).unwrap();
        judge(&announced);
        let address = announced["address"].as_str().unwrap();
        let port = address.strip_prefix("127.0.0.1:").unwrap().parse().unwrap();
        Api { process, port }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process has ended; its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends these bytes, and reads until the server closes the connection.
    pub fn exchange(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        // A server that refuses early may close before it has read everything.
        let _refused = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _reset = stream.read_to_end(&mut answer);
        parse(&answer)
    }

    /// The head of a request, without the empty line at its end.
    pub fn head(&self, line: &str, headers: &[(&str, &str)]) -> String {
        let mut head = format!("{line} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            let _ = write!(head, "Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head
    }

    pub fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut head = self.head(line, headers);
        if !body.is_empty() || line.starts_with("POST") {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        self.exchange(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
    }

    pub fn get(&self, path: &str, token: &str) -> Response {
        let bearer = format!("Bearer {token}");
        self.send(&format!("GET {path}"), &[("Authorization", &bearer)], "")
    }

    pub fn post(&self, path: &str, token: &str, body: &Value) -> Response {
        self.post_with(path, token, body, &[])
    }

    pub fn post_with(
        &self,
        path: &str,
        token: &str,
        body: &Value,
        more: &[(&str, &str)],
    ) -> Response {
        let bearer = format!("Bearer {token}");
        let own = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        let headers: Vec<(&str, &str)> = own.iter().chain(more).copied().collect();
        self.send(&format!("POST {path}"), &headers, &body.to_string())
    }

    /// The same for what needs the version that was seen.
    pub fn step(&self, path: &str, token: &str, version: u64, body: &Value) -> Response {
        let version = format!("\"{version}\"");
        self.post_with(path, token, body, &[("If-Match", &version)])
    }

    /// Pairs a device with the real commands; its token.
    pub fn pair(&self, stage: &Stage, name: &str, scope: &str) -> String {
        let (code, answer) = stage.json(&["web", "pair", name, "--scope", scope, "--json"]);
        assert_eq!(code, 0, "{answer}");
        let code = answer["code"].as_str().unwrap();
        let url = answer["url"].as_str().unwrap();
        assert!(url.ends_with(&format!("/#code={code}")), "{url}");
        let paired = self.exchange_code(code);
        assert_eq!(paired.status, 200, "{paired:?}");
        paired.json()["token"].as_str().unwrap().to_owned()
    }

    pub fn exchange_code(&self, code: &str) -> Response {
        let json_type = [("Content-Type", "application/json")];
        let body = json!({ "code": code }).to_string();
        self.send("POST /api/v1/pair", &json_type, &body)
    }
}

/// Splits an answer; a connection that was closed without one has the status 0.
fn parse(bytes: &[u8]) -> Response {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers = lines.filter_map(|line| line.split_once(": "));
    Response {
        status: status.and_then(|it| it.parse().ok()).unwrap_or(0),
        headers: headers
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect(),
        body: body.to_owned(),
    }
}

impl Stage {
    /// The files of devices, and of codes.
    pub fn web_files(&self, folder: &str) -> Vec<String> {
        let folder = self.home().web().join(folder);
        let entries = fs::read_dir(folder).into_iter().flatten();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}
