//! Checks whether the kernel killed a process for lack of memory.
//!
//! The OOM killer sends a signal that any process may send, and the kernel's counters do not name
//! the victim; only the kernel log does. Where we may not read the log, the signal is all we know.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;

/// The longest record of the log, in bytes.
const MAX_RECORD_BYTES: usize = 8192;

/// Upper bound on the records of a log.
const MAX_RECORDS: usize = 100_000;

/// Microseconds (the log's unit) per tick (the unit of a process's start time).
const TICK: u64 = 10_000;

/// Whether the kernel log says that it killed this process for lack of memory. `start` is when the
/// process started, in ticks since boot: an earlier record is about another process with this pid.
pub fn is_oom_killed(pid: u32, start: u64) -> bool {
    // In a container the kernel's pids differ from ours.
    if !has_kernel_pids() {
        return false;
    }
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .custom_flags(nonblocking)
        .open("/dev/kmsg");
    let Ok(mut log) = opened else { return false };
    let mut record = vec![0; MAX_RECORD_BYTES];
    for _ in 0..MAX_RECORDS {
        match log.read(&mut record) {
            Ok(0) => return false,
            Ok(length)
                if is_oom_record(&String::from_utf8_lossy(&record[..length]), pid, start) =>
            {
                return true;
            }
            Ok(_) => {}
            // Records that were overwritten meanwhile are skipped.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(_) => return false,
        }
    }
    false
}

fn has_kernel_pids() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() == 1)
}

fn is_oom_record(record: &str, pid: u32, start: u64) -> bool {
    let Some((head, message)) = record.split_once(';') else {
        return false;
    };
    let at = head.split(',').nth(2).and_then(|at| at.parse::<u64>().ok());
    let message = message.to_ascii_lowercase();
    at.is_some_and(|at| at / TICK >= start)
        && message.contains("out of memory")
        && message.contains(&format!("killed process {pid} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_messages_are_parsed() {
        let own = "4,1234,5000000,-;Memory cgroup out of memory: Killed process 4711 (node) \
                   total-vm:1024kB, anon-rss:1kB";
        assert!(is_oom_record(own, 4711, 500));
        let other = "3,1,20000,-;Out of memory: Killed process 7 (agent), UID 0,";
        assert!(is_oom_record(other, 7, 1));
        assert!(
            !is_oom_record(own, 4711, 501),
            "an earlier one had the number"
        );
        assert!(!is_oom_record(own, 471, 0), "another number begins alike");
        assert!(!is_oom_record(own, 47110, 0));
        assert!(!is_oom_record(
            "6,1,2,-;systemd: Killed process 4711 (node)",
            4711,
            0
        ));
        assert!(!is_oom_record("", 0, 0));
    }

    #[test]
    fn this_process_was_not_killed() {
        assert!(!is_oom_killed(std::process::id(), 0));
    }
}
