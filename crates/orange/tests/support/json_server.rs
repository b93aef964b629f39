//! A server on a loopback address that answers requests with JSON.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::Value;

pub struct JsonRequest {
    pub method: String,
    pub target: String,
    /// The header `Authorization`.
    pub authorization: String,
    pub body: Value,
    /// The body as it was sent.
    pub text: String,
}

pub enum JsonReply {
    Answer(u16, Value),
    /// The same, as this text.
    Text(u16, String),
    /// Closes the connection, as if the answer was lost.
    Lost,
}

/// Answers requests until the process of the test ends; returns the address.
pub fn serve_json(answer: impl Fn(&JsonRequest) -> JsonReply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || serve(&stream, &*answer));
        }
    });
    address
}

fn serve(stream: &TcpStream, answer: &impl Fn(&JsonRequest) -> JsonReply) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let (status, text) = match answer(&request) {
            JsonReply::Answer(status, body) => (status, body.to_string()),
            JsonReply::Text(status, text) => (status, text),
            JsonReply::Lost => return,
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        let mut stream = *reader.get_ref();
        if stream.write_all((head + &text).as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<JsonRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => value.trim().clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(JsonRequest {
        method,
        target,
        authorization,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        text: String::from_utf8(body).unwrap_or_default(),
    })
}
