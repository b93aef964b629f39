//! A connection for reading that later questions of the process reuse.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use orange_store::{Store, StoreError};

use crate::context::Context;

/// The connection that no question uses now. A command asks several questions one after the other,
/// and opening the database takes longer than most of them.
pub(crate) type IdleStore = Arc<Mutex<Option<Store>>>;

/// A read-only store; the next question gets its connection.
#[derive(Debug)]
pub(crate) struct ReadStore {
    store: Option<Store>,
    idle: IdleStore,
}

impl Context {
    /// The database, read-only. A connection is reused only if it has the database that is in place
    /// now, and only after the check that opening makes.
    pub(crate) fn read_store(&self) -> Result<ReadStore, StoreError> {
        let idle = Arc::clone(&self.idle_store);
        let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let store = match kept.filter(Store::is_reusable) {
            Some(store) => store,
            None => Store::open_read_only(&self.home)?,
        };
        Ok(ReadStore {
            store: Some(store),
            idle,
        })
    }
}

impl Deref for ReadStore {
    type Target = Store;

    #[expect(clippy::expect_used, reason = "only `drop` takes the store")]
    fn deref(&self) -> &Store {
        self.store
            .as_ref()
            .expect("the store is there until the drop")
    }
}

impl Drop for ReadStore {
    fn drop(&mut self) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = self.store.take();
    }
}
