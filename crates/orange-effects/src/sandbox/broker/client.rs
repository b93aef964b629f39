//! Makes a call from inside a sandbox.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use orange_config::{Environment, ORANGE_SANDBOX_CALLS};

use super::frames::{Call, Part, VERSION};
use crate::run::RawText;
use crate::sandbox::network::{Stream, connect_port};
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
    environment: &Environment,
    arguments: &[OsString],
    input: Option<Box<dyn Read + Send>>,
    print: impl FnMut(OutputStream, &[u8]) -> io::Result<()>,
) -> io::Result<CallResult> {
    match environment.variable(ORANGE_SANDBOX_CALLS) {
        None => call(UnixStream::connect(BROKER)?, None, arguments, input, print),
        Some(named) => {
            let named = named.to_str().and_then(|it| it.split_once(':'));
            let (port, secret) = named.ok_or(io::ErrorKind::NotFound)?;
            let port: u16 = port.parse().map_err(|_| io::ErrorKind::NotFound)?;
            call(
                connect_port(port)?,
                Some(secret.to_owned()),
                arguments,
                input,
                print,
            )
        }
    }
}

fn call(
    mut stream: impl Stream + 'static,
    secret: Option<String>,
    arguments: &[OsString],
    input: Option<Box<dyn Read + Send>>,
    mut print: impl FnMut(OutputStream, &[u8]) -> io::Result<()>,
) -> io::Result<CallResult> {
    let call = Call {
        version: VERSION,
        secret,
        arguments: arguments.iter().map(RawText::from).collect(),
        has_input: input.is_some(),
    };
    // A call that is refused at once is not read to its end, but has an answer.
    let unsent = call.send(&mut stream).err();
    // Both directions stay open until this process is done: that they are closed tells the broker
    // that its caller is gone.
    if let Some(mut input) = input {
        let mut sending = stream.duplicate()?;
        // Not joined: the other side of the pipe may never be closed.
        thread::Builder::new().spawn(move || {
            let _incomplete = io::copy(&mut input, &mut sending);
            sending.close(Shutdown::Write);
        })?;
    }
    loop {
        match Part::receive(&mut stream).map_err(|error| lost(unsent.as_ref().unwrap_or(&error)))? {
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
