//! Ports inside a sandbox whose connections are answered outside.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};

use super::relay::relay;
use crate::sandbox::places::PROXY;

/// A port that process 1 opens inside, and where its connections go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sandbox) struct Bridge {
    /// The socket inside that `exec-run` listens on.
    pub(in crate::sandbox) socket: String,
    /// The variables that tell the agent; `{port}` is replaced.
    pub(in crate::sandbox) variables: BTreeMap<String, String>,
}

/// The bridge to the proxy, with the variables by which programs find one.
pub(in crate::sandbox) fn proxy_bridge() -> Bridge {
    let address = "http://127.0.0.1:{port}";
    let direct = "localhost,127.0.0.1,::1";
    let variables = [
        ("HTTP_PROXY", address),
        ("http_proxy", address),
        ("HTTPS_PROXY", address),
        ("https_proxy", address),
        ("NO_PROXY", direct),
        ("no_proxy", direct),
        // Node's own `fetch` ignores the others without it.
        ("NODE_USE_ENV_PROXY", "1"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Bridge {
        socket: PROXY.to_owned(),
        variables: variables.into(),
    }
}

/// Opens the ports; returns the variables that tell the agent.
pub(in crate::sandbox) fn open_bridges(bridges: &[Bridge]) -> io::Result<BTreeMap<String, String>> {
    let mut variables = BTreeMap::new();
    for bridge in bridges {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port().to_string();
        let set = bridge.variables.iter();
        variables.extend(set.map(|(name, value)| (name.clone(), value.replace("{port}", &port))));
        let socket = PathBuf::from(&bridge.socket);
        thread::Builder::new().spawn(move || {
            for stream in listener.incoming().flatten() {
                let socket = socket.clone();
                let _too_many = thread::Builder::new().spawn(move || pass_on(stream, &socket));
            }
        })?;
    }
    Ok(variables)
}

fn pass_on(stream: TcpStream, socket: &Path) {
    let _unbuffered = stream.set_nodelay(true);
    // A connection that cannot be made outside closes this one.
    let _gone = UnixStream::connect(socket).and_then(|outside| relay(stream, outside));
}
