//! Which host and repository a remote's address means.

use std::fmt;
use std::net::IpAddr;

/// Its API is on another host.
const GITHUB: &str = "github.com";

/// The address of github.com's API.
const GITHUB_API: &str = "https://api.github.com";

/// The suffix of GitHub's data-residency hosts; the API of each is at `api.HOST`.
const DATA_RESIDENCY: &str = ".ghe.com";

/// A repository on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryAddress {
    pub host: Host,
    pub owner: String,
    pub name: String,
}

impl RepositoryAddress {
    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl fmt::Display for RepositoryAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.host, self.owner, self.name)
    }
}

/// The name of a host, in lower case, with its port if that is not the usual one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(String);

/// The addresses of a host's REST and GraphQL APIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiBase {
    pub rest: String,
    pub graph: String,
}

/// Why an address names no repository on a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("`{address}` is not the address of a repository on a host")]
    NotARepository { address: String },
    #[error("`{address}` cannot be used: it must be `http://` with a loopback address and a port")]
    NotLoopback { address: String },
}

impl Host {
    pub fn new(name: &str) -> Host {
        let name = name.trim().to_lowercase();
        Host(match name.as_str() {
            "www.github.com" | "ssh.github.com" => GITHUB.to_owned(),
            _ => name,
        })
    }

    pub fn github() -> Host {
        Host(GITHUB.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is github.com or one of its hosts with data residency.
    pub fn is_public(&self) -> bool {
        self.0 == GITHUB || self.0.ends_with(DATA_RESIDENCY)
    }

    pub fn api(&self) -> ApiBase {
        if self.0 == GITHUB {
            return ApiBase {
                rest: GITHUB_API.to_owned(),
                graph: format!("{GITHUB_API}/graphql"),
            };
        }
        if self.is_public() {
            return ApiBase {
                rest: format!("https://api.{}", self.0),
                graph: format!("https://api.{}/graphql", self.0),
            };
        }
        ApiBase {
            rest: format!("https://{}/api/v3", self.0),
            graph: format!("https://{}/api/graphql", self.0),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl ApiBase {
    /// The APIs of a server on this machine, for tests.
    pub fn loopback(address: &str) -> Result<ApiBase, AddressError> {
        let refused = || AddressError::NotLoopback {
            address: address.to_owned(),
        };
        let base = address.trim_end_matches('/');
        let authority = base.strip_prefix("http://").ok_or_else(refused)?;
        if !is_loopback(authority) {
            return Err(refused());
        }
        Ok(ApiBase {
            rest: base.to_owned(),
            graph: format!("{base}/graphql"),
        })
    }
}

/// Whether an authority, a host with an optional port, is a loopback address. Names such as
/// `localhost` do not count: the system decides which address a name means.
pub(super) fn is_loopback(authority: &str) -> bool {
    // What precedes an `@` is a user, not the host.
    if authority.contains('@') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

/// An address as a message may show it: without user, password, query and fragment.
pub(super) fn public_part(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    crate::git::without_password(address)
}

/// Reads the address of a remote, as git resolved it: a URL or the short form of ssh.
pub fn read_remote(address: &str) -> Result<RepositoryAddress, AddressError> {
    let read = match address.split_once("://") {
        Some((scheme, rest)) => read_url(scheme, rest),
        None => read_short(address),
    };
    read.ok_or_else(|| AddressError::NotARepository {
        address: crate::git::without_password(address),
    })
}

fn read_url(scheme: &str, rest: &str) -> Option<RepositoryAddress> {
    let (authority, path) = rest.split_once('/')?;
    let authority = authority.rsplit_once('@').map_or(authority, |it| it.1);
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => (name, Some(port)),
        _ => (authority, None),
    };
    let host = match (scheme.to_lowercase().as_str(), port) {
        // The API of a host with its own port is at that port too.
        ("https", Some(port)) if port != "443" && !port.is_empty() => format!("{name}:{port}"),
        ("https" | "http" | "ssh" | "git" | "git+ssh" | "ssh+git", _) => name.to_owned(),
        _ => return None,
    };
    repository(&host, path)
}

/// Reads `user@host:owner/name`. An address with a slash before the first colon is a local path.
fn read_short(address: &str) -> Option<RepositoryAddress> {
    let (authority, path) = address.split_once(':')?;
    if authority.contains('/') {
        return None;
    }
    let host = authority.rsplit_once('@').map_or(authority, |it| it.1);
    repository(host, path)
}

/// Whether this is a host name with an optional port. Anything else is refused: the HTTP client
/// could read it as another host than the one for which the token was chosen.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let is_label = |label: &str| {
        let mut letters = label.chars();
        !label.is_empty()
            && !label.starts_with('-')
            && letters.all(|it| it.is_ascii_alphanumeric() || it == '-')
    };
    let is_port = |port: &str| port.parse().is_ok_and(|it: u16| it > 0);
    name.split('.').all(is_label) && port.is_none_or(is_port)
}

fn repository(host: &str, path: &str) -> Option<RepositoryAddress> {
    let mut parts = path.trim_matches('/').split('/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let name = name.strip_suffix(".git").unwrap_or(name);
    if parts.next().is_some() || !is_host(host) || !is_name(owner) || !is_name(name) {
        return None;
    }
    Some(RepositoryAddress {
        host: Host::new(host),
        owner: owner.to_owned(),
        name: name.to_owned(),
    })
}

/// Whether a part of a path is a plain name, in which no further path or query can be hidden.
fn is_name(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !part.is_empty()
        && part.len() <= 100
        && part.chars().all(is_plain)
        && !part.trim_matches('.').is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_read() {
        for (address, host) in [
            ("https://github.com/ada/engine", "github.com"),
            ("https://github.com/ada/engine.git", "github.com"),
            ("https://github.com/ada/engine/", "github.com"),
            ("https://ada:secret@GitHub.com/ada/engine.git", "github.com"),
            ("https://github.com:443/ada/engine", "github.com"),
            ("git@github.com:ada/engine.git", "github.com"),
            ("github.com:ada/engine", "github.com"),
            ("git@github.com:/ada/engine.git", "github.com"),
            ("ssh://git@github.com/ada/engine.git", "github.com"),
            ("ssh://git@ssh.github.com:443/ada/engine.git", "github.com"),
            ("git://www.github.com/ada/engine", "github.com"),
            (
                "https://ghe.example.org:8443/ada/engine",
                "ghe.example.org:8443",
            ),
            (
                "ssh://git@ghe.example.org:2222/ada/engine",
                "ghe.example.org",
            ),
            ("https://acme.ghe.com/ada/engine", "acme.ghe.com"),
        ] {
            let read = read_remote(address).unwrap();
            assert_eq!(read.host.as_str(), host, "{address}");
            assert_eq!(read.full_name(), "ada/engine", "{address}");
        }
    }

    #[test]
    fn other_addresses_are_refused_without_their_password() {
        for address in [
            "https://example.org:x.ghe.com/ada/hello",
            "https://example.org:0/ada/hello",
            "https://.ghe.com/ada/hello",
            "/srv/engine.git",
            "../engine",
            "file:///srv/engine.git",
            "https://github.com/ada",
            "https://github.com/ada/engine/tree/main",
            "https://github.com/ada/..",
            "https://github.com/ada/engine?x=1",
            "https://github.com/a%2fb/engine",
            "git@github.com",
            "",
        ] {
            assert!(read_remote(address).is_err(), "{address}");
        }
        let error = read_remote("https://ada:secret@github.com/x").unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn the_interfaces_of_each_kind_of_host_are_known() {
        let api = |name| Host::new(name).api();
        assert_eq!(api("github.com").rest, "https://api.github.com");
        assert_eq!(api("github.com").graph, "https://api.github.com/graphql");
        assert_eq!(api("acme.ghe.com").rest, "https://api.acme.ghe.com");
        assert_eq!(
            api("ghe.example.org").rest,
            "https://ghe.example.org/api/v3"
        );
        assert_eq!(
            api("ghe.example.org").graph,
            "https://ghe.example.org/api/graphql"
        );
    }

    #[test]
    fn plain_http_is_for_loopback_addresses_only() {
        for address in [
            "http://127.0.0.1:80",
            "http://127.9.9.9:1/",
            "http://[::1]:8",
        ] {
            assert!(ApiBase::loopback(address).is_ok(), "{address}");
        }
        for address in [
            "http://localhost:80",
            "http://127.0.0.1.example.org:80",
            "http://10.0.0.1:80",
            "https://127.0.0.1:80",
            "http://user@127.0.0.1:80",
            "http://127.0.0.1:80@example.org",
        ] {
            assert!(ApiBase::loopback(address).is_err(), "{address}");
        }
    }
}
