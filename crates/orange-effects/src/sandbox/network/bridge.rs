//! Ports inside a sandbox whose connections are answered outside.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};

use super::connections::serve;
use super::relay::relay;
use crate::sandbox::secret::Secret;

/// How many connections are open at once. At the partial level every process of the machine can
/// open one.
const MAX_CONNECTIONS: usize = 512;

/// The user name in the address of a proxy with a secret.
pub(super) const PROXY_USER: &str = "orange";

/// A port that `sandbox-init` opens, and where its connections go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sandbox) struct Bridge {
    /// The socket that `exec-run` listens on, as `sandbox-init` reaches it.
    pub(in crate::sandbox) socket: String,
    /// The variables that tell the agent; `{port}` is replaced.
    pub(in crate::sandbox) variables: BTreeMap<String, String>,
}

/// The bridge to the proxy, with the variables by which programs find one. Where others reach the
/// port too, the address has the secret.
pub(in crate::sandbox) fn proxy_bridge(socket: &str, secret: Option<&Secret>) -> Bridge {
    let user = secret.map(|secret| format!("{PROXY_USER}:{}@", secret.text()));
    let address = format!("http://{}127.0.0.1:{{port}}", user.unwrap_or_default());
    let address = address.as_str();
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
        socket: socket.to_owned(),
        variables: variables.into(),
    }
}

/// Open ports, and the variables that tell the agent.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct OpenBridges {
    pub(in crate::sandbox) ports: Vec<u16>,
    pub(in crate::sandbox) variables: BTreeMap<String, String>,
}

/// Opens the ports.
pub(in crate::sandbox) fn open_bridges(bridges: &[Bridge]) -> io::Result<OpenBridges> {
    let mut open = OpenBridges::default();
    for bridge in bridges {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        open.ports.push(port);
        let port = port.to_string();
        let set = bridge.variables.iter();
        open.variables
            .extend(set.map(|(name, value)| (name.clone(), value.replace("{port}", &port))));
        let socket = PathBuf::from(&bridge.socket);
        thread::Builder::new().spawn(move || {
            serve(
                listener.incoming().flatten(),
                MAX_CONNECTIONS,
                |_| {},
                move |stream| pass_on(stream, &socket),
            );
        })?;
    }
    Ok(open)
}

fn pass_on(stream: TcpStream, socket: &Path) {
    let _unbuffered = stream.set_nodelay(true);
    // A connection that cannot be made outside closes this one.
    let _gone = UnixStream::connect(socket).and_then(|outside| relay(stream, outside));
}
