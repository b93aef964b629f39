//! Shows progress and handles signals while a command works.
//!
//! The first signal asks the work to stop early, so that the work can hand over decided effects to
//! a background process. If the work cannot stop early or does not stop soon, or if a second signal
//! arrives, the signal kills the process.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_driver::Progress;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::interruption::Signal;
use crate::output::{Output, ProgressLine};

const TICK: Duration = Duration::from_millis(50);

/// Work that takes less time than this shows no progress.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// How long the work may take to stop after a signal.
const GRACE: Duration = Duration::from_secs(3);

/// Whether a signal kills this process. The handlers stay installed after the work; without this
/// flag they would swallow later signals.
static SIGNALS_KILL: AtomicBool = AtomicBool::new(true);

static HANDLERS_INSTALLED: Once = Once::new();

/// How a command shows progress and reacts to signals while it works.
#[derive(Debug)]
pub struct WaitMode {
    progress: Option<ProgressLine>,
    /// Whether the work checks for a request to stop, and stops early.
    can_stop: bool,
    /// Whether signals to this process are about the work.
    handles_signals: bool,
}

impl WaitMode {
    /// The work waits, and can stop early.
    pub fn for_wait(output: &Output) -> Self {
        Self {
            progress: output.progress(),
            can_stop: true,
            // A command of a server ends on its own; a signal is for the server.
            handles_signals: !output.is_captured(),
        }
    }

    /// The work cannot stop early, but may be killed at any time.
    pub fn for_work(output: &Output) -> Self {
        Self {
            can_stop: false,
            ..Self::for_wait(output)
        }
    }

    /// The work prints as it goes, and can stop early.
    pub fn for_printing() -> Self {
        Self {
            progress: None,
            can_stop: true,
            handles_signals: true,
        }
    }
}

/// Does the work; also returns the signal, if any, that asked it to stop.
pub fn run_with_progress<T>(
    work_progress: &Progress,
    mode: WaitMode,
    work: impl FnOnce() -> T,
) -> (T, Option<Signal>) {
    if !mode.handles_signals {
        return (work(), None);
    }
    // If the handlers cannot be installed, signals keep their default effect and kill this process.
    let signals = Signals::new([SIGINT, SIGTERM]).ok();
    // Set the flag before the handlers that read it are installed: a signal that arrives between
    // these two steps must not kill this process.
    SIGNALS_KILL.store(signals.is_none(), Ordering::SeqCst);
    HANDLERS_INSTALLED.call_once(|| {
        for signal in [SIGINT, SIGTERM] {
            let _swallowed = register_conditional_default(signal, &SIGNALS_KILL);
        }
    });
    let (finish, finished) = mpsc::channel::<()>();
    let result = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let finished = finished;
            ProgressWatcher {
                signals,
                progress: mode.progress,
                work_progress,
                can_stop: mode.can_stop,
            }
            .watch(&finished)
        });
        let result = work();
        drop(finish);
        (result, watcher.join().unwrap_or_default())
    });
    SIGNALS_KILL.store(true, Ordering::SeqCst);
    result
}

struct ProgressWatcher<'a> {
    signals: Option<Signals>,
    progress: Option<ProgressLine>,
    work_progress: &'a Progress,
    can_stop: bool,
}

impl ProgressWatcher<'_> {
    fn watch(mut self, finished: &Receiver<()>) -> Option<Signal> {
        let total_time = Stopwatch::start();
        let mut action = (None, total_time);
        let mut signals: Option<(Signal, Deadline)> = None;
        loop {
            let pending = self.signals.as_mut().map(Signals::pending);
            for number in pending.into_iter().flatten() {
                self.clear();
                if signals.is_some() || !self.can_stop {
                    die_by_signal(number);
                }
                let signal = if number == SIGINT {
                    Signal::Interrupt
                } else {
                    Signal::Terminate
                };
                signals = Some((signal, Deadline::after(GRACE)));
                self.work_progress.stop_waiting();
            }
            match signals {
                Some((signal, deadline)) if deadline.has_passed() => die_by_signal(match signal {
                    Signal::Interrupt => SIGINT,
                    Signal::Terminate => SIGTERM,
                }),
                Some(_) => {}
                None => self.show_progress(&mut action, total_time),
            }
            if finished.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                self.clear();
                return signals.map(|(signal, _)| signal);
            }
        }
    }

    /// Shows what is being done and for how long.
    fn show_progress(&mut self, action: &mut (Option<String>, Stopwatch), total_time: Stopwatch) {
        let now = self.work_progress.current_action();
        if action.0 != now {
            *action = (now, Stopwatch::start());
        }
        let (Some(progress), (Some(what), since)) = (&mut self.progress, action) else {
            return;
        };
        if total_time.elapsed() >= PROGRESS_DELAY {
            progress.show(&format!("{what}, {} s", since.elapsed().as_secs()));
        }
    }

    fn clear(&mut self) {
        if let Some(progress) = &mut self.progress {
            progress.clear();
        }
    }
}

/// Ends this process with the default effect of the signal.
fn die_by_signal(signal: i32) {
    // Does not return for signals that end a process.
    let _alive = emulate_default_handler(signal);
}
