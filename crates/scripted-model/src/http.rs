//! The part of HTTP that agents need.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The size limit of a request; no agent sends larger ones.
const LARGEST: usize = 64 * 1024 * 1024;

/// A request from an agent.
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads a request; `None` when the client only connected.
    pub fn read(stream: &TcpStream) -> io::Result<Option<Self>> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(io::Error::other("no request line"));
        };
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self {
            method,
            path,
            headers,
            body: Vec::new(),
        };
        if request.header("expect").is_some() {
            (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = if request.header("transfer-encoding") == Some("chunked") {
            chunks(&mut reader)?
        } else {
            let length = request.header("content-length");
            let length = length.and_then(|it| it.parse().ok()).unwrap_or(0);
            exactly(&mut reader, length)?
        };
        Ok(Some(request))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(found, _)| found == name)?;
        Some(&found.1)
    }
}

fn exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > LARGEST {
        return Err(io::Error::other("the request is too large"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        let chunk = exactly(reader, size)?;
        body.extend_from_slice(&chunk);
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
        if body.len() > LARGEST {
            return Err(io::Error::other("the request is too large"));
        }
    }
}

/// Writes a whole response, after which the connection ends.
pub fn answer(stream: &TcpStream, status: u16, content: &str, body: &str) -> io::Result<()> {
    begin(stream, status, content, Some(body.len()))?;
    let mut stream = stream;
    stream.write_all(body.as_bytes())
}

/// Starts a response. Without a length it is chunked, so that a cut response is detected as cut.
pub fn begin(
    stream: &TcpStream,
    status: u16,
    content: &str,
    length: Option<usize>,
) -> io::Result<()> {
    let extent = match length {
        Some(length) => format!("Content-Length: {length}"),
        None => String::from("Transfer-Encoding: chunked"),
    };
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\nContent-Type: {content}\r\n{extent}\r\nConnection: close\r\n\r\n"
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())
}

/// Writes one chunk of a response; an empty one ends it.
pub fn piece(stream: &TcpStream, text: &str) -> io::Result<()> {
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    let mut stream = stream;
    stream.write_all(chunk.as_bytes())?;
    stream.flush()
}
