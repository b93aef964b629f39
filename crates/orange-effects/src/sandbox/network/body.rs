//! Reads the body of a request, whose length its head says.

use std::io::{self, BufRead, Read as _};

use super::head::Head;

/// The largest body.
const MAX_BYTES: u64 = 64 << 20;

/// The longest line that precedes a chunk.
const MAX_LINE: u64 = 1024;

/// Reads a body to its end. Nothing that follows it is read, so that it cannot be a second request.
pub(super) fn receive_body(head: &Head, mut stream: impl BufRead) -> io::Result<Vec<u8>> {
    let lengths: Vec<&[u8]> = head.values("content-length").collect();
    let encodings: Vec<&[u8]> = head.values("transfer-encoding").collect();
    match (lengths.as_slice(), encodings.as_slice()) {
        ([], []) => Ok(Vec::new()),
        ([length], []) => {
            let length = std::str::from_utf8(length).ok();
            let length = length.filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
            let length = length.and_then(|it| it.parse().ok());
            let length = length.ok_or_else(|| invalid("its length is malformed"))?;
            if length > MAX_BYTES {
                return Err(invalid("it is too long"));
            }
            let mut body = Vec::new();
            stream.by_ref().take(length).read_to_end(&mut body)?;
            if body.len() as u64 != length {
                return Err(invalid("it is not complete"));
            }
            Ok(body)
        }
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") => chunks(stream),
        _ => Err(invalid("its length is not clear")),
    }
}

fn chunks(mut stream: impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(&mut stream)?;
        let digits = line.split(|it| matches!(it, b';' | b' ')).next();
        let digits = std::str::from_utf8(digits.unwrap_or_default()).ok();
        let digits = digits.filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let size = digits.and_then(|it| u64::from_str_radix(it, 16).ok());
        let size = size.ok_or_else(|| invalid("a chunk is malformed"))?;
        if size == 0 {
            break;
        }
        let before = body.len() as u64;
        if before + size.min(MAX_BYTES + 1) > MAX_BYTES {
            return Err(invalid("it is too long"));
        }
        stream.by_ref().take(size).read_to_end(&mut body)?;
        if body.len() as u64 != before + size || !self::line(&mut stream)?.is_empty() {
            return Err(invalid("a chunk is malformed"));
        }
    }
    // Headers after the body are left out.
    while !line(&mut stream)?.is_empty() {}
    Ok(body)
}

fn line(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    stream
        .by_ref()
        .take(MAX_LINE)
        .read_until(b'\n', &mut line)?;
    let line = line.strip_suffix(b"\r\n");
    line.map(<[u8]>::to_vec)
        .ok_or_else(|| invalid("a line is malformed"))
}

fn invalid(reason: &str) -> io::Error {
    io::Error::other(format!("the body of the request is invalid: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(headers: &[(&str, &str)], bytes: &str) -> io::Result<String> {
        let headers = headers.iter();
        let head = Head {
            method: String::from("POST"),
            target: String::from("/"),
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                .collect(),
        };
        let body = receive_body(&head, bytes.as_bytes())?;
        Ok(String::from_utf8(body).unwrap())
    }

    #[test]
    fn a_body_is_as_long_as_its_head_says() {
        assert_eq!(body(&[], "GET / HTTP/1.1\r\n\r\n").unwrap(), "");
        let length = [("Content-Length", "4")];
        assert_eq!(body(&length, "bodyGET / HTTP/1.1").unwrap(), "body");
        let chunked = [("transfer-encoding", "Chunked")];
        let text = "3;x=y\r\nbod\r\n1\r\ny\r\n0\r\nTrailer: a\r\n\r\nGET /";
        assert_eq!(body(&chunked, text).unwrap(), "body");
    }

    #[test]
    fn an_unclear_length_is_refused() {
        let both = [("content-length", "4"), ("transfer-encoding", "chunked")];
        let twice = [("content-length", "4"), ("Content-Length", "5")];
        for headers in [&both[..], &twice] {
            body(headers, "0\r\n\r\nbody").unwrap_err();
        }
        for length in [
            "-1",
            "+4",
            "4 ",
            "0x4",
            "",
            "99999999999",
            "18446744073709551616",
        ] {
            body(&[("content-length", length)], "body").unwrap_err();
        }
        body(&[("content-length", "5")], "body").unwrap_err();
        body(&[("transfer-encoding", "gzip, chunked")], "0\r\n\r\n").unwrap_err();
        for chunks in [
            "",
            "x\r\n",
            "-1\r\n",
            "4\nbody\n0\n\n",
            "4\r\nbodyx\r\n0\r\n\r\n",
            "4\r\nbo",
            "ffffffffffffffff\r\n",
            "4000001\r\n",
            "0\r\nTrailer",
        ] {
            body(&[("transfer-encoding", "chunked")], chunks).unwrap_err();
        }
    }
}
