//! Sends requests with the user's login, which stays outside.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use orange_config::Environment;
use serde::{Deserialize, Serialize};
use ureq::http::{Method, Request, Response, Uri};
use ureq::{Agent, Body};

use super::Bridge;
use super::body::receive_body;
use super::head::Head;
use super::proxy::refuse;
use crate::forge::{Proxies, tls_config};
use crate::sandbox::secret::Secret;

/// How long a caller may take to send a request, or to read a part of the answer.
const TIMEOUT: Duration = Duration::from_mins(2);

/// How long the service may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of an answer is passed on at once.
const PIECE: usize = 64 * 1024;

/// Headers that are between two ends of one connection, or that are set here.
const OWN_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A login that is added to requests outside. The login itself is in the variables of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InjectedLogin {
    /// The variable with the login, which the agent does not get.
    pub variable: String,
    /// The variable that has the placeholder inside.
    pub inside: String,
    /// What the agent sends as its login; a request without it is refused.
    pub placeholder: String,
    /// The header for the service, and what precedes the login in it.
    pub header: String,
    pub prefix: String,
    /// The variable with the address of the service.
    pub address: String,
    /// The real address.
    pub service: String,
    /// How the paths begin that may be requested.
    pub paths: Vec<String>,
}

impl InjectedLogin {
    pub(in crate::sandbox) fn bridge(&self, socket: &str) -> Bridge {
        let address = String::from("http://127.0.0.1:{port}");
        let placeholder = self.placeholder.clone();
        Bridge {
            socket: socket.to_owned(),
            variables: BTreeMap::from([
                (self.address.clone(), address),
                (self.inside.clone(), placeholder),
            ]),
        }
    }
}

/// What adds a login to requests.
pub(in crate::sandbox) struct LoginService {
    login: InjectedLogin,
    secret: OsString,
    agent: Agent,
    proxies: Proxies,
}

impl LoginService {
    pub(in crate::sandbox) fn new(
        login: InjectedLogin,
        secret: OsString,
        environment: &Environment,
    ) -> LoginService {
        let config = Agent::config_builder()
            .tls_config(tls_config())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(ureq::config::AutoHeaderValue::None)
            .accept(ureq::config::AutoHeaderValue::None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .build();
        LoginService {
            login,
            secret,
            agent: Agent::new_with_config(config),
            proxies: Proxies::new(environment),
        }
    }

    /// Answers one request, the only one of its connection.
    pub(in crate::sandbox) fn answer(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut reader = BufReader::new(stream);
        let head = match Head::receive(&mut reader) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(()),
            Err(error) => return refuse(stream, "400 Bad Request", &error.to_string()),
        };
        if let Err(reason) = self.permit(&head) {
            return refuse(stream, "403 Forbidden", reason);
        }
        if head.values("expect").next().is_some() {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = match receive_body(&head, &mut reader) {
            Ok(body) => body,
            Err(error) => return refuse(stream, "400 Bad Request", &error.to_string()),
        };
        match self.send(&head, body) {
            Ok(answer) => pass_on(answer, stream),
            Err(reason) => {
                let reason = format!("orange: cannot reach {}: {reason}", self.login.service);
                refuse(stream, "502 Bad Gateway", &reason)
            }
        }
    }

    /// Whether the request may have the login.
    fn permit(&self, head: &Head) -> Result<(), &'static str> {
        let (path, _) = head.target.split_once('?').unwrap_or((&head.target, ""));
        let lower = path.to_ascii_lowercase();
        let is_plain = !["..", "//", "\\", "%2e", "%2f", "%5c"]
            .iter()
            .any(|it| lower.contains(it));
        let mut allowed = self.login.paths.iter();
        if !is_plain || !allowed.any(|it| path.starts_with(it.as_str())) {
            return Err("orange: the login is not for this path");
        }
        let mut values = head.headers.iter().map(|(_, value)| value);
        if !values.any(|value| self.is_placeholder(value)) {
            return Err("orange: the request does not have the login of this sandbox");
        }
        Ok(())
    }

    /// Whether a header's value is what the agent has as its login.
    fn is_placeholder(&self, value: &[u8]) -> bool {
        let value = value.strip_prefix(b"Bearer ").unwrap_or(value);
        Secret::of(self.login.placeholder.clone()).is(value)
    }

    fn send(&self, head: &Head, body: Vec<u8>) -> Result<Response<Body>, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let service = self.login.service.trim_end_matches('/');
        let address = format!("{service}{}", head.target);
        let uri: Uri = address.parse().map_err(|_| "the address is malformed")?;
        let method: Method = head.method.parse().map_err(|_| "the method is unknown")?;
        let proxy = match uri.host() {
            Some(host) if uri.scheme_str() == Some("https") => {
                let proxy = self.proxies.proxy_for(host);
                proxy.map_err(|trouble| text(&trouble))?
            }
            _ => None,
        };
        let mut built = Request::builder().method(method).uri(uri);
        for (name, value) in &head.headers {
            let is_own = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
            let is_login = name.eq_ignore_ascii_case(&self.login.header);
            if !is_own && !is_login && !self.is_placeholder(value) {
                built = built.header(name, value.as_slice());
            }
        }
        let mut login = self.login.prefix.clone().into_bytes();
        login.extend_from_slice(self.secret.as_encoded_bytes());
        let built = built.header(&self.login.header, login);
        // The answer is passed on as it is.
        let built = built.header("accept-encoding", "identity");
        let built = built.body(body).map_err(|_| "a header is malformed")?;
        let configured = self.agent.configure_request(built).proxy(proxy);
        let configured = configured.allow_non_standard_methods(true).build();
        self.agent.run(configured).map_err(|error| text(&error))
    }
}

/// Passes an answer on while it arrives.
fn pass_on(answer: Response<Body>, mut stream: &UnixStream) -> io::Result<()> {
    let (parts, body) = answer.into_parts();
    let mut head = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in &parts.headers {
        if OWN_HEADERS.contains(&name.as_str()) {
            continue;
        }
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"connection: close\r\n\r\n");
    stream.write_all(&head)?;
    let mut body = body.into_reader();
    let mut piece = vec![0; PIECE];
    loop {
        let count = match body.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        stream.write_all(&piece[..count])?;
    }
}
