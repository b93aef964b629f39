//! The network of a sandbox: listed hosts and the user's login.
//!
//! A sandbox with a limited network has only a loopback of its own. Process 1 listens there and
//! passes each connection through a socket to `exec-run`, which decides outside.

mod addresses;
mod body;
mod bridge;
mod connections;
mod head;
mod login;
mod ports;
mod proxy;
mod relay;

use orange_config::HostPort;
use serde::{Deserialize, Serialize};

use bridge::PROXY_USER;
pub(super) use bridge::{Bridge, open_bridges, proxy_bridge};
pub(super) use connections::serve;
pub use login::InjectedLogin;
pub(super) use login::LoginService;
pub use ports::PortForward;
pub(super) use ports::{can_connect, connect_port, reach, serve_ports};
pub(super) use proxy::answer_proxy;
pub(super) use relay::Stream;

/// What an agent reaches over the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Everything that this machine reaches.
    Open,
    /// These hosts, through a proxy.
    List(Vec<HostPort>),
    /// Nothing; not even this machine's own services.
    None,
}
