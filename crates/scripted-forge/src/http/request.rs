//! Reads requests from a connection that is kept open.

use std::io::{self, BufRead, Read};

/// The size limit of a request.
const LARGEST: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// The path as it was sent, without the query.
    pub path: String,
    pub query: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request; `None` when the client has closed the connection.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
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
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        let mut request = Self {
            method,
            path,
            query,
            headers,
            body: Vec::new(),
        };
        request.body = if request.header("transfer-encoding") == Some("chunked") {
            chunks(reader)?
        } else {
            let length = request.header("content-length");
            exactly(reader, length.and_then(|it| it.parse().ok()).unwrap_or(0))?
        };
        Ok(Some(request))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name)?;
        Some(&found.1)
    }

    /// The token of the header `Authorization`, in both of the spellings in use.
    pub fn token(&self) -> Option<&str> {
        let value = self.header("authorization")?;
        value
            .strip_prefix("Bearer ")
            .or_else(|| value.strip_prefix("token "))
    }

    /// Whether the client wants the connection to end after the answer.
    pub fn closes(&self) -> bool {
        self.header("connection")
            .is_some_and(|it| it.eq_ignore_ascii_case("close"))
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
        body.extend(exactly(reader, size)?);
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
        if body.len() > LARGEST {
            return Err(io::Error::other("the request is too large"));
        }
    }
}
