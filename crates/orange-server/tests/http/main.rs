//! Real servers on a real database, called over HTTP.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set the stage must fail loudly"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "servers are processes too, so that they can be killed"
)]

mod authority;
mod chaos;
mod client;
mod cluster;
mod limits;
mod proxy;
mod servers;
mod sim;
mod story;
mod tls;
