//! The server of a fleet: one log of all tasks, on PostgreSQL.
//!
//! Every call is one SQL function, so a server that is killed leaves nothing half done, and any
//! number of servers use one database. What each call does is defined by the reference,
//! `orange_fleet::ledger`.

pub mod database;
