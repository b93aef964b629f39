//! Ends a test that asks for something impossible.

/// Panics: a test whose stage cannot be set must fail loudly.
#[expect(
    clippy::panic,
    reason = "this crate is for tests, and a wrong stage is a failed test"
)]
#[track_caller]
pub fn stop(message: &str) -> ! {
    panic!("scripted forge: {message}")
}
