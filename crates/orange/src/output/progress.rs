//! A line on stderr that is rewritten, and erased at the end.

use std::io::{self, Stderr, Write as _};

use super::fold::display_width;
use super::grid::truncate;
use super::text::escape_controls;

/// The progress line on a terminal. A closed stderr is not a failure.
#[derive(Debug)]
pub struct ProgressLine {
    stderr: Stderr,
    width: usize,
    shown_width: usize,
}

impl ProgressLine {
    #[expect(clippy::disallowed_methods, reason = "this folder prints")]
    pub(super) fn new(width: usize) -> Self {
        Self {
            stderr: io::stderr(),
            width,
            shown_width: 0,
        }
    }

    /// Replaces the previous text; shows only the beginning if it does not fit.
    pub fn show(&mut self, text: &str) {
        // The last column stays empty: a cursor after it would wrap to the next line.
        let room = self.width.saturating_sub(1);
        let mut shown = escape_controls(text).into_owned();
        if display_width(&shown) > room {
            shown = truncate(&shown, room);
        }
        let shown_width = display_width(&shown);
        let rest = " ".repeat(self.shown_width.saturating_sub(shown_width));
        self.write(&format!("\r{shown}{rest}"));
        self.shown_width = shown_width;
    }

    pub fn clear(&mut self) {
        if self.shown_width > 0 {
            let rest = " ".repeat(self.shown_width);
            self.write(&format!("\r{rest}\r"));
            self.shown_width = 0;
        }
    }

    fn write(&mut self, text: &str) {
        let written = self.stderr.write_all(text.as_bytes());
        let _ignored = written.and_then(|()| self.stderr.flush());
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}
