//! Rings the bell of the terminals that people look through.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;

use super::call::Call;
use super::{Tmux, TmuxError};

impl Tmux {
    /// Rings in every terminal that is attached; how many there are.
    pub fn ring(&self) -> Result<usize, TmuxError> {
        // A program that watches the server is a client too, but nobody hears it.
        let format = "#{?client_control_mode,,#{client_tty}}";
        let said = match self.call(&[Call::new(["list-clients", "-F", format])]) {
            Err(TmuxError::NoServer(_)) => return Ok(0),
            said => said?,
        };
        let terminals = said.lines().filter(|line| line.starts_with("/dev/"));
        let rung = terminals.filter(|terminal| {
            // Without waiting: a terminal that takes nothing in keeps nobody.
            let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits().cast_signed();
            let mut options = OpenOptions::new();
            let opened = options.write(true).custom_flags(flags).open(terminal);
            opened.is_ok_and(|mut terminal| terminal.write_all(b"\x07").is_ok())
        });
        Ok(rung.count())
    }
}
