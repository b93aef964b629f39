//! The proxy of a sandbox, outside.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;

use orange_config::HostPort;

use super::control::listen_in;
use crate::sandbox::capabilities::Level;
use crate::sandbox::network::{answer_proxy, serve};
use crate::sandbox::secret::Secret;

/// How many connections of a sandbox are open at once.
const MAX_CONNECTIONS: usize = 256;

/// A proxy that runs until this process ends.
#[derive(Clone)]
pub struct StartedProxy {
    pub(super) socket: PathBuf,
    /// What a request must have, where others reach the proxy too.
    pub(super) secret: Option<Secret>,
}

/// Answers the connections of a socket in a folder, until this process ends.
pub fn start_proxy(
    folder: &Path,
    name: &str,
    hosts: &[HostPort],
    level: Level,
) -> io::Result<StartedProxy> {
    let secret = match level {
        Level::Full => None,
        Level::Partial | Level::None => Some(Secret::random()?),
    };
    serve_proxy(listen_in(folder, name)?, hosts.to_vec(), secret.clone())?;
    Ok(StartedProxy {
        socket: folder.join(name),
        secret,
    })
}

pub(super) fn serve_proxy(
    listener: UnixListener,
    hosts: Vec<HostPort>,
    secret: Option<Secret>,
) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        serve(
            listener.incoming().flatten(),
            MAX_CONNECTIONS,
            |_| {},
            move |stream| {
                // A caller that is gone gets no answer.
                let _gone = answer_proxy(stream, &hosts, secret.as_ref());
            },
        );
    })?;
    Ok(())
}
