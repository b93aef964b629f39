//! Says: answers to stdout, narration to stderr.
//!
//! The only folder that prints. Colour is decided here, by anstream: it looks at `NO_COLOR`,
//! `CLICOLOR`, `CLICOLOR_FORCE` and whether a terminal listens, and strips what nobody wants.

mod fold;
mod style;
mod table;
mod text;

use std::io::{self, Stderr, Stdout, Write as _};

use anstream::AutoStream;

pub use style::Style;
pub use table::{Alignment, Cell, Table};
pub use text::{Paragraph, Text};

/// Where a command's words go, and how wide the terminal is that shows them.
#[derive(Debug)]
pub struct Output {
    stdout: AutoStream<Stdout>,
    stderr: AutoStream<Stderr>,
    terminal_width: Option<usize>,
}

impl Output {
    /// Looks at who listens, once.
    pub fn new(terminal_width: Option<usize>) -> Self {
        Self {
            stdout: anstream::stdout(),
            stderr: anstream::stderr(),
            terminal_width,
        }
    }

    /// How many columns an answer has, when a terminal shows it.
    pub fn answer_width(&self) -> Option<usize> {
        self.terminal_width.filter(|_| self.stdout.is_terminal())
    }

    /// How many columns the narration has, when a terminal shows it.
    pub fn narration_width(&self) -> Option<usize> {
        self.terminal_width.filter(|_| self.stderr.is_terminal())
    }

    /// Prints the answer.
    pub fn answer(&mut self, text: &Text) -> io::Result<()> {
        self.stdout.write_all(text.as_str().as_bytes())?;
        self.stdout.flush()
    }

    /// Prints bytes that must arrive as they are, escape sequences included.
    pub fn answer_exactly(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = self.stdout.as_inner().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Prints what accompanies the answer. Nobody may be listening, and that is no failure.
    pub fn narrate(&mut self, text: &Text) {
        let written = self.stderr.write_all(text.as_str().as_bytes());
        let _unheard = written.and_then(|()| self.stderr.flush());
    }
}
