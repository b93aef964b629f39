//! Sends requests to services that the user chose.
//!
//! Each call sends one request and returns one answer, whatever the status. No redirect is
//! followed, so a header with a token goes only to the address that the caller named.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use orange_config::Environment;
pub use ureq::http::Method;
use ureq::http::{Request, Uri};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body, Timeout};

use super::error::Trouble;
use super::host::is_loopback;
use super::proxy::Proxies;

/// The name by which orange introduces itself; the forge rejects requests without one.
const USER_AGENT: &str = concat!("orange/", env!("CARGO_PKG_VERSION"));

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept. If the forge closed it first, the next request would
/// fail.
const IDLE: Duration = Duration::from_secs(15);

/// How much of an answer is read at once.
const PIECE: usize = 64 * 1024;

/// Keeps the connections of one process.
pub struct Http {
    agent: Agent,
    timeout: Duration,
    proxies: Proxies,
}

/// One request.
pub struct HttpRequest {
    pub method: Method,
    pub address: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Vec<u8>>,
    pub kept: Kept,
}

/// Which part of an answer is kept.
#[derive(Clone, Copy)]
pub enum Kept {
    /// All of it; a longer answer is an error.
    AtMost(usize),
    /// At least the last `kept` bytes; an answer of more than `read` bytes is an error.
    Tail { kept: usize, read: usize },
}

/// One answer.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    /// Names in lower case; the value is absent if it is not readable text.
    headers: Vec<(String, Option<String>)>,
    pub body: Vec<u8>,
    /// Whether bytes were left out because only the end was to be kept.
    pub is_cut: bool,
}

impl HttpResponse {
    #[cfg(test)]
    pub fn new(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers.iter();
        Self {
            status,
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
                .collect(),
            body: body.as_bytes().to_vec(),
            is_cut: false,
        }
    }

    /// The value of a header; `name` must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.header_values(name).next()?
    }

    /// The value of each header of this name, for headers that may be sent more than once; `None`
    /// for a value that is not readable text.
    pub fn header_values(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        let found = self.headers.iter().filter(move |(key, _)| key == name);
        found.map(|(_, value)| value.as_deref())
    }
}

/// Certificates are judged by the system.
pub(crate) fn tls_config() -> TlsConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(provider)
        .build()
}

impl Http {
    /// Each request has to be answered within the timeout.
    pub fn new(environment: &Environment, timeout: Duration) -> Http {
        let config = Agent::config_builder()
            .tls_config(tls_config())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(USER_AGENT)
            .max_idle_age(IDLE)
            .timeout_connect(Some(CONNECT_TIMEOUT.min(timeout)))
            .timeout_global(Some(timeout))
            .build();
        Http {
            agent: Agent::new_with_config(config),
            timeout,
            proxies: Proxies::new(environment),
        }
    }

    /// Sends a request, once.
    pub fn send(&self, request: HttpRequest) -> Result<HttpResponse, Trouble> {
        let uri: Uri = request.address.parse().map_err(malformed)?;
        let authority = uri.authority().map_or("", |it| it.as_str());
        require_plain_authority(&uri, authority)?;
        let is_local = is_loopback(authority);
        if uri.scheme_str() != Some("https") && !(uri.scheme_str() == Some("http") && is_local) {
            return Err(Trouble::Malformed {
                reason: format!("`{}://` is not encrypted", uri.scheme_str().unwrap_or("")),
            });
        }
        let proxy = match uri.host() {
            Some(host) if !is_local => self.proxies.proxy_for(host)?,
            _ => None,
        };
        let mut built = Request::builder().method(request.method).uri(uri);
        for (name, value) in request.headers {
            built = built.header(name, value);
        }
        let answer = if let Some(body) = request.body {
            let built = built.body(body).map_err(malformed)?;
            let built = self.agent.configure_request(built).proxy(proxy).build();
            self.agent.run(built)
        } else {
            let built = built.body(()).map_err(malformed)?;
            let built = self.agent.configure_request(built).proxy(proxy).build();
            self.agent.run(built)
        };
        let answer = answer.map_err(|error| trouble(&error, self.timeout))?;
        let (parts, body) = answer.into_parts();
        let headers = parts.headers.iter().map(|(name, value)| {
            let value = value.to_str().ok().map(str::to_owned);
            (name.as_str().to_owned(), value)
        });
        let headers = headers.collect();
        let (body, is_cut) = read(body, request.kept, self.timeout)?;
        Ok(HttpResponse {
            status: parts.status.as_u16(),
            headers,
            body,
            is_cut,
        })
    }
}

/// Refuses an authority that another parser could read as another host: one without a host, with a
/// user, or with a colon that no valid port follows.
fn require_plain_authority(uri: &Uri, authority: &str) -> Result<(), Trouble> {
    let after_address = authority.rsplit(']').next().unwrap_or_default();
    let port = uri.port_u16().filter(|it| *it > 0);
    let has_bad_port = after_address.contains(':') && port.is_none();
    let is_nameless = uri.host().is_none_or(str::is_empty);
    if is_nameless || has_bad_port || authority.contains('@') {
        return Err(malformed("it must be a host and, after a colon, a port"));
    }
    Ok(())
}

/// Reads an answer. The limits count decompressed bytes, so a small answer cannot expand without
/// bound.
fn read(body: Body, kept: Kept, timeout: Duration) -> Result<(Vec<u8>, bool), Trouble> {
    let mut reader = body.into_reader();
    let mut piece = vec![0; PIECE];
    let mut bytes = Vec::new();
    let (mut total, mut is_cut) = (0, false);
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => return Ok((bytes, is_cut)),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(trouble(&ureq::Error::from(error), timeout)),
        };
        total += count;
        bytes.extend_from_slice(&piece[..count]);
        let (limit, tail) = match kept {
            Kept::AtMost(limit) => (limit, None),
            Kept::Tail { kept, read } => (read, Some(kept)),
        };
        if total > limit {
            return Err(Trouble::Malformed {
                reason: format!("it has more than {limit} bytes"),
            });
        }
        if let Some(tail) = tail.filter(|it| bytes.len() > it + PIECE) {
            bytes.drain(..bytes.len() - tail);
            is_cut = true;
        }
    }
}

fn malformed(error: impl std::fmt::Display) -> Trouble {
    Trouble::Malformed {
        reason: format!("the address cannot be used: {error}"),
    }
}

/// Translates an error of the connection.
fn trouble(error: &ureq::Error, timeout: Duration) -> Trouble {
    let unreachable = |may_have_arrived| Trouble::Unreachable {
        reason: error.to_string(),
        may_have_arrived,
    };
    match error {
        ureq::Error::Timeout(phase) => Trouble::TimedOut {
            seconds: timeout.as_secs(),
            may_have_arrived: !matches!(phase, Timeout::Connect | Timeout::Resolve),
        },
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::ConnectProxyFailed(_)
        | ureq::Error::InvalidProxyUrl
        | ureq::Error::Tls(_)
        | ureq::Error::Rustls(_) => unreachable(false),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            unreachable(false)
        }
        ureq::Error::Protocol(_)
        | ureq::Error::Decompress(..)
        | ureq::Error::LargeResponseHeader(..) => Trouble::Malformed {
            reason: error.to_string(),
        },
        _ => unreachable(true),
    }
}
