//! A small HTTP client: one connection per call, every wait bounded.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use orange_fleet::chain::Sha;
use orange_server::access::{Secret, SecretKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Longer than any answer takes, waiting for work included.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
pub struct Client {
    pub address: SocketAddr,
    pub token: Option<String>,
    pub patience: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    pub fn code(&self) -> String {
        let json = self.json();
        json["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The answer of a call that must have worked.
    pub fn read<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Client {
    pub fn new(address: SocketAddr, token: Option<String>) -> Self {
        Self {
            address,
            token,
            patience: PATIENCE,
        }
    }

    /// Exchanges a code for a token of one's own.
    pub fn exchange(address: SocketAddr, path: &str, code: &str) -> Result<Self, Reply> {
        let kind = match path {
            "/v1/join" => SecretKind::Runner,
            _ => SecretKind::Person,
        };
        let token = Secret::draw(kind).unwrap();
        let reply = Self::new(address, None).exchange_for(path, code, &token);
        if reply.status != 200 {
            return Err(reply);
        }
        Ok(Self::new(address, Some(token.reveal().to_owned())))
    }

    pub fn exchange_for(&self, path: &str, code: &str, token: &Secret) -> Reply {
        let sha = Sha::of(token.reveal().as_bytes());
        self.post(path, &json!({ "code": code, "token_sha256": sha }))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.insist("GET", path, "").unwrap()
    }

    pub fn post(&self, path: &str, body: &impl Serialize) -> Reply {
        let body = serde_json::to_string(body).unwrap();
        self.insist("POST", path, &body).unwrap()
    }

    /// A call that is made again when it was made too fast.
    pub fn insist(&self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        loop {
            let reply = self.call(method, path, body)?;
            if reply.status != 429 {
                return Ok(reply);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Any call; an error when it has no whole answer.
    pub fn call(&self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        head += "Connection: close\r\n";
        if let Some(token) = &self.token {
            write!(head, "Authorization: Bearer {token}\r\n").unwrap();
        }
        if matches!(method, "POST" | "PUT") {
            write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        self.send(&format!("{head}\r\n{body}"))
    }

    /// Any bytes.
    pub fn send(&self, request: &str) -> io::Result<Reply> {
        let mut stream = TcpStream::connect_timeout(&self.address, self.patience)?;
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        // A server that refuses early may close before everything is sent.
        let written = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        parse(&answer).ok_or_else(|| {
            let error = written.and(read.map(drop)).err();
            error.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())
        })
    }
}

/// `None` for an answer that is not whole.
fn parse(answer: &[u8]) -> Option<Reply> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut lines = head.lines();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse().ok())?
    });
    let length: usize = length?;
    (body.len() == length).then(|| Reply {
        status,
        body: body.to_owned(),
    })
}
