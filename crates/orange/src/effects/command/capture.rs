//! Feeds and drains a program's pipes while it runs.

use std::io::{self, Read, Write as _};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Captured;
use crate::clock::Deadline;

/// How often a program is looked at whose output somebody else keeps open.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// The ends of a program's pipes. Threads do the work, because any of the three may block.
pub struct Pipes {
    stdout: Arc<Mutex<Captured>>,
    stderr: Arc<Mutex<Captured>>,
    /// Hears nothing, and hangs up when both streams have ended.
    ended: Receiver<()>,
}

impl Pipes {
    pub fn new(child: &mut Child, input: Vec<u8>, limit: usize) -> Self {
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input is no failure of ours.
            thread::spawn(move || stdin.write_all(&input));
        }
        let (held, ended) = channel();
        let stdout = drain(child.stdout.take(), limit, held.clone());
        let stderr = drain(child.stderr.take(), limit, held);
        Self {
            stdout,
            stderr,
            ended,
        }
    }

    /// How the program ended, if it did before the deadline.
    pub fn wait(&self, child: &mut Child, deadline: Deadline) -> io::Result<Option<ExitStatus>> {
        // Most programs end as their output does; some close it and go on, or never had any.
        let mut nap = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if deadline.has_passed() {
                return Ok(None);
            }
            let pause = BETWEEN_LOOKS.min(deadline.left());
            if self.ended.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                thread::sleep(nap.min(pause));
                nap = (nap * 2).min(BETWEEN_LOOKS);
            }
        }
    }

    /// What was said, up to the end of both streams or the deadline.
    pub fn take(self, deadline: Deadline) -> [Captured; 2] {
        let _hung_up = self.ended.recv_timeout(deadline.left());
        [&self.stdout, &self.stderr].map(|stream| {
            let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *stream)
        })
    }
}

/// Reads to the end, so that the program never blocks, and keeps what is within the limit.
fn drain(
    stream: Option<impl Read + Send + 'static>,
    limit: usize,
    held: Sender<()>,
) -> Arc<Mutex<Captured>> {
    let kept = Arc::new(Mutex::new(Captured::default()));
    let Some(mut stream) = stream else {
        return kept;
    };
    let keeping = Arc::clone(&kept);
    thread::spawn(move || {
        let _held = held;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = match stream.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return,
                Ok(count) => count,
            };
            let mut kept = keeping.lock().unwrap_or_else(PoisonError::into_inner);
            let room = limit.saturating_sub(kept.bytes.len()).min(count);
            kept.bytes
                .extend_from_slice(chunk.get(..room).unwrap_or_default());
            kept.is_cut |= room < count;
        }
    });
    kept
}
