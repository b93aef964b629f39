//! An answer, and how it is written.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use serde_json::{Value, json};

/// The address of the documentation in GitHub's errors.
const DOCUMENTATION: &str = "https://docs.github.com/rest";

#[derive(Clone, Debug)]
pub enum Body {
    Json(Value),
    Text(String),
    Empty,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Body,
}

impl Answer {
    pub fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Json(body),
        }
    }

    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Empty,
        }
    }

    pub fn text(status: u16, text: &str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Text(text.to_owned()),
        }
    }

    /// An error in GitHub's format.
    pub fn error(status: u16, message: &str) -> Self {
        let status_text = status.to_string();
        let body = json!({
            "message": message, "documentation_url": DOCUMENTATION, "status": status_text,
        });
        Self::json(status, body)
    }

    /// A validation error (status 422) with one detail.
    pub fn invalid(resource: &str, field: &str, code: &str, message: &str) -> Self {
        let mut detail = json!({ "resource": resource, "field": field, "code": code });
        if !message.is_empty() {
            detail["message"] = json!(message);
        }
        let body = json!({
            "message": "Validation Failed", "errors": [detail],
            "documentation_url": DOCUMENTATION, "status": "422",
        });
        Self::json(422, body)
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The content type and the text of the body.
    pub fn content(&self) -> (&'static str, String) {
        match &self.body {
            Body::Json(value) => ("application/json; charset=utf-8", value.to_string()),
            Body::Text(text) => ("text/plain; charset=utf-8", text.clone()),
            Body::Empty => ("", String::new()),
        }
    }

    /// Writes the whole answer.
    pub fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let (kind, body) = self.content();
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        if !kind.is_empty() && self.header("content-type").is_none() {
            add(&mut head, "Content-Type", kind);
        }
        for (name, value) in &self.headers {
            add(&mut head, name, value);
        }
        if self.status != 204 && self.status != 304 && self.header("content-length").is_none() {
            add(&mut head, "Content-Length", body.len());
        }
        stream.write_all((head + "\r\n" + &body).as_bytes())?;
        stream.flush()
    }
}

fn add(head: &mut String, name: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _written = write!(head, "{name}: {value}\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}
