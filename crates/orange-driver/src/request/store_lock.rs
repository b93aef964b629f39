//! Whether another process keeps the database locked.

use std::time::Duration;

use orange_store::Store;

use crate::Driver;

/// How long a commit of another process may take before that is worth telling.
const USUAL: Duration = Duration::from_millis(500);

impl Driver {
    /// Whether another process keeps writing to the database, so that recording has to wait for it.
    /// Where that cannot be told, recording will.
    pub fn is_kept_from_recording(&self) -> bool {
        let has_memory = self.home.database().exists();
        let store = has_memory.then(|| Store::open(&self.home));
        let store = store.and_then(Result::ok);
        store.is_some_and(|mut store| store.is_kept_out(USUAL).unwrap_or(false))
    }
}
