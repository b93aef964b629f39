//! Feeds and drains a program's pipes while it runs.
//!
//! Whatever a program wrote before it exited is still in its pipes when we see the exit. We read it
//! then, without a timeout, so a slow machine cannot truncate the output. What another process that
//! inherited the pipes writes later is not the program's output.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use orange_config::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::CapturedStream;

/// Poll interval where the system cannot signal that a program has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Bytes per read, and reads per drain. Together they exceed what a pipe holds, so that a drain
/// reads everything a program left behind. A program that never stops writing cannot keep us
/// reading.
const CHUNK: usize = 16 * 1024;
const READS_PER_DRAIN: usize = 16;

/// Our ends of a program's pipes.
pub struct Pipes {
    input: Option<Input>,
    outputs: [Stream; 2],
    /// Becomes readable when the program exits, where the system supports that.
    exit_handle: Option<OwnedFd>,
    limit: usize,
}

struct Input {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
}

struct Stream {
    /// `None` once it is closed.
    pipe: Option<OwnedFd>,
    captured: CapturedStream,
}

impl Pipes {
    pub fn new(child: &mut Child, input: Vec<u8>, limit: usize) -> io::Result<Self> {
        let stdin = child.stdin.take().filter(|_| !input.is_empty());
        let input = stdin.map(|pipe| Input {
            pipe: pipe.into(),
            bytes: input,
            written: 0,
        });
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let pipes = [
            input.as_ref().map(|it| &it.pipe),
            stdout.as_ref(),
            stderr.as_ref(),
        ];
        for pipe in pipes.into_iter().flatten() {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            input,
            outputs: [stdout, stderr].map(|pipe| Stream {
                pipe,
                captured: CapturedStream::default(),
            }),
            exit_handle: open_exit_handle(child),
            limit,
        })
    }

    /// Captures output until the program exits or the deadline passes. If it exited, returns its
    /// exit status, and all its output is captured.
    pub fn wait(
        &mut self,
        child: &mut Child,
        deadline: Deadline,
    ) -> io::Result<Option<ExitStatus>> {
        loop {
            let exit_status = child.try_wait()?;
            self.feed();
            for stream in &mut self.outputs {
                stream.drain(self.limit);
            }
            if exit_status.is_some() || deadline.has_passed() {
                return Ok(exit_status);
            }
            self.wait_for_activity(deadline)?;
        }
    }

    pub fn take(self) -> [CapturedStream; 2] {
        self.outputs.map(|stream| stream.captured)
    }

    /// Waits until there is something to do.
    fn wait_for_activity(&self, deadline: Deadline) -> io::Result<()> {
        let mut poll_fds: Vec<PollFd<'_>> = Vec::new();
        let outputs = self
            .outputs
            .iter()
            .filter_map(|stream| stream.pipe.as_ref());
        for readable in outputs.chain(&self.exit_handle) {
            poll_fds.push(PollFd::from_borrowed_fd(readable.as_fd(), PollFlags::IN));
        }
        if let Some(input) = &self.input {
            let pipe = input.pipe.as_fd();
            poll_fds.push(PollFd::from_borrowed_fd(pipe, PollFlags::OUT));
        }
        let timeout = match self.exit_handle {
            Some(_) => deadline.remaining(),
            None => deadline.remaining().min(POLL_INTERVAL),
        };
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut poll_fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes as much input as the pipe accepts. A program that does not read its input is not an
    /// error.
    fn feed(&mut self) {
        while let Some(input) = &mut self.input {
            let remaining = input.bytes.get(input.written..).unwrap_or_default();
            match write(&input.pipe, remaining) {
                Ok(count) => {
                    input.written += count;
                    if input.written >= input.bytes.len() {
                        self.input = None;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.input = None,
            }
        }
    }
}

impl Stream {
    /// Reads what is available, so that the program never blocks, and keeps it up to the limit.
    fn drain(&mut self, limit: usize) {
        let mut chunk = [0; CHUNK];
        for _ in 0..READS_PER_DRAIN {
            let Some(pipe) = &self.pipe else { return };
            match read(pipe, &mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let captured = &mut self.captured;
                    let room = limit.saturating_sub(captured.bytes.len()).min(count);
                    captured
                        .bytes
                        .extend_from_slice(chunk.get(..room).unwrap_or_default());
                    captured.is_truncated |= room < count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// A handle that becomes readable when the program exits.
#[cfg(target_os = "linux")]
fn open_exit_handle(child: &Child) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}

/// Other systems have no such handle; the program is polled instead.
#[cfg(not(target_os = "linux"))]
fn open_exit_handle(_child: &Child) -> Option<OwnedFd> {
    None
}
