//! Tests of what is judged about a forge.

#![expect(
    clippy::panic,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod checks;
mod consent;
mod feedback;
mod fixtures;
mod issue_labels;
mod laws;
mod pace;
mod reaction;
mod readiness;
