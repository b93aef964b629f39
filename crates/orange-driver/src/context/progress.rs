//! Progress shared with a waiting caller, and a way to stop waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by the code that waits and the code that shows progress. Stopping the wait stops nothing
/// else: what was decided is recorded, and another process performs it.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    action: Mutex<Option<String>>,
}

impl Progress {
    /// Asks the waiting code to stop.
    pub fn stop_waiting(&self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }

    /// Whether waiting should stop.
    pub fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::SeqCst)
    }

    /// Reports the current action.
    pub fn report(&self, action: String) {
        let mut current = self.0.action.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(action);
    }

    /// The current action, if one was reported.
    pub fn current_action(&self) -> Option<String> {
        let current = self.0.action.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }
}
