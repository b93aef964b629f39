//! The messages between a call inside and the broker outside.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use crate::run::RawText;

/// The version of the messages; both sides are the same program.
pub(super) const VERSION: u32 = 1;

/// Upper bound on the first line of a call.
const MAX_CALL: u64 = 1024 * 1024;

/// Upper bound on one part of an answer.
pub(super) const MAX_PART: usize = 64 * 1024;

/// The first line of a call. If it has input, that follows until the caller closes its side.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) version: u32,
    /// The secret of the run, where others reach the broker too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    pub(super) arguments: Vec<RawText>,
    pub(super) has_input: bool,
}

impl Call {
    pub(super) fn send(&self, mut stream: impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        stream.write_all(&line)
    }

    pub(super) fn receive(stream: impl BufRead) -> io::Result<Call> {
        let mut line = Vec::new();
        stream.take(MAX_CALL).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Err(io::Error::other("the call is too long or not complete"));
        }
        let call: Call = serde_json::from_slice(&line)?;
        if call.version != VERSION {
            return Err(io::Error::other("the call has another version"));
        }
        Ok(call)
    }
}

/// A part of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// The exit code; nothing follows.
    Exit(u8),
    /// The call was not made, for this reason; nothing follows.
    Refused(String),
}

impl Part {
    pub(super) fn send(&self, mut stream: impl Write) -> io::Result<()> {
        let (kind, bytes) = match self {
            Part::Stdout(bytes) => (b'o', bytes.as_slice()),
            Part::Stderr(bytes) => (b'e', bytes.as_slice()),
            Part::Exit(code) => (b'x', std::slice::from_ref(code)),
            Part::Refused(reason) => (b'r', reason.as_bytes()),
        };
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let mut message = vec![kind];
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(bytes);
        stream.write_all(&message)
    }

    pub(super) fn receive(mut stream: impl Read) -> io::Result<Part> {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
        if length > MAX_PART {
            return Err(io::Error::other("a part of the answer is too long"));
        }
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes)?;
        match (kind, bytes.as_slice()) {
            (b'o', _) => Ok(Part::Stdout(bytes)),
            (b'e', _) => Ok(Part::Stderr(bytes)),
            (b'x', [code]) => Ok(Part::Exit(*code)),
            (b'r', _) => Ok(Part::Refused(String::from_utf8_lossy(&bytes).into_owned())),
            _ => Err(io::Error::other("a part of the answer is malformed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_arrive_as_they_were_sent() {
        let parts = [
            Part::Stdout(b"\xff\0".to_vec()),
            Part::Stderr(Vec::new()),
            Part::Refused(String::from("no")),
            Part::Exit(255),
        ];
        let mut sent = Vec::new();
        for part in &parts {
            part.send(&mut sent).unwrap();
        }
        let mut rest = sent.as_slice();
        for part in &parts {
            assert_eq!(Part::receive(&mut rest).unwrap(), *part);
        }
        Part::receive(rest).unwrap_err();
        for malformed in [
            &b"o\xff\xff\xff\xff"[..],
            b"x\0\0\0\0",
            b"?\0\0\0\x01a",
            b"o",
        ] {
            Part::receive(malformed).unwrap_err();
        }
    }

    #[test]
    fn a_call_is_one_complete_line_of_this_version() {
        let call = Call {
            version: VERSION,
            secret: None,
            arguments: vec!["task".into(), "a\nb".into()],
            has_input: true,
        };
        let mut sent = Vec::new();
        call.send(&mut sent).unwrap();
        sent.extend_from_slice(b"input");
        let mut rest = sent.as_slice();
        let received = Call::receive(&mut rest).unwrap();
        assert_eq!(received.arguments, call.arguments);
        assert!(received.has_input);
        assert_eq!(rest, b"input");
        for wrong in [
            &b"{\"version\":1,\"arguments\":[],\"has_input\":false}"[..],
            b"{\"version\":2,\"arguments\":[],\"has_input\":false}\n",
            b"{\"version\":1,\"arguments\":[],\"has_input\":false,\"run\":\"a\"}\n",
            b"\n",
        ] {
            Call::receive(wrong).unwrap_err();
        }
        let long = [vec![b' '; 2 * 1024 * 1024], b"\n".to_vec()].concat();
        Call::receive(long.as_slice()).unwrap_err();
    }
}
