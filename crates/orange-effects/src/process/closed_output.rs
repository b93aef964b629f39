//! Whether the reader of a pipe is gone.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether the other end of an output is closed, so that no process can read it.
pub fn is_output_closed(output: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(&output, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let is_polled = poll(&mut polled, Some(&now)).is_ok();
    let closed = PollFlags::ERR | PollFlags::HUP;
    is_polled && polled.iter().any(|it| it.revents().intersects(closed))
}
