//! A simulated GitHub for tests: real git repositories, checked by GitHub's schemas.
//!
//! A [`Forge`] listens on loopback and has users, repositories, issues, pull requests, reviews,
//! checks, a merge queue, a clock and quota. Repositories are bare git repositories that clients
//! push to by their path; mergeability, commits and merges come from git. Every REST request and
//! answer is checked against GitHub's `OpenAPI` description, and every query is validated and
//! executed with GitHub's GraphQL schema, both pruned to what is served here (`schema/`, `prune`).
//! Whatever does not fit is a violation, and a test with a violation fails. A field without a
//! resolver is an error, never a made-up value.
//!
//! ```
//! use scripted_forge::Forge;
//!
//! let forge = Forge::start();
//! let path = forge.repository("octo/demo");
//! let token = forge.user("octo");
//! let number = forge.pull("octo/demo", "feature");
//! assert_eq!(number, 1);
//! assert!(path.join("HEAD").exists() && token.starts_with("ghp_"));
//! forge.finish();
//! ```

pub mod gh;
pub mod packages;
pub mod prune;
pub mod world;

mod document;
mod forge;
mod git;
mod graphql;
mod http;
mod rest;
mod server;
mod stop;

pub use forge::Forge;
pub use server::{Call, Fault, Write};
pub use world::quota::Resource;
pub use world::repository::{Permission, Protection};
pub use world::review::ReviewState;
