//! Every limit of the server.

use std::time::Duration;

use crate::access::Rate;

/// How many connections that were not accepted yet the system keeps.
pub const BACKLOG: u32 = 1024;

/// Connections beyond this wait. A runner that waits for work keeps one.
pub const MAX_CONNECTIONS: usize = 12_000;

/// How long a TLS handshake may take.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the head of a request may take, and how long a connection may be idle.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest head of a request.
pub const MAX_HEAD: usize = 16 * 1024;

/// The largest body of most calls.
pub const SMALL_BODY: usize = 64 * 1024;

/// The largest body of a beat, which names every held task.
pub const BEAT_BODY: usize = 512 * 1024;

/// The largest body of calls with commits, texts or a bundle.
pub const LARGE_BODY: usize = 20 * 1024 * 1024;

/// How long the body of a request may take.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// How many bytes of bodies are in memory at once, in KiB, and how long a request waits for room.
pub const BODY_ROOM_KIB: u32 = 128 * 1024;
pub const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call may take, apart from waiting for work.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest wait for work, for the decision of a request, and for changes.
pub const MAX_WAIT: Duration = Duration::from_secs(25);

/// How many calls of a person may wait at the same time.
pub const MOST_WAITING: usize = 8;

/// How many tasks one call may claim: each comes with its whole log.
pub const MOST_CLAIMS: u32 = 4;

/// How many tasks one append may name.
pub const MOST_APPENDS: usize = 50;

/// How many tasks a task may wait for.
pub const MOST_AFTER: usize = 100;

/// How many rows of the feed one answer has.
pub const MOST_CHANGES: usize = 200;

/// The longest id, name or key.
pub const MAX_NAME: usize = 128;

pub const PERSON_RATE: Rate = Rate(20);
pub const APPEND_RATE: Rate = Rate(50);
/// All calls of a runner.
pub const RUNNER_RATE: Rate = Rate(100);

/// How long connections may take to end when the server stops.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(3);
