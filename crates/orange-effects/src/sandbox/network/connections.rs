//! Serves the connections of a sandbox, each in its own thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Serves connections until this process ends, at most `limit` at once. `refuse` answers the
/// others.
pub(in crate::sandbox) fn serve<S: Send + 'static>(
    connections: impl Iterator<Item = S>,
    limit: usize,
    refuse: impl Fn(&S),
    handle: impl Fn(S) + Send + Sync + 'static,
) {
    let handle = Arc::new(handle);
    let running = Arc::new(AtomicUsize::new(0));
    for stream in connections {
        if running.fetch_add(1, Ordering::SeqCst) >= limit {
            running.fetch_sub(1, Ordering::SeqCst);
            refuse(&stream);
            continue;
        }
        let (handle, ended) = (Arc::clone(&handle), Arc::clone(&running));
        let started = thread::Builder::new().spawn(move || {
            handle(stream);
            ended.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            running.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
