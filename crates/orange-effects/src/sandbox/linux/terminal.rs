//! Which process group owns the terminal.

use std::fs::File;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;
use rustix::process::{Pid, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

fn open_terminal() -> Option<File> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOCTTY.bits().cast_signed();
    let options = options.read(true).write(true).custom_flags(flags);
    options.open("/dev/tty").ok()
}

/// Whether this process's group owns its terminal.
pub(super) fn is_foreground() -> bool {
    open_terminal().is_some_and(|terminal| tcgetpgrp(terminal).ok() == Some(getpgrp()))
}

/// Gives the terminal to a process group, as a shell does. Fails silently, because an agent without
/// a terminal still works.
pub(super) fn give_terminal(group: Pid) {
    if let Some(terminal) = open_terminal() {
        let _unowned = tcsetpgrp(terminal, group);
    }
}
