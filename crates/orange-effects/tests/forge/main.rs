//! The real client against a scripted GitHub, which judges every request.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]

#[expect(clippy::disallowed_methods, reason = "a test reads its own variable")]
mod binding;
mod faults;
mod gh;
mod gh_states;
mod lessons;
#[expect(
    clippy::disallowed_methods,
    reason = "git pushes the branch that a pull request is for"
)]
mod live;
mod merging;
mod operations;
mod reads;
mod stage;
mod writes;
