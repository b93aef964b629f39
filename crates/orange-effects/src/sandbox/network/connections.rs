//! Serves the connections of a sandbox, each in its own thread.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Serves connections until this process ends, at most `limit` at once. `refuse` answers the
/// others.
pub(in crate::sandbox) fn serve(
    listener: &UnixListener,
    limit: usize,
    refuse: impl Fn(&UnixStream),
    handle: impl Fn(UnixStream) + Send + Sync + 'static,
) {
    let handle = Arc::new(handle);
    let running = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming().flatten() {
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
