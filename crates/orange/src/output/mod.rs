//! Prints answers to stdout, and narration such as hints to stderr.
//!
//! Only this folder prints and prompts. anstream decides about colour: it checks `NO_COLOR`,
//! `CLICOLOR`, `CLICOLOR_FORCE` and whether the output is a terminal, and strips unwanted escape
//! sequences.

mod fold;
mod glyphs;
mod grid;
mod line;
mod local_time;
mod progress;
mod sanitize;
mod style;
mod table;
mod terminal;
mod text;

use std::io::{self, BufRead as _, IsTerminal as _, Stderr, Stdout, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use anstream::{AutoStream, ColorChoice};

pub use fold::display_width;
pub use glyphs::Glyphs;
use grid::RenderOptions;
pub use grid::{Column, Grid, truncate};
pub use local_time::{expect_zone_variable, local_time, with_local_times};
pub use progress::ProgressLine;
pub use sanitize::escape_json;
pub use style::Style;
pub use table::{Alignment, Cell, Table};
pub use terminal::terminal;
pub use text::{Paragraph, Text, escape_controls};

/// The most bytes of answers that are collected.
const MAX_CAPTURED: usize = 64 * 1024 * 1024;

/// Where a command prints to, and how wide the terminal is.
#[derive(Debug)]
pub struct Output {
    stdout: AutoStream<Stdout>,
    stderr: AutoStream<Stderr>,
    terminal_width: Option<usize>,
    glyphs: Glyphs,
    is_quiet: bool,
    is_json: bool,
    /// What was answered, if the answers are collected instead of printed.
    captured: Option<Vec<u8>>,
}

impl Output {
    pub fn new(terminal_width: Option<usize>, glyphs: Glyphs) -> Self {
        Self {
            stdout: anstream::stdout(),
            stderr: anstream::stderr(),
            terminal_width,
            glyphs,
            is_quiet: false,
            is_json: false,
            captured: None,
        }
    }

    /// An output that prints nothing: it collects answers in JSON, and drops everything else. There
    /// is no terminal behind it, so nothing is asked.
    pub fn captured() -> Self {
        let mut output = Self::new(None, Glyphs::Unicode);
        output.be_quiet();
        output.answer_in_json();
        output.captured = Some(Vec::new());
        output
    }

    pub fn is_captured(&self) -> bool {
        self.captured.is_some()
    }

    /// The collected answers.
    pub fn into_captured(self) -> Vec<u8> {
        self.captured.unwrap_or_default()
    }

    /// Collects an answer; false if answers are printed.
    fn capture(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let Some(captured) = &mut self.captured else {
            return Ok(false);
        };
        if captured.len().saturating_add(bytes.len()) > MAX_CAPTURED {
            return Err(io::Error::other("it is too large"));
        }
        captured.extend_from_slice(bytes);
        Ok(true)
    }

    /// From now on, prints only answers and errors.
    pub fn be_quiet(&mut self) {
        self.is_quiet = true;
    }

    /// From now on, prints answers as JSON.
    pub fn answer_in_json(&mut self) {
        self.is_json = true;
    }

    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// The terminal's width for answers, if stdout is a terminal.
    pub fn answer_width(&self) -> Option<usize> {
        self.terminal_width
            .filter(|_| self.stdout.is_terminal() && !self.is_captured())
    }

    /// The terminal's width for narration, if stderr is a terminal.
    pub fn narration_width(&self) -> Option<usize> {
        self.terminal_width.filter(|_| self.stderr.is_terminal())
    }

    pub fn answer(&mut self, text: &Text) -> io::Result<()> {
        if self.capture(text.as_str().as_bytes())? {
            return Ok(());
        }
        let shown = self.glyphs.render(text.as_str(), self.stdout.is_terminal());
        self.stdout.write_all(shown.as_bytes())?;
        self.stdout.flush()
    }

    /// Prints rows in columns that fit the terminal. The rows bypass anstream: stripping ten
    /// thousand of them would take longer than everything else.
    pub fn answer_grid<const N: usize>(&mut self, grid: &Grid<'_, N>) -> io::Result<()> {
        let options = RenderOptions {
            width: self.answer_width(),
            is_coloured: self.is_coloured(),
            is_terminal: self.stdout.is_terminal(),
        };
        let text = grid.to_text(options);
        let shown = match self.glyphs {
            Glyphs::Unicode => text,
            Glyphs::Ascii => self.glyphs.render(&text, options.is_terminal).into_owned(),
        };
        if self.capture(shown.as_bytes())? {
            return Ok(());
        }
        let mut stdout = self.stdout.as_inner().lock();
        stdout.write_all(shown.as_bytes())?;
        stdout.flush()
    }

    /// Asks for a line; `None` at the end of the input.
    ///
    /// If stdin is not a terminal, prints the line too, so that a recorded dialogue is readable.
    pub fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        if self.is_captured() {
            return Ok(None);
        }
        self.stdout.write_all(prompt.as_bytes())?;
        self.stdout.flush()?;
        let mut typed = Vec::new();
        let stdin = io::stdin();
        stdin.lock().read_until(b'\n', &mut typed)?;
        let typed = String::from_utf8_lossy(&typed);
        let is_echoed = stdin.is_terminal() && !typed.is_empty();
        if !is_echoed {
            let mut echo = Text::new();
            echo.push(Style::Plain, typed.trim_end());
            echo.end_line();
            self.answer(&echo)?;
        }
        Ok((!typed.is_empty()).then(|| typed.into_owned()))
    }

    /// Prints bytes unchanged, including escape sequences.
    pub fn answer_exactly(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.capture(bytes)? {
            return Ok(());
        }
        let mut stdout = self.stdout.as_inner().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// The descriptor of stdout, used to find out whether anything still reads the answers.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stdout.as_inner().as_fd()
    }

    pub fn is_coloured(&self) -> bool {
        self.stdout.current_choice() != ColorChoice::Never
    }

    /// Whether stdin and stdout are terminals, so that the user can be asked.
    pub fn is_interactive(&self) -> bool {
        !self.is_captured() && self.stdout.is_terminal() && io::stdin().is_terminal()
    }

    /// Prints another program's output. On a terminal, control characters other than colours are
    /// replaced.
    pub fn answer_foreign(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.answer_exactly(&self.render_foreign(bytes))
    }

    /// Prints another program's error output, as [`Output::answer_foreign`] prints its output.
    pub fn narrate_foreign(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_captured() {
            return Ok(());
        }
        let shown = if self.stderr.is_terminal() {
            sanitize::sanitize(bytes).into_bytes()
        } else {
            bytes.to_vec()
        };
        let mut stderr = self.stderr.as_inner().lock();
        stderr.write_all(&shown)?;
        stderr.flush()
    }

    /// What [`Output::answer`] would print.
    pub fn render(&self, text: &Text) -> io::Result<Vec<u8>> {
        let shown = self.glyphs.render(text.as_str(), self.stdout.is_terminal());
        let mut stream = AutoStream::new(Vec::new(), self.stdout.current_choice());
        stream.write_all(shown.as_bytes())?;
        Ok(stream.into_inner())
    }

    /// What [`Output::answer_foreign`] would print.
    pub fn render_foreign(&self, bytes: &[u8]) -> Vec<u8> {
        if self.stdout.is_terminal() {
            sanitize::sanitize(bytes).into_bytes()
        } else {
            bytes.to_vec()
        }
    }

    /// A progress line, if stderr is a terminal and progress is wanted.
    pub fn progress(&self) -> Option<ProgressLine> {
        let is_wanted = !self.is_quiet && !self.is_json;
        let width = self.narration_width().filter(|_| is_wanted);
        width.map(ProgressLine::new)
    }

    /// Prints text that accompanies the answer, such as a hint, unless `--quiet` is given.
    pub fn narrate(&mut self, text: &Text) {
        if !self.is_quiet {
            self.print_error(text);
        }
    }

    /// Prints what went wrong. A closed stderr is not a failure.
    pub fn print_error(&mut self, text: &Text) {
        if self.is_captured() {
            return;
        }
        let shown = self.glyphs.render(text.as_str(), self.stderr.is_terminal());
        let written = self.stderr.write_all(shown.as_bytes());
        let _ignored = written.and_then(|()| self.stderr.flush());
    }
}
