//! The server of a fleet: one log of all tasks, on `PostgreSQL`.
//!
//! Every call is one SQL function, so a server that is killed leaves nothing half done, and any
//! number of servers use one database. What each call does is defined by the reference,
//! `orange_fleet::ledger`.

pub mod access;
mod coordinator;
pub mod database;
mod host;
pub mod http;
pub mod metrics;
mod server;
mod settings;
mod tls;
mod waiting;

pub use host::{FIRST_ADMIN, Host, HostError, admin_code, migrate};
pub use server::{Report, Server, ServerError, Stopper};
pub use settings::{CONNECTIONS, DEFAULT_ORG, InvalidAddress, ListenAddress, Settings};
pub use tls::{OWN_FILE, TlsError, TlsSetting};
pub use waiting::Topic;
