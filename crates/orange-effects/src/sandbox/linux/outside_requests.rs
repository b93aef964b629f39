//! Starts a performer outside for a call of `orange` inside.
//!
//! A performer that an agent's call starts must not run in the agent's sandbox: it would end with
//! it, and sees no other process. Until the broker exists, this is the only thing that is done
//! outside for an agent.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::sandbox::places::OUTSIDE;
use crate::sandbox::sandboxed_run::StartOutside;

/// The longest request.
const MAX_BYTES: u64 = 4096;

/// How long either side may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The commands that may be started; each takes a task.
const COMMANDS: [&str; 2] = ["perform", "gather"];

/// Asks `exec-run` to start `orange` with these arguments outside of this process's sandbox.
pub fn ask_outside(words: &[&str]) -> io::Result<u32> {
    let mut stream = UnixStream::connect(OUTSIDE)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    serde_json::to_writer(&stream, words)?;
    stream.write_all(b"\n")?;
    let mut answer = String::new();
    BufReader::new(&stream)
        .take(MAX_BYTES)
        .read_line(&mut answer)?;
    let refused = || io::Error::other("`orange exec-run` did not start the command");
    answer.trim().parse().map_err(|_| refused())
}

/// Answers requests until this process ends.
pub(super) fn answer_requests(listener: &UnixListener, start: &StartOutside) {
    for stream in listener.incoming().flatten() {
        let pid = read_words(&stream).and_then(|words| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            is_allowed(&words).then(|| start(&words))?
        });
        let answer = pid.map_or_else(|| String::from("-"), |pid| pid.to_string());
        // The caller may be gone.
        let _unread = (&stream).write_all(format!("{answer}\n").as_bytes());
    }
}

fn read_words(stream: &UnixStream) -> Option<Vec<String>> {
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let mut line = String::new();
    let mut reader = BufReader::new(stream).take(MAX_BYTES);
    reader.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

fn is_allowed(words: &[&str]) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-';
    match words {
        [command, task] => {
            COMMANDS.contains(command)
                && task.starts_with(|it: char| it.is_ascii_alphanumeric())
                && task.chars().all(is_plain)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_performers_of_tasks_are_started() {
        assert!(is_allowed(&["perform", "ab1c"]));
        assert!(is_allowed(&["gather", "ab1c"]));
        for words in [
            &["perform"][..],
            &["perform", "--after"],
            &["perform", "a", "--after", "1"],
            &["perform", ""],
            &["perform", "a/b"],
            &["exec-run", "a"],
            &["task", "list"],
            &[],
        ] {
            assert!(!is_allowed(words), "{words:?}");
        }
    }
}
