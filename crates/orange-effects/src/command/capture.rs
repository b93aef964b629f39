//! Feeds and drains a program's pipes while it runs.
//!
//! Whatever a program said before it ended lies in its pipes when its end is seen, so it is read
//! then without waiting: no load of the machine can make an answer look shorter than it is. What
//! somebody else who holds the pipes says later is not the program's.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use orange_config::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::Captured;

/// How often a program is looked at where the system cannot tell of its end.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// How much is read at once, and how often in a row: together more than a pipe holds, so that what
/// a program left is read whole, and still an end with one that never stops talking.
const CHUNK: usize = 16 * 1024;
const IN_A_ROW: usize = 16;

/// The ends of a program's pipes.
pub struct Pipes {
    input: Option<Input>,
    outputs: [Stream; 2],
    /// Becomes readable when the program ends, where the system has such a thing.
    end: Option<OwnedFd>,
    limit: usize,
}

struct Input {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
}

struct Stream {
    /// Nothing once it has ended.
    pipe: Option<OwnedFd>,
    kept: Captured,
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
                kept: Captured::default(),
            }),
            end: end_of(child),
            limit,
        })
    }

    /// How the program ended, if it did before the deadline; all it has said is kept then.
    pub fn wait(
        &mut self,
        child: &mut Child,
        deadline: Deadline,
    ) -> io::Result<Option<ExitStatus>> {
        loop {
            let ended = child.try_wait()?;
            self.feed();
            for stream in &mut self.outputs {
                stream.drain(self.limit);
            }
            if ended.is_some() || deadline.has_passed() {
                return Ok(ended);
            }
            self.rest(deadline)?;
        }
    }

    /// What was said.
    pub fn take(self) -> [Captured; 2] {
        self.outputs.map(|stream| stream.kept)
    }

    /// Waits until there is something to do.
    fn rest(&self, deadline: Deadline) -> io::Result<()> {
        let mut waited: Vec<PollFd<'_>> = Vec::new();
        let outputs = self
            .outputs
            .iter()
            .filter_map(|stream| stream.pipe.as_ref());
        for readable in outputs.chain(&self.end) {
            waited.push(PollFd::from_borrowed_fd(readable.as_fd(), PollFlags::IN));
        }
        if let Some(input) = &self.input {
            let pipe = input.pipe.as_fd();
            waited.push(PollFd::from_borrowed_fd(pipe, PollFlags::OUT));
        }
        let left = match self.end {
            Some(_) => deadline.left(),
            None => deadline.left().min(BETWEEN_LOOKS),
        };
        let left = Timespec::try_from(left).ok();
        match poll(&mut waited, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what there is room for. A program that does not read its input is no failure.
    fn feed(&mut self) {
        while let Some(input) = &mut self.input {
            let left = input.bytes.get(input.written..).unwrap_or_default();
            match write(&input.pipe, left) {
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
    /// Reads what there is, so that the program never blocks, and keeps what is within the limit.
    fn drain(&mut self, limit: usize) {
        let mut chunk = [0; CHUNK];
        for _ in 0..IN_A_ROW {
            let Some(pipe) = &self.pipe else { return };
            match read(pipe, &mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let kept = &mut self.kept;
                    let room = limit.saturating_sub(kept.bytes.len()).min(count);
                    kept.bytes
                        .extend_from_slice(chunk.get(..room).unwrap_or_default());
                    kept.is_cut |= room < count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// What tells of the program's end.
#[cfg(target_os = "linux")]
fn end_of(child: &Child) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}

/// Nothing does here; the program is looked at now and then.
#[cfg(not(target_os = "linux"))]
fn end_of(_child: &Child) -> Option<OwnedFd> {
    None
}
