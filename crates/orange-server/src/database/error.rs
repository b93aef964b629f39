//! What can go wrong between a call and the database.

use orange_fleet::chain::Sha;

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error(
        "cannot read the address of the database: {reason}; write it as `postgres://user@host:5432/name`"
    )]
    Address { reason: String },
    #[error(
        "cannot reach the database: {reason}; check its address and that PostgreSQL is running"
    )]
    Unavailable { reason: String },
    #[error("the database has no tables of orange; run `orange server migrate`")]
    NotMigrated,
    #[error(
        "the database has migration {found}, and this program needs {needed}; run `orange server migrate`"
    )]
    Older { found: i32, needed: i32 },
    #[error(
        "the database has migration {found} (`{name}`), and this program knows {known}; install a newer orange"
    )]
    Newer {
        found: i32,
        name: String,
        known: i32,
    },
    #[error(
        "migration {number} of the database is not the one of this program; use the orange that migrated it"
    )]
    Changed { number: i32 },
    #[error("the database is a standby and cannot write; connect to the primary")]
    Standby,
    #[error("the database runs with `{setting}`, which can lose acknowledged commits; run `ALTER SYSTEM RESET {name}` in it", name = .setting.split(' ').next().unwrap_or_default())]
    NotDurable { setting: String },
    /// The caller sent more than is stored.
    #[error("{what} has {size}, and the limit is {most}")]
    TooLarge {
        what: &'static str,
        size: u64,
        most: u64,
    },
    /// The caller sent something that no honest caller sends.
    #[error("{what} is not valid: {reason}")]
    Invalid {
        what: &'static str,
        reason: &'static str,
    },
    #[error("the text that was sent as {named} has the hash {actual}")]
    WrongText { named: Sha, actual: Sha },
    #[error("`{call}` failed in the database: {reason}")]
    Failed { call: &'static str, reason: String },
    #[error(
        "`{call}` answered what this program cannot read: {reason}; check that all servers run the same version"
    )]
    Unreadable { call: &'static str, reason: String },
}

/// Who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller: the same call fails again.
    Caller,
    /// The caller, by sending less.
    TooLarge,
    /// Time: the same call may succeed later.
    Unavailable,
    /// The operator of the server.
    Operator,
}

impl DatabaseError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid { .. } | Self::WrongText { .. } => ErrorKind::Caller,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Unavailable { .. } | Self::Standby => ErrorKind::Unavailable,
            Self::Address { .. }
            | Self::NotMigrated
            | Self::Older { .. }
            | Self::Newer { .. }
            | Self::Changed { .. }
            | Self::NotDurable { .. }
            | Self::Failed { .. }
            | Self::Unreadable { .. } => ErrorKind::Operator,
        }
    }
}
