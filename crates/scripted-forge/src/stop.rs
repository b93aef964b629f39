//! Ends a test that asks for something impossible.

/// Panics: a test whose world cannot be set up must fail loudly.
#[expect(
    clippy::panic,
    reason = "this crate is for tests, and a wrong stage is a failed test"
)]
#[track_caller]
pub fn stop(message: &str) -> ! {
    panic!("scripted forge: {message}")
}
