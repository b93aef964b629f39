//! Sends requests to the forge, one at a time.
//!
//! Reads follow a redirect on the same host and the links to further pages. A write is sent once,
//! whatever the answer: only the caller can find out whether the write has taken effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::mem;
use std::time::Duration;

use orange_engine::forge::pace::Quota;
use orange_engine::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Method;

use super::classify::{classify, reset_time};
use super::error::{ForgeError, Trouble};
use super::host::{ApiBase, Host, public_part};
use super::http::{Http, HttpRequest, HttpResponse, Kept};
use super::link::{NextPage, next_page};
use super::pacing::{Clock, Pacer};
use super::token::{Token, TokenSource};

/// The API version that orange was written for; without it, the forge may change its answers.
const API_VERSION: &str = "2022-11-28";

/// How long a request may take. The forge itself gives up after ten seconds; the rest is for slow
/// networks.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of an answer in bytes.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// How many bytes of a log are read at most, and how many bytes of its end are kept.
const LARGEST_LOG: usize = 256 * 1024 * 1024;
const LOG_TAIL: usize = 256 * 1024;

/// How many requests one read may take, including those to which it is redirected.
const REDIRECTS: usize = 3;

/// How many different deprecation notices are remembered.
const MAX_NOTICES: usize = 20;

/// Talks to one host.
pub struct Client {
    http: Http,
    base: ApiBase,
    source: TokenSource,
    token: Option<Token>,
    pacer: Pacer,
    quotas: BTreeMap<String, Quota>,
    spent: BTreeMap<String, u64>,
    notices: BTreeSet<String>,
    skew: Option<i64>,
    scopes: Option<Vec<String>>,
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched<T> {
    pub value: T,
    /// The address that the forge redirected to: the repository was renamed or moved.
    pub moved_to: Option<String>,
}

/// The answer to a read that sent the `ETag` of what the caller already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conditional<T> {
    Unchanged,
    Changed(T),
}

/// The pages of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages<T> {
    pub pages: Vec<T>,
    /// Whether all pages were read. That an entry is not in an incomplete list proves nothing.
    pub is_complete: bool,
    /// The forge's `ETag` for this list. Only a list of one page has one: the first of several
    /// pages can stay the same while a later one changes.
    pub etag: Option<String>,
    pub moved_to: Option<String>,
}

/// The end of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTail {
    pub text: String,
    pub is_cut: bool,
}

/// One request to the forge.
pub(super) struct Call {
    pub method: Method,
    pub address: String,
    pub body: Option<Vec<u8>>,
    pub etag: Option<String>,
    pub is_write: bool,
}

impl Call {
    fn read(address: String) -> Call {
        Call {
            method: Method::GET,
            address,
            body: None,
            etag: None,
            is_write: false,
        }
    }

    /// The method and the path, for messages. The query is left out: it may hold what a message
    /// must not show.
    fn describe(&self) -> String {
        let path = self.address.split_once("://").map_or("", |it| it.1);
        let path = path.find('/').map_or("/", |at| &path[at..]);
        let path = path.split('?').next().unwrap_or_default();
        format!("{} {path}", self.method)
    }

    pub(super) fn error(&self, trouble: Trouble) -> ForgeError {
        ForgeError {
            request: self.describe(),
            trouble,
        }
    }
}

impl Client {
    pub fn new(source: TokenSource, base: ApiBase, clock: Clock) -> Client {
        Client::with_timeout(source, base, clock, ANSWER_TIMEOUT)
    }

    /// A client with this timeout for each request.
    pub fn with_timeout(
        source: TokenSource,
        base: ApiBase,
        clock: Clock,
        timeout: Duration,
    ) -> Client {
        Client {
            http: Http::new(&source.environment, timeout),
            base,
            source,
            token: None,
            pacer: Pacer::new(clock),
            quotas: BTreeMap::new(),
            spent: BTreeMap::new(),
            notices: BTreeSet::new(),
            skew: None,
            scopes: None,
        }
    }

    /// How many seconds the forge's clock is ahead of ours, according to its last answer.
    pub fn clock_skew(&self) -> Option<i64> {
        self.skew
    }

    /// What a classic token allows, according to the last answer; the forge says nothing about other
    /// kinds of tokens.
    pub fn scopes(&self) -> Option<&[String]> {
        self.scopes.as_deref()
    }

    pub fn host(&self) -> &Host {
        &self.source.host
    }

    /// The time by the client's clock.
    pub fn now(&mut self) -> Timestamp {
        self.pacer.clock.now()
    }

    pub(super) fn base(&self) -> &ApiBase {
        &self.base
    }

    /// The token; it is read when it is first needed.
    pub fn token(&mut self) -> Result<&Token, Trouble> {
        let token = match self.token.take() {
            Some(token) => token,
            None => self.source.read()?,
        };
        Ok(self.token.insert(token))
    }

    /// The quota of each kind, as the last answer of that kind stated it.
    pub fn quotas(&self) -> &BTreeMap<String, Quota> {
        &self.quotas
    }

    /// How many answers counted against the quota of each kind; an unchanged one is free.
    pub fn spent(&self) -> &BTreeMap<String, u64> {
        &self.spent
    }

    /// The forge's announcements that certain requests will stop working; each is returned once.
    pub fn take_notices(&mut self) -> BTreeSet<String> {
        mem::take(&mut self.notices)
    }

    /// Reads a value.
    pub fn fetch<T: DeserializeOwned>(&mut self, path: &str) -> Result<Fetched<T>, ForgeError> {
        let call = Call::read(format!("{}{path}", self.base.rest));
        let (call, response, moved_to) = self.send_read(call)?;
        let value = parse(&call, &response)?;
        Ok(Fetched { value, moved_to })
    }

    /// Reads at most `max_pages` pages of a list; returns `Unchanged` if the forge says that the
    /// list still has this `etag`.
    pub fn fetch_pages<T: DeserializeOwned>(
        &mut self,
        path: &str,
        etag: Option<&str>,
        max_pages: usize,
    ) -> Result<Conditional<Pages<T>>, ForgeError> {
        let mut call = Call::read(format!("{}{path}", self.base.rest));
        call.etag = etag.map(str::to_owned);
        let mut found = Pages {
            pages: Vec::new(),
            is_complete: false,
            etag: None,
            moved_to: None,
        };
        loop {
            let (sent, response, moved_to) = self.send_read(call)?;
            if response.status == 304 {
                return Ok(Conditional::Unchanged);
            }
            found.pages.push(parse(&sent, &response)?);
            found.moved_to = found.moved_to.or(moved_to);
            let next = match next_page(response.header_values("link")) {
                NextPage::At(next) if found.pages.len() < max_pages => next.to_owned(),
                NextPage::At(_) | NextPage::Unknown => return Ok(Conditional::Changed(found)),
                NextPage::None => {
                    found.is_complete = true;
                    let is_single = found.pages.len() == 1;
                    let etag = response.header("etag").filter(|_| is_single);
                    found.etag = etag.map(str::to_owned);
                    return Ok(Conditional::Changed(found));
                }
            };
            self.require_same_host(&sent, &next)?;
            call = Call::read(next);
        }
    }

    /// Reads the end of a log, which the forge keeps on another host. The token is not sent to that
    /// host.
    pub fn fetch_log(&mut self, path: &str) -> Result<LogTail, ForgeError> {
        let call = Call::read(format!("{}{path}", self.base.rest));
        let response = self.send_once(&call)?;
        let response = if matches!(response.status, 301 | 302 | 307 | 308) {
            let to = self.location(&call, &response)?;
            self.read_storage(&call, to)?
        } else {
            self.require_success(&call, response)?
        };
        Ok(LogTail {
            text: String::from_utf8_lossy(&response.body).into_owned(),
            is_cut: response.is_cut,
        })
    }

    /// Reads from the host that stores the forge's logs. A refusal by that host says nothing about
    /// the token or the job.
    fn read_storage(&mut self, call: &Call, address: String) -> Result<HttpResponse, ForgeError> {
        let request = HttpRequest {
            method: Method::GET,
            address,
            headers: Vec::new(),
            body: None,
            kept: Kept::Tail {
                kept: LOG_TAIL,
                read: LARGEST_LOG,
            },
        };
        self.pacer.wait(false);
        let started = self.pacer.clock.now();
        let sent = self.http.send(request);
        self.pacer.record(false, started);
        let response = sent.map_err(|trouble| call.error(trouble))?;
        if !matches!(response.status, 200..=299) {
            return Err(call.error(Trouble::ServerTrouble {
                status: response.status,
                message: String::from("from the storage of logs"),
            }));
        }
        Ok(response)
    }

    /// Sends a write once and reads the answer.
    pub fn write<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ForgeError> {
        let (call, response) = self.send_write(method, path, Some(body))?;
        parse(&call, &response)
    }

    /// Sends a write once and ignores the content of the answer.
    pub fn write_silent(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(), ForgeError> {
        self.send_write(method, path, body)?;
        Ok(())
    }

    fn send_write(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(Call, HttpResponse), ForgeError> {
        let mut call = Call {
            method,
            address: format!("{}{path}", self.base.rest),
            body: None,
            etag: None,
            is_write: true,
        };
        if let Some(body) = body {
            call.body = Some(encode_body(&call, body)?);
        }
        let response = self.send_once(&call)?;
        let response = self.require_success(&call, response)?;
        Ok((call, response))
    }

    /// Sends a read and follows redirects on the same host; returns the last request, its answer
    /// and, after a redirect, the new address.
    fn send_read(
        &mut self,
        mut call: Call,
    ) -> Result<(Call, HttpResponse, Option<String>), ForgeError> {
        let mut moved_to = None;
        for _ in 0..REDIRECTS {
            let response = self.send_once(&call)?;
            if !matches!(response.status, 301 | 302 | 307 | 308) {
                let response = self.require_success(&call, response)?;
                return Ok((call, response, moved_to));
            }
            let to = self.location(&call, &response)?;
            self.require_same_host(&call, &to)?;
            moved_to = Some(public_part(&to));
            call.address = to;
        }
        Err(call.error(Trouble::Malformed {
            reason: format!("it redirects more than {REDIRECTS} times"),
        }))
    }

    /// Sends a request with the token. If the forge rejects the token, the token is read again,
    /// since it may have been renewed. If it has changed and the request is not a write, the
    /// request is sent again.
    pub(super) fn send_once(&mut self, call: &Call) -> Result<HttpResponse, ForgeError> {
        let old = self.token().map_err(|trouble| call.error(trouble))?.clone();
        let response = self.send_with(call, &old)?;
        if response.status != 401 {
            return Ok(response);
        }
        self.token = None;
        // Without a new token, the caller gets the rejection.
        match self.token().cloned() {
            Ok(new) if new != old && !call.is_write => self.send_with(call, &new),
            Ok(_) | Err(_) => Ok(response),
        }
    }

    fn send_with(&mut self, call: &Call, token: &Token) -> Result<HttpResponse, ForgeError> {
        let mut headers = vec![
            ("accept", "application/vnd.github+json".to_owned()),
            ("x-github-api-version", API_VERSION.to_owned()),
            ("authorization", token.header()),
        ];
        if let Some(etag) = &call.etag {
            headers.push(("if-none-match", etag.clone()));
        }
        if call.body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let request = HttpRequest {
            method: call.method.clone(),
            address: call.address.clone(),
            headers,
            body: call.body.clone(),
            kept: Kept::AtMost(LARGEST_ANSWER),
        };
        self.pacer.wait(call.is_write);
        let started = self.pacer.clock.now();
        let sent = self.http.send(request);
        self.pacer.record(call.is_write, started);
        let response = sent.map_err(|trouble| call.error(trouble))?;
        self.note_headers(call, &response);
        Ok(response)
    }

    /// Remembers the quota and announcements that an answer states.
    fn note_headers(&mut self, call: &Call, response: &HttpResponse) {
        let number = |name: &str| response.header(name)?.trim().parse::<u64>().ok();
        let quota = (
            number("x-ratelimit-limit"),
            number("x-ratelimit-remaining"),
            reset_time(response),
        );
        if let (Some(limit), Some(remaining), Some(resets)) = quota {
            let kind = response.header("x-ratelimit-resource").unwrap_or("core");
            let quota = Quota {
                limit,
                remaining,
                resets,
            };
            self.quotas.insert(kind.to_owned(), quota);
            let is_free = response.status == 304;
            *self.spent.entry(kind.to_owned()).or_default() += u64::from(!is_free);
        }
        if let Some(theirs) = response.header("date").and_then(read_http_date) {
            let own = self.pacer.clock.now();
            self.skew = Some((theirs.millis() - own.millis()) / 1000);
        }
        let scopes = response.header("x-oauth-scopes").map(|text| {
            let names = text.split(',').map(str::trim);
            names.filter(|it| !it.is_empty()).map(str::to_owned)
        });
        self.scopes = scopes.map(Iterator::collect);
        let announced = ["deprecation", "sunset"].map(|name| (name, response.header(name)));
        let announced = announced.into_iter().filter_map(|(name, value)| {
            let value: String = value?.chars().take(100).collect();
            Some(format!("{name}: {value}"))
        });
        let announced: Vec<String> = announced.collect();
        if !announced.is_empty() && self.notices.len() < MAX_NOTICES {
            let notice = format!("{}: {}", call.describe(), announced.join(", "));
            self.notices.insert(notice);
        }
    }

    /// Returns the answer if it is a success. Status 304 (unchanged) is a success if the request
    /// had an `ETag`.
    pub(super) fn require_success(
        &mut self,
        call: &Call,
        response: HttpResponse,
    ) -> Result<HttpResponse, ForgeError> {
        let now = self.now();
        let is_unchanged = response.status == 304 && call.etag.is_some();
        if !is_unchanged {
            let sorted = classify(&response, self.host(), now);
            sorted.map_err(|trouble| call.error(trouble))?;
        }
        Ok(response)
    }

    /// Where a redirect leads; a target that is only a path is on the same host.
    fn location(&self, call: &Call, response: &HttpResponse) -> Result<String, ForgeError> {
        let Some(to) = response.header("location").filter(|it| !it.is_empty()) else {
            let reason = String::from("a redirect without a target");
            return Err(call.error(Trouble::Malformed { reason }));
        };
        if to.starts_with('/') && !to.starts_with("//") {
            return Ok(format!("{}{to}", origin(&self.base.rest)));
        }
        Ok(to.to_owned())
    }

    /// Refuses an address on another host, because the token must not be sent there.
    fn require_same_host(&self, call: &Call, address: &str) -> Result<(), ForgeError> {
        if origin(address) == origin(&self.base.rest) {
            return Ok(());
        }
        let to = public_part(origin(address));
        let to = to.chars().take(200).collect();
        Err(call.error(Trouble::Moved { to }))
    }
}

/// Reads a date such as `Tue, 17 Nov 2026 13:29:20 GMT`.
fn read_http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words.as_slice() else {
        return None;
    };
    let month = MONTHS.iter().position(|it| it == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day:0>2}T{time}Z")).ok()
}

/// The scheme and authority of an address.
fn origin(address: &str) -> &str {
    let Some(start) = address.find("://").map(|at| at + 3) else {
        return "";
    };
    let rest = &address[start..];
    let length = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    &address[..start + length]
}

pub(super) fn encode_body(call: &Call, body: &impl Serialize) -> Result<Vec<u8>, ForgeError> {
    serde_json::to_vec(body).map_err(|error| {
        call.error(Trouble::Malformed {
            reason: format!("the request cannot be written: {error}"),
        })
    })
}

pub(super) fn parse<T: DeserializeOwned>(
    call: &Call,
    response: &HttpResponse,
) -> Result<T, ForgeError> {
    serde_json::from_slice(&response.body).map_err(|error| {
        call.error(Trouble::Malformed {
            reason: error.to_string(),
        })
    })
}

/// Escapes a segment of a path or a value in a query, so that nothing in it can end it.
pub fn encode(part: &str) -> String {
    let mut encoded = String::new();
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _never_fails = write!(encoded, "%{byte:02X}");
        }
    }
    // A segment of dots alone would mean this directory or its parent.
    if encoded.trim_matches('.').is_empty() {
        encoded = encoded.replace('.', "%2E");
    }
    encoded
}

#[cfg(test)]
mod date_tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_is_read() {
        let read = read_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(read.to_string(), "1994-11-06T08:49:37.000Z");
        for bad in [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Now 1994 08:49:37 GMT",
        ] {
            assert_eq!(read_http_date(bad), None, "{bad}");
        }
    }
}
