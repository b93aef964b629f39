//! How a server is started.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use crate::tls::TlsSetting;

/// The organisation of a server for a single team.
pub const DEFAULT_ORG: &str = "main";

/// How many connections to the database one server keeps.
pub const CONNECTIONS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The address of the database, such as `postgres://user@host:5432/name`.
    pub database: String,
    pub connections: usize,
    pub listen: ListenAddress,
    pub tls: TlsSetting,
}

/// An IP address and a port. Without the address, every address of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub SocketAddr);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an IP address and a port, such as `127.0.0.1:7878`, or `:7878` for all addresses"
)]
pub struct InvalidAddress;

impl FromStr for ListenAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let with_port = |ip: IpAddr, port: &str| {
            let port = port.parse().map_err(|_| InvalidAddress)?;
            Ok(Self(SocketAddr::new(ip, port)))
        };
        if let Some(port) = text.strip_prefix(':') {
            return with_port(Ipv4Addr::UNSPECIFIED.into(), port);
        }
        if let Some(port) = text.strip_prefix("localhost:") {
            return with_port(Ipv4Addr::LOCALHOST.into(), port);
        }
        text.parse().map(Self).map_err(|_| InvalidAddress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        let read = |text: &str| text.parse::<ListenAddress>().map(|it| it.0.to_string());
        for (text, expected) in [
            (":7878", "0.0.0.0:7878"),
            ("localhost:1", "127.0.0.1:1"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(read(text).unwrap(), expected);
        }
        for bad in ["", "7878", ":", ":x", "127.0.0.1", "box:7878", ":70000"] {
            assert_eq!(read(bad), Err(InvalidAddress), "{bad}");
        }
    }
}
