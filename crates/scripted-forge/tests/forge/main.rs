//! Asks the real server over loopback, one test per behaviour of GitHub's.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set the stage must fail loudly"
)]

mod ci;
mod client;
mod faults;
mod gh;
mod graphql;
mod issues;
mod merging;
mod permissions;
mod pulls;
mod queue;
mod quota;
mod reading;
mod reviews;
mod schemas;
mod strictness;
