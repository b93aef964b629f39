//! Rings the bell of the attached terminals.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;

use super::call::Call;
use super::{Tmux, TmuxError};

impl Tmux {
    /// Rings the bell of every attached terminal; returns the number of terminals.
    pub fn ring(&self) -> Result<usize, TmuxError> {
        // A program that watches the server is a client too, but has no bell.
        let format = "#{?client_control_mode,,#{client_tty}}";
        let text = match self.call(&[Call::new(["list-clients", "-F", format])]) {
            Err(TmuxError::NoServer(_)) => return Ok(0),
            text => text?,
        };
        let terminals = text.lines().filter(|line| line.starts_with("/dev/"));
        let rung = terminals.filter(|terminal| {
            // Non-blocking: a terminal that accepts no output must not hold us up.
            let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits().cast_signed();
            let mut options = OpenOptions::new();
            let opened = options.write(true).custom_flags(flags).open(terminal);
            opened.is_ok_and(|mut terminal| terminal.write_all(b"\x07").is_ok())
        });
        Ok(rung.count())
    }
}
