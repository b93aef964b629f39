//! Reads the head of a request.

use std::io::{self, BufRead};

/// The most bytes and headers that a head may have.
const MAX_BYTES: usize = 128 * 1024;
const MAX_HEADERS: usize = 128;

/// The head of a request of HTTP/1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) target: String,
    /// Names as they were sent.
    pub(super) headers: Vec<(String, Vec<u8>)>,
}

impl Head {
    /// Reads to the end of the head and no further. `None` if nothing was sent.
    pub(super) fn receive(mut stream: impl BufRead) -> io::Result<Option<Head>> {
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            let part = stream.fill_buf()?;
            if part.is_empty() {
                return if bytes.is_empty() {
                    Ok(None)
                } else {
                    Err(invalid("it is not complete"))
                };
            }
            // An end may begin in the part before.
            let taken = part.len();
            bytes.extend_from_slice(part);
            let seen = start.saturating_sub(3);
            let end = bytes[seen..].windows(4).position(|it| it == b"\r\n\r\n");
            if let Some(end) = end {
                let end = seen + end + 4;
                stream.consume(end - start);
                bytes.truncate(end);
            } else {
                stream.consume(taken);
            }
            if bytes.len() > MAX_BYTES {
                return Err(invalid("it is too long"));
            }
            if end.is_some() {
                return Head::parse(&bytes).map(Some);
            }
        }
    }

    fn parse(bytes: &[u8]) -> io::Result<Head> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request
            .parse(bytes)
            .map_err(|error| invalid(&error.to_string()))?;
        let (Some(method), Some(target), true) =
            (request.method, request.path, parsed.is_complete())
        else {
            return Err(invalid("it is not complete"));
        };
        Ok(Head {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: request
                .headers
                .iter()
                .map(|header| (header.name.to_owned(), header.value.to_vec()))
                .collect(),
        })
    }

    /// The values of a header.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let found = self.headers.iter();
        let found = found.filter(move |(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }
}

fn invalid(reason: &str) -> io::Error {
    io::Error::other(format!("the head of the request is invalid: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read as _};

    use super::*;

    #[test]
    fn a_head_ends_before_its_body() {
        let text = "POST /v1/x HTTP/1.1\r\nHost: a\r\nX-Key: one\r\nx-key: two\r\n\r\nbody";
        for size in [1, 2, 3, 7, 4096] {
            let mut reader = BufReader::with_capacity(size, text.as_bytes());
            let head = Head::receive(&mut reader).unwrap().unwrap();
            assert_eq!(
                (head.method.as_str(), head.target.as_str()),
                ("POST", "/v1/x")
            );
            let values: Vec<&[u8]> = head.values("X-KEY").collect();
            assert_eq!(values, [b"one", b"two"]);
            let mut rest = String::new();
            reader.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "body", "{size}");
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        assert_eq!(Head::receive(&b""[..]).unwrap(), None);
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(2 * MAX_BYTES));
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "a: b\r\n".repeat(MAX_HEADERS + 1)
        );
        for text in [
            "GET / HTTP/1.1\r\n",
            "GET\r\n\r\n",
            "\0\r\n\r\n",
            "GET / HTTP/9\r\n\r\n",
            &long,
            &many,
        ] {
            Head::receive(text.as_bytes()).unwrap_err();
        }
    }
}
