//! Copies between two connections until both directions have ended.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

/// A connection whose directions can be closed one by one.
pub(in crate::sandbox) trait Stream: Read + Write + Send + Sized {
    fn duplicate(&self) -> io::Result<Self>;
    fn close(&self, direction: Shutdown);
}

impl Stream for TcpStream {
    fn duplicate(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self, direction: Shutdown) {
        let _closed_already = self.shutdown(direction);
    }
}

impl Stream for UnixStream {
    fn duplicate(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn close(&self, direction: Shutdown) {
        let _closed_already = self.shutdown(direction);
    }
}

/// Copies in both directions. The end of one side's data is passed on to the other; when one side
/// is gone, so is the other.
pub(super) fn relay<A: Stream, B: Stream>(mut a: A, mut b: B) -> io::Result<()> {
    let (mut from_a, mut to_b) = (a.duplicate()?, b.duplicate()?);
    thread::scope(|scope| {
        let forth = thread::Builder::new().spawn_scoped(scope, || {
            pass(&mut from_a, &mut to_b);
        })?;
        pass(&mut b, &mut a);
        let _ended = forth.join();
        Ok(())
    })
}

fn pass<A: Stream, B: Stream>(from: &mut A, to: &mut B) {
    if io::copy(from, to).is_ok() {
        to.close(Shutdown::Write);
    } else {
        from.close(Shutdown::Both);
        to.close(Shutdown::Both);
    }
}
