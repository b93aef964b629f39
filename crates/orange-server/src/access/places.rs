//! How many calls of a caller may wait at the same time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The waiting calls of each caller of one server.
#[derive(Debug)]
pub struct Places<K> {
    most: usize,
    taken: Mutex<HashMap<K, usize>>,
}

/// The place of a call. Dropping it frees the place.
#[derive(Debug)]
pub struct Place<K: Eq + Hash> {
    places: Arc<Places<K>>,
    caller: K,
}

impl<K: Clone + Eq + Hash> Places<K> {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
        })
    }

    /// `None` when the caller has as many as it may have.
    pub fn take(self: &Arc<Self>, caller: K) -> Option<Place<K>> {
        let mut taken = self.taken();
        let count = taken.entry(caller.clone()).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Place {
            places: Arc::clone(self),
            caller,
        })
    }
}

impl<K> Places<K> {
    fn taken(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(count) = taken.get_mut(&self.caller) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_so_many_places() {
        let places = Places::new(2);
        let first = places.take("ann").unwrap();
        let _second = places.take("ann").unwrap();
        assert!(places.take("ann").is_none());
        assert!(places.take("bob").is_some(), "others have their own");
        drop(first);
        assert!(places.take("ann").is_some());
        assert_eq!(places.taken().len(), 1, "only who waits is remembered");
    }
}
