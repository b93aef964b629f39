//! Answers the calls of a sandbox, outside.

use std::ffi::OsString;
use std::io::{self, BufReader, Read};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::Broker;
use super::frames::{Call, MAX_PART, Part};
use crate::command::{CommandExit, Invocation};
use crate::sandbox::network::serve;

/// How many calls of a sandbox run at once.
const MAX_CALLS: usize = 16;

/// How long a caller may take to send its arguments, or to read a part of the answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Answers calls until this process ends.
pub(in crate::sandbox) fn answer_calls(listener: &UnixListener, broker: Broker) {
    let too_many = |stream: &UnixStream| {
        let reason = format!("{MAX_CALLS} calls of `orange` are running already");
        let _gone = refuse(stream, reason);
    };
    serve(
        listener.incoming().flatten(),
        MAX_CALLS,
        too_many,
        move |stream| {
            // A caller that is gone gets no answer.
            let _gone = answer(&stream, &broker);
        },
    );
}

fn refuse(stream: &UnixStream, reason: String) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    Part::Refused(reason).send(stream)
}

fn answer(stream: &UnixStream, broker: &Broker) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(stream);
    let call = match Call::receive(&mut reader) {
        Ok(call) => call,
        Err(error) => return refuse(stream, error.to_string()),
    };
    if let Some(secret) = &broker.secret
        && !secret.is(call.secret.unwrap_or_default().as_bytes())
    {
        return refuse(stream, String::from("only the agent itself can make calls"));
    }
    let words: Vec<OsString> = call.arguments.into_iter().map(|it| it.0).collect();
    if let Err(reason) = (broker.policy)(&words) {
        return refuse(stream, reason);
    }
    let invocation = Invocation::new(&broker.orange, broker.environment.clone())
        .arguments(&words)
        .directory(&broker.directory);
    let child = match invocation.start_piped(call.has_input) {
        Ok(child) => child,
        Err(error) => return refuse(stream, error.to_string()),
    };
    // From now on the caller may pause for as long as it likes.
    stream.set_read_timeout(None)?;
    attend(child, stream, reader)
}

/// Passes everything on in both directions until the program exits, and ends it when its caller is
/// gone.
fn attend(mut child: Child, stream: &UnixStream, input: BufReader<&UnixStream>) -> io::Result<()> {
    let stdin = child.stdin.take();
    let outputs = (child.stdout.take(), child.stderr.take());
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // Once the program may have been reaped, its id may be that of another one.
    let is_over = Mutex::new(false);
    let end_program = || {
        let is_over = is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(group), false) = (group, *is_over) {
            let _gone = kill_process_group(group, Signal::TERM);
        }
    };
    let writing = Mutex::new(stream);
    let pass_on = |output: Option<&mut dyn Read>, part: fn(Vec<u8>) -> Part| {
        if output.is_none_or(|output| send_all(output, part, &writing).is_err()) {
            end_program();
        }
    };
    let (mut stdout, mut stderr) = outputs;
    thread::scope(|scope| {
        let feeding = thread::Builder::new().spawn_scoped(scope, || {
            let mut input = input;
            if let Some(mut stdin) = stdin {
                let _closed = io::copy(&mut input, &mut stdin);
            }
            // A program that does not read its input must not block its caller.
            let _gone = io::copy(&mut input, &mut io::sink());
            await_hang_up(stream);
            end_program();
        });
        let printing = thread::Builder::new().spawn_scoped(scope, || {
            pass_on(stdout.as_mut().map(|it| it as &mut dyn Read), Part::Stdout);
        });
        if feeding.is_err() || printing.is_err() {
            end_program();
        }
        pass_on(stderr.as_mut().map(|it| it as &mut dyn Read), Part::Stderr);
        let _printed = printing.map(thread::ScopedJoinHandle::join);
        *is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let sent = child.wait().and_then(|status| {
            let code = match CommandExit::from(status) {
                CommandExit::Code(code) => u8::try_from(code).unwrap_or(1),
                CommandExit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
                CommandExit::TimedOut(_) => 1,
            };
            Part::Exit(code).send(stream)
        });
        // Lets the thread that reads from the caller end; what was sent still arrives.
        let _gone = stream.shutdown(Shutdown::Both);
        sent
    })
}

/// Waits until the caller has closed both directions.
fn await_hang_up(stream: &UnixStream) {
    loop {
        let mut polled = [PollFd::new(&stream, PollFlags::empty())];
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) | Ok(0) => {}
            _ => return,
        }
    }
}

/// Sends a program's output, in parts.
fn send_all(
    output: &mut dyn Read,
    part: fn(Vec<u8>) -> Part,
    stream: &Mutex<&UnixStream>,
) -> io::Result<()> {
    let mut buffer = vec![0; MAX_PART];
    loop {
        let count = match output.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        part(buffer[..count].to_vec()).send(*stream)?;
    }
}
