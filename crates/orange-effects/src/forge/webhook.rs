//! Posts a redacted message to the user's address, at most once.

use std::time::Duration;

use orange_config::Environment;
use ureq::http::Method;

use super::error::Trouble;
use super::http::{Http, HttpRequest, Kept};
use super::redact::Outbound;

/// How long the whole exchange may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An answer with more bytes is an error. Its content is not used.
const LARGEST_ANSWER: usize = 64 * 1024;

/// Why it is not certain that a message arrived. The address is not shown: it is often a secret.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("{0}")]
    NotSent(Trouble),
    #[error("the answer was {status}, not a success; check the address in `notify.webhook`")]
    Refused { status: u16 },
}

/// What is posted.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    Json(&'a Outbound),
    /// A text and what a tap on it opens, for ntfy.
    Text {
        text: &'a Outbound,
        link: Option<&'a str>,
    },
}

impl Message<'_> {
    fn body(&self) -> Vec<u8> {
        let (Message::Json(body) | Message::Text { text: body, .. }) = self;
        body.as_str().as_bytes().to_vec()
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        match self {
            Message::Json(_) => vec![("content-type", String::from("application/json"))],
            Message::Text { link, .. } => {
                let plain = ("content-type", String::from("text/plain; charset=utf-8"));
                let title = ("title", String::from("orange"));
                let click = link.map(|link| ("click", link.to_owned()));
                [plain, title].into_iter().chain(click).collect()
            }
        }
    }
}

/// Posts a message; only an answer with a success proves that it arrived. A redirect is not
/// followed.
pub fn post(
    environment: &Environment,
    address: &str,
    message: Message<'_>,
) -> Result<(), WebhookError> {
    post_within(TIMEOUT, environment, address, message)
}

fn post_within(
    timeout: Duration,
    environment: &Environment,
    address: &str,
    message: Message<'_>,
) -> Result<(), WebhookError> {
    let request = HttpRequest {
        method: Method::POST,
        address: address.to_owned(),
        headers: message.headers(),
        body: Some(message.body()),
        kept: Kept::Tail {
            kept: 0,
            read: LARGEST_ANSWER,
        },
    };
    let sent = Http::new(environment, timeout).send(request);
    let status = sent.map_err(WebhookError::NotSent)?.status;
    match status {
        200..=299 => Ok(()),
        _ => Err(WebhookError::Refused { status }),
    }
}

#[cfg(test)]
mod tests {
    use orange_config::clock;
    use serde_json::{Value, json};

    use super::super::redact::Redactor;
    use super::super::tests::server::{Reply, Server, answer, answer_with};
    use super::*;

    fn environment() -> Environment {
        Environment::of([("PATH", "/bin"), ("HTTPS_PROXY", "http://127.0.0.1:1")])
    }

    fn outbound(value: &Value) -> Outbound {
        Redactor::default().json(value)
    }

    fn send(server: &Server) -> Result<(), String> {
        let address = format!("{}/secret-path", server.address());
        let timeout = Duration::from_millis(500);
        let json = outbound(&json!({ "a": "\u{e9}" }));
        let sent = post_within(timeout, &environment(), &address, Message::Json(&json));
        sent.map_err(|error| {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret"), "{shown}");
            error.to_string()
        })
    }

    #[test]
    fn json_is_posted_as_it_is() {
        let server = Server::start(|_| answer(204, ""));
        send(&server).unwrap();
        let received = server.received();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].method, "POST");
        assert_eq!(received[0].target, "/secret-path");
        assert_eq!(received[0].body, "{\"a\":\"\u{e9}\"}");
        assert_eq!(received[0].header("content-type"), Some("application/json"));
        assert_eq!(received[0].header("authorization"), None);
    }

    #[test]
    fn a_text_has_its_link_in_a_header() {
        let server = Server::start(|_| answer(200, ""));
        let text = Redactor::default().body("k3f9 (review): r\u{e9}ady\nclick: no header");
        for link in [Some("https://orange.example/#/task/k3f9"), None] {
            let message = Message::Text { text: &text, link };
            post(&environment(), &server.address(), message).unwrap();
            let received = server.received().pop().unwrap();
            assert_eq!(received.body, "k3f9 (review): r\u{e9}ady\nclick: no header");
            assert_eq!(received.header("title"), Some("orange"));
            assert_eq!(received.header("click"), link);
        }
    }

    #[test]
    fn only_a_success_proves_that_it_arrived_and_nothing_is_sent_twice() {
        let elsewhere = Server::start(|_| answer(200, ""));
        let there = format!("{}/secret", elsewhere.address());
        let replies: [Box<dyn Fn() -> Reply + Send + Sync>; 6] = [
            Box::new(move || answer_with(307, &[("location", &there)], "")),
            Box::new(|| answer(404, "secret")),
            Box::new(|| answer(500, "secret")),
            Box::new(|| Reply::Cut),
            Box::new(|| Reply::CutInside),
            Box::new(|| answer(200, &"x".repeat(200_000))),
        ];
        for reply in replies {
            let server = Server::start(move |_| reply());
            send(&server).unwrap_err();
            assert_eq!(server.received().len(), 1);
        }
        assert_eq!(elsewhere.received().len(), 0);
    }

    #[test]
    fn a_server_that_never_answers_is_left_in_time() {
        let server = Server::start(|_| Reply::Stall);
        let start = clock::now();
        assert!(send(&server).unwrap_err().contains("no answer within"));
        assert!(clock::now().seconds_since(start) < 5);
    }

    #[test]
    fn a_secret_address_is_not_sent_in_plain_text_to_another_machine() {
        for address in [
            "http://example.org/secret",
            "http://192.0.2.1/secret",
            "https://ada:secret@example.org/x",
            "secret",
            "",
        ] {
            let json = outbound(&json!({}));
            let error = post(&environment(), address, Message::Json(&json)).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }
}
