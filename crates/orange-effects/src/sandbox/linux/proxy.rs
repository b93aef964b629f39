//! The proxy of a sandbox, outside.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use orange_config::HostPort;

use super::control::listen_in;
use crate::sandbox::network::{answer_proxy, serve};

/// How many connections of a sandbox are open at once.
const MAX_CONNECTIONS: usize = 256;

/// Answers the connections of a socket in a folder, until this process ends.
pub fn start_proxy(folder: &Path, name: &str, hosts: &[HostPort]) -> io::Result<()> {
    serve_proxy(listen_in(folder, name)?, hosts.to_vec())
}

pub(super) fn serve_proxy(listener: UnixListener, hosts: Vec<HostPort>) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        serve(
            listener.incoming().flatten(),
            MAX_CONNECTIONS,
            |_| {},
            move |stream| {
                // A caller that is gone gets no answer.
                let _gone = answer_proxy(stream, &hosts);
            },
        );
    })?;
    Ok(())
}
