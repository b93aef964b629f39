//! Listens for keys, the mouse and signals, on its own threads.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use super::model::message::Message;
use super::screen::is_raw_mode_lost;

/// How long to wait for input, which is also the longest time that another program waits for the
/// terminal.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// How long crossterm may look for an event in the input that has arrived. It rounds a timeout down
/// to whole milliseconds and spins through the rest, so it must never be the one that waits; with a
/// timeout of zero, it does not look at all.
const LOOK: Duration = Duration::from_micros(200);

/// In how many waits after the last input crossterm looks again. A look whose short timeout passes
/// before it begins, on a busy machine, leaves keys that crossterm has read already, and for those
/// the descriptor does not report.
const MORE_LOOKS: u32 = 10;

/// How long to wait for the listener to pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The thread that listens to the terminal; it can be paused.
#[derive(Clone, Debug, Default)]
pub struct Input(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_pause_requested: bool,
    is_paused: bool,
}

impl Input {
    pub fn start(sender: &Sender<Message>) -> io::Result<Input> {
        let input = Input::default();
        let (listener, to) = (input.clone(), sender.clone());
        let thread = thread::Builder::new().name(String::from("input"));
        thread.spawn(move || listener.listen(&to))?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH])?;
        let to = sender.clone();
        let thread = thread::Builder::new().name(String::from("signals"));
        thread.spawn(move || {
            for signal in signals.forever() {
                let message = match signal {
                    SIGTSTP => Message::Suspend,
                    SIGCONT => Message::Continued,
                    SIGWINCH => match terminal::size() {
                        Ok((width, height)) => Message::Resized(width, height),
                        Err(_) => continue,
                    },
                    _ => Message::End,
                };
                if to.send(message).is_err() {
                    return;
                }
            }
        })?;
        Ok(input)
    }

    /// Stops reading from the terminal until [`Input::resume`].
    pub fn pause(&self) {
        let mut state = self.state();
        state.is_pause_requested = true;
        let changed = &self.0.changed;
        // A listener that does not pause in time has no input to read anyway.
        let _late = changed.wait_timeout_while(state, PAUSE_TIMEOUT, |state| !state.is_paused);
    }

    pub fn resume(&self) {
        self.state().is_pause_requested = false;
        self.0.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, sender: &Sender<Message>) {
        let mut was_lost = false;
        let mut more_looks: u32 = 0;
        loop {
            self.wait_while_paused();
            let is_going_on = match wait_for_input() {
                Ok(Arrived::Nothing) => {
                    let is_lost = is_raw_mode_lost();
                    // Report the lost raw mode only at the second look: by then, the process that
                    // ended it has also written its last bytes.
                    let is_reported = is_lost && was_lost;
                    was_lost = is_lost && !was_lost;
                    let is_left = more_looks > 0;
                    more_looks = more_looks.saturating_sub(1);
                    (!is_reported || sender.send(Message::Continued).is_ok())
                        && (!is_left || forward_events(sender))
                }
                Ok(Arrived::Input) => {
                    more_looks = MORE_LOOKS;
                    forward_events(sender)
                }
                Ok(Arrived::HangUp) | Err(_) => {
                    let _over = sender.send(Message::End);
                    false
                }
            };
            if !is_going_on {
                return;
            }
        }
    }

    fn wait_while_paused(&self) {
        let mut state = self.state();
        while state.is_pause_requested {
            state.is_paused = true;
            self.0.changed.notify_all();
            let waited = self.0.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.is_paused = false;
    }
}

/// What a wait for input ended with.
enum Arrived {
    Nothing,
    Input,
    HangUp,
}

/// Waits until the terminal has input, at most for [`WAIT`].
fn wait_for_input() -> io::Result<Arrived> {
    let stdin = io::stdin();
    let mut descriptors = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut descriptors, Some(&WAIT)) {
        // A signal, which the thread of the signals handles.
        Ok(0) | Err(Errno::INTR) => Ok(Arrived::Nothing),
        // A terminal that has hung up has input forever: the end of the file.
        Ok(_) if descriptors[0].revents() == PollFlags::IN => Ok(Arrived::Input),
        Ok(_) => Ok(Arrived::HangUp),
        Err(error) => Err(error.into()),
    }
}

/// Sends the events of the input that has arrived; returns whether the dashboard goes on.
fn forward_events(sender: &Sender<Message>) -> bool {
    loop {
        let input_event = match event::poll(LOOK) {
            Ok(false) => return true,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let message = match input_event {
            Ok(Event::Key(key)) => Message::Key(key),
            Ok(Event::Mouse(mouse)) => Message::Mouse(mouse),
            Ok(Event::Paste(text)) => Message::Paste(text),
            // The thread of the signals has reported the new size.
            Ok(Event::Resize(..) | Event::FocusGained | Event::FocusLost) => continue,
            Err(_) => Message::End,
        };
        let is_over = matches!(message, Message::End);
        if sender.send(message).is_err() || is_over {
            return false;
        }
    }
}
