//! Marks the steps between which a process may die.
//!
//! In the program a mark is nothing. The tests of this folder start themselves again with the
//! number of a mark, and there the process ends itself with a signal that nothing can catch.

#[cfg(not(test))]
pub(super) fn reached(_step: &'static str) {}

#[cfg(test)]
pub(super) use armed::{arm, reached};

#[cfg(test)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// How many marks are left until death; none when the process is to live.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Lets this thread's process die at the mark of this number, counted from 0.
    pub(in super::super) fn arm(at: usize) {
        LEFT.set(Some(at));
    }

    pub(in super::super) fn reached(_step: &'static str) {
        match LEFT.get() {
            None => {}
            Some(0) => {
                let this = rustix::process::getpid();
                rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
            }
            Some(left) => LEFT.set(Some(left - 1)),
        }
    }
}
