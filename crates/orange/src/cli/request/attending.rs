//! Shows progress and handles signals while a command works.
//!
//! On a signal, work that can stop is asked to, so that it can hand over decided effects to a
//! performer. If it does not stop soon, or a second signal arrives, the signal kills the process.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_driver::Meanwhile;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::interrupted::Signal;
use crate::output::{Output, Progress};

const TICK: Duration = Duration::from_millis(50);

/// Work that is done sooner shows no progress.
const SOON: Duration = Duration::from_secs(1);

/// How long the work may take to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Whether a signal has its default effect. The handlers stay installed after the work, and without
/// this they would swallow the signal.
static IS_UNATTENDED: AtomicBool = AtomicBool::new(true);

static PREPARED: Once = Once::new();

#[derive(Debug)]
pub struct Manner {
    progress: Option<Progress>,
    /// Whether the work checks for a request to stop, and stops early.
    can_stop: bool,
}

impl Manner {
    /// The work waits, and can stop early.
    pub fn waiting(output: &Output) -> Self {
        Self {
            progress: output.progress(),
            can_stop: true,
        }
    }

    /// The work may be killed at any time.
    pub fn working(output: &Output) -> Self {
        Self {
            can_stop: false,
            ..Self::waiting(output)
        }
    }

    /// The work prints as it goes, and can stop early.
    pub fn printing() -> Self {
        Self {
            progress: None,
            can_stop: true,
        }
    }
}

/// Does the work; also returns the signal that asked it to stop.
pub fn attend<T>(
    meanwhile: &Meanwhile,
    manner: Manner,
    work: impl FnOnce() -> T,
) -> (T, Option<Signal>) {
    // If handlers cannot be installed, signals kill this process as any other.
    let signals = Signals::new([SIGINT, SIGTERM]).ok();
    PREPARED.call_once(|| {
        for signal in [SIGINT, SIGTERM] {
            let _swallowed = register_conditional_default(signal, &IS_UNATTENDED);
        }
    });
    let (done, finished) = mpsc::channel::<()>();
    IS_UNATTENDED.store(signals.is_none(), Ordering::SeqCst);
    let result = thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let finished = finished;
            Looker {
                signals,
                progress: manner.progress,
                meanwhile,
                can_stop: manner.can_stop,
            }
            .look_on(&finished)
        });
        let result = work();
        drop(done);
        (result, looker.join().unwrap_or_default())
    });
    IS_UNATTENDED.store(true, Ordering::SeqCst);
    result
}

struct Looker<'a> {
    signals: Option<Signals>,
    progress: Option<Progress>,
    meanwhile: &'a Meanwhile,
    can_stop: bool,
}

impl Looker<'_> {
    fn look_on(mut self, finished: &Receiver<()>) -> Option<Signal> {
        let began = Stopwatch::start();
        let mut doing = (None, began);
        let mut asked: Option<(Signal, Deadline)> = None;
        loop {
            let pending = self.signals.as_mut().map(Signals::pending);
            for number in pending.into_iter().flatten() {
                self.clear();
                if asked.is_some() || !self.can_stop {
                    end_by(number);
                }
                let signal = if number == SIGINT {
                    Signal::Interrupt
                } else {
                    Signal::Terminate
                };
                asked = Some((signal, Deadline::after(GRACE)));
                self.meanwhile.end_waiting();
            }
            match asked {
                Some((signal, deadline)) if deadline.has_passed() => end_by(match signal {
                    Signal::Interrupt => SIGINT,
                    Signal::Terminate => SIGTERM,
                }),
                Some(_) => {}
                None => self.tell(&mut doing, began),
            }
            if finished.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                self.clear();
                return asked.map(|(signal, _)| signal);
            }
        }
    }

    /// Shows what is being done and for how long.
    fn tell(&mut self, doing: &mut (Option<String>, Stopwatch), began: Stopwatch) {
        let now = self.meanwhile.doing();
        if doing.0 != now {
            *doing = (now, Stopwatch::start());
        }
        let (Some(progress), (Some(what), since)) = (&mut self.progress, doing) else {
            return;
        };
        if began.elapsed() >= SOON {
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
fn end_by(signal: i32) {
    // Does not return for signals that end a process.
    let _alive = emulate_default_handler(signal);
}
