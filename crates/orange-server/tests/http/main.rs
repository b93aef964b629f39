//! Real servers on a real PostgreSQL, called over HTTP.
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
