//! What somebody who waits is told, and whether to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by who waits and who looks on meanwhile. Ending the waiting ends nothing else: what was
/// decided is recorded, and somebody else performs it.
#[derive(Clone, Debug, Default)]
pub struct Meanwhile(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    doing: Mutex<Option<String>>,
}

impl Meanwhile {
    /// Asks who waits to come to an end.
    pub fn end_waiting(&self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }

    /// Whether waiting shall end.
    pub fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::SeqCst)
    }

    /// Says what is being done now.
    pub fn note(&self, doing: String) {
        let mut noted = self.0.doing.lock().unwrap_or_else(PoisonError::into_inner);
        *noted = Some(doing);
    }

    /// What is being done now, if anybody said so.
    pub fn doing(&self) -> Option<String> {
        let noted = self.0.doing.lock().unwrap_or_else(PoisonError::into_inner);
        noted.clone()
    }
}
