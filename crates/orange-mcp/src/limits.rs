//! Every limit of the server.

use std::time::Duration;

/// The longest message of a client. A longer one is dropped without an answer, because its id is
/// not known.
pub const MAX_MESSAGE: usize = 1024 * 1024;

/// The longest text in an argument.
pub const MAX_TEXT: usize = 64 * 1024;

/// The longest name, id and summary.
pub const MAX_NAME: usize = 64;
pub const MAX_ID: usize = 32;
pub const MAX_SUMMARY: usize = 500;

/// The most names in one argument.
pub const MAX_NAMES: usize = 20;

/// How many calls run at once, and how many wait for their turn.
pub const MAX_CALLS: usize = 8;
pub const MAX_WAITING: usize = 32;

/// The most bytes of an answer: agents themselves cut or refuse larger ones.
pub const MAX_ANSWER: usize = 64 * 1024;

/// The most bytes of an answer that cannot be asked for again.
pub const MAX_ONCE: usize = 512 * 1024;

/// The schema of an answer is sent in full up to this many bytes; some are ten times larger.
pub const MAX_SCHEMA: usize = 16 * 1024;

/// The most seconds that `task_wait` waits, and the usual number. Some clients give a call 60
/// seconds.
pub const MAX_WAIT: u64 = 50;
pub const DEFAULT_WAIT: &str = "30";

/// How long calls may take to end after the client has closed the connection.
pub const STOP_TIMEOUT: Duration = Duration::from_millis(200);
