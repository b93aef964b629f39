//! Makes a call from inside a sandbox.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use super::frames::{Call, Part, VERSION};
use crate::run::RawText;
use crate::sandbox::places::BROKER;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// `orange` ran outside and exited with this code.
    Exit(u8),
    /// It was not run, for this reason.
    Refused(String),
}

/// Which of a program's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// Runs `orange` with these arguments outside of this process's sandbox, and passes on what it
/// prints. Its input is read until its end, or until this process exits.
pub fn call_outside(
    arguments: &[OsString],
    input: Option<Box<dyn Read + Send>>,
    mut print: impl FnMut(OutputStream, &[u8]) -> io::Result<()>,
) -> io::Result<CallResult> {
    let stream = UnixStream::connect(BROKER)?;
    let call = Call {
        version: VERSION,
        arguments: arguments.iter().map(RawText::from).collect(),
        has_input: input.is_some(),
    };
    // A call that is refused at once is not read to its end, but has an answer.
    let unsent = call.send(&stream).err();
    // Both directions stay open until this process is done: that they are closed tells the broker
    // that its caller is gone.
    if let Some(mut input) = input {
        let mut sending = stream.try_clone()?;
        // Not joined: the other side of the pipe may never be closed.
        thread::Builder::new().spawn(move || {
            let _incomplete = io::copy(&mut input, &mut sending);
            let _gone = sending.shutdown(Shutdown::Write);
        })?;
    }
    loop {
        match Part::receive(&stream).map_err(|error| lost(unsent.as_ref().unwrap_or(&error)))? {
            Part::Stdout(bytes) => print(OutputStream::Stdout, &bytes)?,
            Part::Stderr(bytes) => print(OutputStream::Stderr, &bytes)?,
            Part::Exit(code) => return Ok(CallResult::Exit(code)),
            Part::Refused(reason) => return Ok(CallResult::Refused(reason)),
        }
    }
}

/// Not the error itself: a broken pipe is the caller's own output elsewhere.
fn lost(error: &io::Error) -> io::Error {
    io::Error::other(format!("the call outside of the sandbox was lost: {error}"))
}
