//! Feeds and drains a program's pipes while it runs.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};

use super::Captured;
use crate::clock::Deadline;

/// How often a program is looked at whose output somebody else keeps open.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// How soon a program is looked at again that has closed its output: it ends at about that moment.
const SOON: Duration = Duration::from_micros(50);

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Our ends of a program's pipes. None is waited for alone, because any of the three may block.
pub struct Pipes {
    input: Option<Input>,
    outputs: [Output; 2],
    chunk: Vec<u8>,
}

/// What the program is to read.
struct Input {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
}

/// What the program says.
struct Output {
    pipe: Option<OwnedFd>,
    kept: Captured,
    limit: usize,
}

impl Pipes {
    pub fn new(child: &mut Child, input: Vec<u8>, limit: usize) -> io::Result<Self> {
        let output = |pipe: Option<OwnedFd>| Output {
            pipe,
            kept: Captured::default(),
            limit,
        };
        let input = match child.stdin.take() {
            None => None,
            Some(pipe) => {
                let pipe = OwnedFd::from(pipe);
                ioctl_fionbio(&pipe, true)?;
                Some(Input {
                    pipe,
                    bytes: input,
                    written: 0,
                })
            }
        };
        Ok(Self {
            input,
            outputs: [
                output(child.stdout.take().map(OwnedFd::from)),
                output(child.stderr.take().map(OwnedFd::from)),
            ],
            chunk: vec![0; CHUNK],
        })
    }

    /// How the program ended, if it did before the deadline.
    pub fn wait(
        &mut self,
        child: &mut Child,
        deadline: Deadline,
    ) -> io::Result<Option<ExitStatus>> {
        let mut nap = SOON;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if deadline.has_passed() {
                return Ok(None);
            }
            let pause = BETWEEN_LOOKS.min(deadline.left());
            if self.is_talking() {
                self.turn(pause)?;
            } else {
                // Most programs end as their output does; some close it and go on, or never had any.
                thread::sleep(nap.min(pause));
                nap = (nap * 2).min(BETWEEN_LOOKS);
            }
        }
    }

    /// What was said, up to the end of both streams or the deadline.
    pub fn take(mut self, deadline: Deadline) -> io::Result<[Captured; 2]> {
        // Whoever would read it is gone.
        self.input = None;
        while self.is_talking() && !deadline.has_passed() {
            self.turn(deadline.left())?;
        }
        Ok(self.outputs.map(|output| output.kept))
    }

    /// Whether the program, or somebody it has started, may say more.
    fn is_talking(&self) -> bool {
        self.outputs.iter().any(|output| output.pipe.is_some())
    }

    /// Moves what can be moved, and waits for that at most so long.
    fn turn(&mut self, pause: Duration) -> io::Result<()> {
        let [stdout, stderr] = &self.outputs;
        let writing = self.input.as_ref().map(|input| &input.pipe);
        let pipes = [writing, stdout.pipe.as_ref(), stderr.pipe.as_ref()];
        let flags = [PollFlags::OUT, PollFlags::IN, PollFlags::IN];
        let open = pipes.iter().zip(flags);
        let mut polled: Vec<PollFd<'_>> = open
            .filter_map(|(pipe, flags)| Some(PollFd::new((*pipe)?, flags)))
            .collect();
        let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&pause)) {
            Err(Errno::INTR) => return Ok(()),
            ready => ready?,
        };
        let mut ready = polled.iter().map(|it| !it.revents().is_empty());
        let is_open = pipes.map(|pipe| pipe.is_some());
        let is_ready = is_open.map(|is_open| is_open && ready.next() == Some(true));
        let [feed, drains @ ..] = is_ready;
        if feed && self.input.as_mut().is_none_or(Input::is_over) {
            self.input = None;
        }
        for (output, is_ready) in self.outputs.iter_mut().zip(drains) {
            if is_ready {
                output.drain(&mut self.chunk);
            }
        }
        Ok(())
    }
}

impl Input {
    /// Writes what fits; whether nothing is left, or nobody reads it, which is no failure of ours.
    fn is_over(&mut self) -> bool {
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        if rest.is_empty() {
            return true;
        }
        match write(&self.pipe, rest) {
            Ok(count) => {
                self.written += count;
                self.written == self.bytes.len()
            }
            Err(Errno::INTR | Errno::AGAIN) => false,
            Err(_) => true,
        }
    }
}

impl Output {
    /// Reads once, and keeps what is within the limit; what is over it must not block the program.
    fn drain(&mut self, chunk: &mut [u8]) {
        let Some(pipe) = &self.pipe else { return };
        let count = match read(pipe, &mut *chunk) {
            Err(Errno::INTR | Errno::AGAIN) => return,
            Ok(0) | Err(_) => {
                self.pipe = None;
                return;
            }
            Ok(count) => count,
        };
        let kept = &mut self.kept;
        let room = self.limit.saturating_sub(kept.bytes.len()).min(count);
        let room = chunk.get(..room).unwrap_or_default();
        kept.bytes.extend_from_slice(room);
        kept.is_cut |= room.len() < count;
    }
}
