//! A host and a port, such as `registry.example.org:443`.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The port of a host that is named without one.
const HTTPS: u16 = 443;

/// A host and a port.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    /// A name or an address, in lower case; an IPv6 address is without brackets.
    host: String,
    port: u16,
}

impl HostPort {
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host and the port in a text, with this port if the text has none.
    pub fn parse_or(text: &str, port: u16) -> Option<HostPort> {
        let (host, port_text) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                host.parse::<Ipv6Addr>().ok()?;
                (
                    host,
                    rest.strip_prefix(':').or(rest.is_empty().then_some("")),
                )
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, Some("")),
            },
        };
        let port = match port_text? {
            "" if !text.ends_with(':') => port,
            digits if digits.bytes().all(|it| it.is_ascii_digit()) => digits.parse().ok()?,
            _ => return None,
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '.' | '_' | ':');
        let is_name = !host.is_empty() && host.len() <= 253 && host.chars().all(is_plain);
        (is_name && port > 0).then_some(HostPort { host, port })
    }
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<HostPort, String> {
        let found = HostPort::parse_or(text, HTTPS);
        found.ok_or_else(|| format!("`{}` is not a host and a port", text.escape_debug()))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostPort { host, port } = self;
        if host.contains(':') {
            write!(formatter, "[{host}]:{port}")
        } else {
            write!(formatter, "{host}:{port}")
        }
    }
}

impl TryFrom<String> for HostPort {
    type Error = String;

    fn try_from(text: String) -> Result<HostPort, String> {
        text.parse()
    }
}

impl From<HostPort> for String {
    fn from(value: HostPort) -> String {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_and_written() {
        for (text, written) in [
            ("Registry.Example.org", "registry.example.org:443"),
            ("registry.example.org.:80", "registry.example.org:80"),
            ("203.0.113.7:8080", "203.0.113.7:8080"),
            ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
            ("[2001:db8::1]", "[2001:db8::1]:443"),
        ] {
            let host: HostPort = text.parse().unwrap();
            assert_eq!(host.to_string(), written);
            assert_eq!(written.parse::<HostPort>().unwrap(), host);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            ":443",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a:b",
            "a b",
            "a/b",
            "https://a",
            "*.a",
            "u@a",
            "a:1:2",
            "::1",
            "[::1",
            "[x]:1",
            "[::1]x",
            "a\n",
            ".",
        ] {
            text.parse::<HostPort>().unwrap_err();
        }
    }
}
