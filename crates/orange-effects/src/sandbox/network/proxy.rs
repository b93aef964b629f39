//! A proxy that reaches listed hosts only.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use orange_config::HostPort;

use super::PROXY_USER;
use super::addresses::is_public;
use super::head::Head;
use super::relay::relay;
use crate::sandbox::secret::Secret;

/// How long a host may take to answer a connection, and a caller to send its head.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Headers that are between the caller and the proxy.
const OWN_HEADERS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "upgrade",
];

/// Answers one connection. Where others reach the proxy too, a request must have the secret.
pub(in crate::sandbox) fn answer_proxy(
    stream: UnixStream,
    hosts: &[HostPort],
    secret: Option<&Secret>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(stream);
    let head = match Head::receive(&mut reader) {
        Ok(Some(head)) => head,
        Ok(None) => return Ok(()),
        Err(error) => return refuse(reader.get_ref(), "400 Bad Request", &error.to_string()),
    };
    if secret.is_some_and(|secret| !has_secret(&head, secret)) {
        return require_secret(reader.get_ref());
    }
    let is_tunnel = head.method == "CONNECT";
    let Some(target) = Target::of(&head, is_tunnel) else {
        let reason = "this is a proxy: name a host";
        return refuse(reader.get_ref(), "400 Bad Request", reason);
    };
    let host = &target.host;
    if !hosts.contains(host) {
        let reason = format!(
            "orange: the sandbox does not reach {host}; with `sandbox.network = \"list\"`, it \
             reaches what the user adds to `sandbox.hosts`"
        );
        return refuse(reader.get_ref(), "403 Forbidden", &reason);
    }
    let server = match connect(host) {
        Ok(server) => server,
        Err(Unreached::Local) => {
            let reason = format!("orange: {host} is an address of this machine or its network");
            return refuse(reader.get_ref(), "403 Forbidden", &reason);
        }
        Err(Unreached::Failed(error)) => {
            let reason = format!("orange: cannot reach {host}: {error}");
            return refuse(reader.get_ref(), "502 Bad Gateway", &reason);
        }
    };
    let first = if is_tunnel {
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        Vec::new()
    } else {
        target.head_for_server(&head)
    };
    let mut server = server;
    server.write_all(&first)?;
    server.write_all(reader.buffer())?;
    let stream = reader.into_inner();
    // From now on both sides may pause for as long as they like.
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    relay(stream, server)
}

fn has_secret(head: &Head, secret: &Secret) -> bool {
    let expected = Secret::of(format!(
        "Basic {}",
        base64(format!("{PROXY_USER}:{}", secret.text()).as_bytes())
    ));
    let mut values = head.values("proxy-authorization");
    values.any(|value| expected.is(value))
}

fn require_secret(mut stream: &UnixStream) -> io::Result<()> {
    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic \
                  realm=\"orange\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.write_all(answer.as_bytes())
}

/// The encoding of credentials in a header.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at)) & 63;
            text.push(match usize::try_from(digit) {
                Ok(digit) if at <= chunk.len() => char::from(ALPHABET[digit]),
                _ => '=',
            });
        }
    }
    text
}

/// What a request is for.
struct Target {
    host: HostPort,
    /// The path, of a request that is not a tunnel.
    path: String,
}

impl Target {
    fn of(head: &Head, is_tunnel: bool) -> Option<Target> {
        let (authority, path) = if is_tunnel {
            (head.target.as_str(), "")
        } else {
            let scheme = head
                .target
                .get(..7)
                .filter(|it| it.eq_ignore_ascii_case("http://"))?;
            let rest = &head.target[scheme.len()..];
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            rest.split_at(end)
        };
        // A tunnel names its port.
        let host = HostPort::parse_or(authority, if is_tunnel { 0 } else { 80 })?;
        let path = match path.chars().next() {
            Some('/') => path.to_owned(),
            _ => format!("/{path}"),
        };
        Some(Target { host, path })
    }

    /// The same request as the server expects it; the connection is for this one only.
    fn head_for_server(&self, head: &Head) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", head.method, self.path).into_bytes();
        for (name, value) in &head.headers {
            if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                continue;
            }
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b"Connection: close\r\n\r\n");
        text
    }
}

/// Why a host is not reached.
enum Unreached {
    /// All its addresses are local.
    Local,
    Failed(io::Error),
}

/// Connects to one of the addresses that the host has now; its name is not looked up again.
fn connect(host: &HostPort) -> Result<TcpStream, Unreached> {
    let found = (host.host(), host.port()).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(Unreached::Failed)?.collect();
    let mut failure = if found.is_empty() {
        Unreached::Failed(io::Error::other("it has no address"))
    } else {
        Unreached::Local
    };
    for address in found.iter().filter(|address| is_public(address.ip())) {
        match TcpStream::connect_timeout(address, TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = Unreached::Failed(error),
        }
    }
    Err(failure)
}

pub(super) fn refuse(mut stream: &UnixStream, status: &str, reason: &str) -> io::Result<()> {
    let length = reason.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \
         {length}\r\nConnection: close\r\n\r\n{reason}\n"
    );
    stream.write_all(answer.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("orange:a2b3", "b3JhbmdlOmEyYjM="),
            ("\u{ff}\u{fe}>", "w7/Dvj4="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected, "{text}");
        }
    }
}
