//! A running program that exchanges lines with us over its pipes.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::Sender;
use std::time::Duration;

use orange_config::clock::Deadline;

/// How long a program may take to exit once its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest line that is read: a line that never ends must not fill the memory.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// The writing side: what we send to the program.
///
/// Dropping it closes the program's input, which asks the program to exit. The program is never
/// killed: killing a tmux client has taken the server down with it.
#[derive(Debug)]
pub struct Conversation {
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    child: Child,
    /// Keeps alive the thread that started the program: a tethered program is ended when that
    /// thread ends.
    _starter: Sender<()>,
}

/// The reading side: what the program prints.
#[derive(Debug)]
pub struct Lines(BufReader<ChildStdout>);

impl Conversation {
    /// `starter` keeps alive the thread that started the program.
    pub(super) fn new(mut child: Child, starter: Sender<()>) -> io::Result<Conversation> {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        if input.is_none() || output.is_none() {
            return Err(io::Error::other("its input or output is missing"));
        }
        Ok(Conversation {
            input,
            output,
            child,
            _starter: starter,
        })
    }

    /// The program's output; can be taken once.
    pub fn lines(&mut self) -> Option<Lines> {
        self.output
            .take()
            .map(|output| Lines(BufReader::new(output)))
    }

    /// Closes the program's input, which asks it to exit.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub fn send_line(&mut self, line: &str) -> io::Result<()> {
        let Some(input) = &mut self.input else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        input.write_all(format!("{line}\n").as_bytes())?;
        input.flush()
    }
}

impl Lines {
    /// The next line without its newline; `None` at the end of the output.
    pub fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut bounded = io::Read::take(&mut self.0, MAX_LINE_BYTES);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            let message = "a line is too long, or the program exited in the middle of it";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(line))
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.output.take());
        // A program that has not exited after the timeout keeps running; only a tethered one then
        // gets SIGTERM.
        Deadline::after(EXIT_TIMEOUT).wait_for(|| self.has_ended());
    }
}
