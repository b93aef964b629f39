//! Leaves a router that has failed alone for a while.

use std::sync::{Arc, Mutex, PoisonError};

use orange_config::clock;
use orange_engine::time::Timestamp;

/// How long nothing is asked after a failure, in milliseconds.
const PAUSE: i64 = 300_000;

/// When the router failed last, in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouterPause(Arc<Mutex<Option<Timestamp>>>);

impl RouterPause {
    /// The router has just failed.
    pub(crate) fn begin(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock::now());
    }

    /// Fails while the router is left alone.
    pub(crate) fn require_over(&self) -> Result<(), String> {
        let failed_at = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(failed_at) = failed_at else {
            return Ok(());
        };
        let since = clock::now().millis().saturating_sub(failed_at.millis());
        if (0..PAUSE).contains(&since) {
            return Err(format!(
                "it failed at {failed_at} and is asked again five minutes later"
            ));
        }
        Ok(())
    }
}
