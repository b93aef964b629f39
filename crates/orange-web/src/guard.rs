//! Decides which requests may be looked at, before anything reads their path.
//!
//! A page of another origin, or a name that was made to lead here, must not reach this server,
//! whatever it knows: the host and the origin are compared with lists of exact values. A request
//! that passes needs a token nevertheless.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, StatusCode, Version};

use crate::answer::Refusal;
use crate::public_url::PublicUrl;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The hosts and origins of this server.
#[derive(Clone, Debug)]
pub struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub fn new(port: u16, public_url: Option<&PublicUrl>) -> Self {
        let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let own_origins = own.iter().map(|host| format!("http://{host}"));
        let origins = own_origins
            .chain(public_url.map(PublicUrl::origin))
            .collect();
        let public_host = public_url.map(|url| url.host().to_owned());
        Self {
            hosts: own.into_iter().chain(public_host).collect(),
            origins,
        }
    }

    /// Refuses a request that is for another server, or that a page of another origin makes. The
    /// answers say nothing about this server.
    pub fn check(&self, request: &Parts) -> Result<(), Refusal> {
        let is_ours = |host: &str| self.hosts.iter().any(|it| it == host);
        let is_direct = request.uri.authority().is_none() && request.version == Version::HTTP_11;
        if !is_direct || !only(&request.headers, &HOST).is_some_and(is_ours) {
            return Err(Refusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "host-unknown",
                "this request is for another server",
            ));
        }
        let is_allowed = |origin: &str| self.origins.iter().any(|it| it == origin);
        // Programs send neither, and not every browser sends both in every case.
        let is_own_page = !request.headers.contains_key(ORIGIN)
            || only(&request.headers, &ORIGIN).is_some_and(is_allowed);
        let is_own_site = !request.headers.contains_key(SEC_FETCH_SITE)
            || matches!(
                only(&request.headers, &SEC_FETCH_SITE),
                Some("same-origin" | "none")
            );
        if !is_own_page || !is_own_site {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "origin-unknown",
                "pages of other origins may not use this server",
            ));
        }
        Ok(())
    }
}

/// Refuses a body that is not JSON. A form or a plain text is what a page of another origin can
/// send without being asked; so everything that changes something has a body in JSON.
pub fn check_content_type(request: &Parts) -> Result<(), Refusal> {
    if request.method == Method::GET || request.method == Method::HEAD {
        return Ok(());
    }
    match only(&request.headers, &CONTENT_TYPE) {
        Some("application/json" | "application/json; charset=utf-8") => Ok(()),
        _ => Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media-type-unsupported",
            "send a body in JSON, with `Content-Type: application/json`",
        )),
    }
}

/// The token of a request.
pub fn token(headers: &HeaderMap) -> Option<&str> {
    let token = only(headers, &AUTHORIZATION)?.strip_prefix("Bearer ")?;
    let is_plain = token.bytes().all(|it| it.is_ascii_alphanumeric());
    (is_plain && (1..=128).contains(&token.len())).then_some(token)
}

/// The value of a header that occurs once.
pub fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn status(uri: &str, headers: &[(&str, &str)]) -> u16 {
        let guard = Guard::new(7171, Some(&"https://box.ts.net".parse().unwrap()));
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let refused = guard.check(&parts).err();
        refused.map_or(200, |refusal| refusal.status.as_u16())
    }

    #[test]
    fn only_exact_hosts_are_served() {
        for good in ["127.0.0.1:7171", "localhost:7171", "box.ts.net"] {
            assert_eq!(status("/", &[("host", good)]), 200, "{good}");
        }
        for bad in [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:7172",
            "localhost:7171.evil.example",
            "localhost.:7171",
            "LOCALHOST:7171",
            "0.0.0.0:7171",
            "[::1]:7171",
            "[::ffff:127.0.0.1]:7171",
            "2130706433:7171",
            "127.1:7171",
            "evil.example",
            "box.ts.net:443",
            "a.box.ts.net",
        ] {
            assert_eq!(status("/", &[("host", bad)]), 421, "{bad}");
        }
        let host = ("host", "localhost:7171");
        assert_eq!(status("/", &[]), 421);
        assert_eq!(status("/", &[host, host]), 421);
        assert_eq!(status("http://localhost:7171/", &[host]), 421);
    }

    #[test]
    fn only_exact_origins_are_served() {
        let host = ("host", "localhost:7171");
        for good in [
            "http://127.0.0.1:7171",
            "http://localhost:7171",
            "https://box.ts.net",
        ] {
            assert_eq!(status("/", &[host, ("origin", good)]), 200, "{good}");
        }
        for bad in [
            "null",
            "",
            "http://localhost:7172",
            "http://localhost",
            "https://localhost:7171",
            "http://localhost:7171.evil.example",
            "http://localhost:7171/",
            "http://box.ts.net",
            "https://evil.example",
        ] {
            assert_eq!(status("/", &[host, ("origin", bad)]), 403, "{bad}");
        }
        let own = ("origin", "http://localhost:7171");
        assert_eq!(status("/", &[host, own, own]), 403);
        for (site, expected) in [
            ("same-origin", 200),
            ("none", 200),
            ("same-site", 403),
            ("cross-site", 403),
            ("", 403),
        ] {
            assert_eq!(status("/", &[host, ("sec-fetch-site", site)]), expected);
        }
    }

    #[test]
    fn a_token_is_one_word_in_one_header() {
        let found = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            token(&headers).map(str::to_owned)
        };
        assert_eq!(found(&["Bearer abc1"]).as_deref(), Some("abc1"));
        let long = format!("Bearer {}", "a".repeat(129));
        for bad in [
            &[][..],
            &["Bearer "],
            &["bearer abc"],
            &["Basic abc"],
            &["Bearer a b"],
            &["Bearer a", "Bearer a"],
            &[&long],
        ] {
            assert_eq!(found(bad), None, "{bad:?}");
        }
    }
}
