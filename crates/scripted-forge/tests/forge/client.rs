//! A client for these tests, on a plain connection.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use scripted_forge::Forge;
use serde_json::{Value, json};

/// A user with a token.
pub struct Client {
    address: String,
    rest: String,
    graphql: String,
    token: String,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    headers: String,
    pub text: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.lines().filter_map(|it| it.split_once(": "));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|it| it.1)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub fn message(&self) -> String {
        self.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

impl Client {
    pub fn new(forge: &Forge, login: &str) -> Self {
        Self::with_token(forge, &forge.user(login))
    }

    pub fn with_token(forge: &Forge, token: &str) -> Self {
        let address = forge.address();
        let path = |it: String| it.trim_start_matches(&address).to_owned();
        Self {
            rest: path(forge.rest_address()),
            graphql: path(forge.graphql_address()),
            address: address.trim_start_matches("http://").to_owned(),
            token: token.to_owned(),
        }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.get_with(path, &[])
    }

    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.ask("GET", path, headers, None).unwrap()
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.ask(method, path, &[], Some(body)).unwrap()
    }

    pub fn delete(&self, path: &str) -> Reply {
        self.ask("DELETE", path, &[], None).unwrap()
    }

    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Reply> {
        // What the forge names itself is followed as it is.
        let full = format!("http://{}", self.address);
        let path = match path.strip_prefix(&full) {
            Some(path) => path.to_owned(),
            None => format!("{}{path}", self.rest),
        };
        let token = format!("Bearer {}", self.token);
        let mut all = vec![
            ("Authorization", token.as_str()),
            ("User-Agent", "test"),
            ("X-GitHub-Api-Version", "2022-11-28"),
        ];
        all.extend(headers);
        raw(&self.address, method, &path, &all, body)
    }

    pub fn graphql_reply(&self, query: &str, variables: &Value) -> io::Result<Reply> {
        let body = json!({ "query": query, "variables": variables });
        let full = format!("http://{}{}", self.address, self.graphql);
        self.ask("POST", &full, &[], Some(&body))
    }

    pub fn graphql(&self, query: &str, variables: &Value) -> Value {
        let reply = self.graphql_reply(query, variables).unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    }
}

/// Sends exactly these headers.
pub fn raw(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    write!(head, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
    stream.write_all((head + &body).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (headers, text) = answer
        .split_once("\r\n\r\n")
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = headers.split(' ').nth(1).and_then(|it| it.parse().ok());
    Ok(Reply {
        status: status.ok_or(io::ErrorKind::InvalidData)?,
        headers: headers.to_owned(),
        text: text.to_owned(),
    })
}
