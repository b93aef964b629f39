//! Every limit of the server.

use std::time::Duration;

/// How many connections that were not accepted yet the system keeps.
pub const BACKLOG: u32 = 1024;

pub const MAX_CONNECTIONS: usize = 512;

/// How long the head of a request may take, and how long a connection may be idle.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest head of a request.
pub const MAX_HEAD: usize = 32 * 1024;

/// The largest body of a request and of a webhook, and how long it may take.
pub const MAX_BODY: usize = 256 * 1024;
pub const MAX_WEBHOOK: usize = 4 * 1024 * 1024;
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest value of a parameter.
pub const MAX_VALUE: usize = 64 * 1024;

/// How many commands run at once that only read, and how many others.
pub const MAX_READS: usize = 8;
pub const MAX_ACTS: usize = 8;

/// How many webhooks are read at once.
pub const MAX_WEBHOOKS: usize = 4;

/// How long a request may wait until its command can run.
pub const QUEUE_TIMEOUT: Duration = Duration::from_secs(20);

/// The most seconds that an operation may wait for orange, and the usual number.
pub const MAX_WAIT: u64 = 30;
pub const DEFAULT_WAIT: &str = "5";

pub const MAX_STREAMS: usize = 256;

/// How many events wait for the reader of a stream, and how long a reader may be stuck.
pub const STREAM_QUEUE: usize = 16;
pub const STREAM_TIMEOUT: Duration = Duration::from_secs(10);

/// How many events are kept in memory for streams.
pub const KEPT_EVENTS: usize = 1_000;

/// How often the database is asked for changes while there are streams, without a sign of one and
/// after one. A commit can be seen shortly after the sign that it is written.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);
pub const SIGN_INTERVAL: Duration = Duration::from_millis(2);
pub const SIGN_LOOKS: u32 = 20;

/// How often is checked whether the device of a stream was revoked.
pub const DEVICE_INTERVAL: Duration = Duration::from_millis(400);

/// How often is checked whether an agent asks for permission, which no commit says.
pub const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// How often a stream without events sends a comment, so that a dead connection is noticed.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// How many wrong tokens and codes are answered within how long.
pub const MAX_FAILURES: u32 = 30;
pub const FAILURE_WINDOW: Duration = Duration::from_mins(1);

/// How long connections may take to end when the server stops.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(3);
