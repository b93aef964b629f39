//! Headers, redirects, pages, tokens, limits and waits.

use std::fs;

use orange_config::Environment;
use serde_json::Value;
use ureq::http::Method;

use super::server::{Reply, Server, answer, answer_with};
use super::{StillClock, client, repository, token_source};
use crate::forge::client::{Client, Conditional, encode};
use crate::forge::error::Trouble;
use crate::forge::github::Repository;
use crate::forge::host::ApiBase;
use crate::forge::http::{Http, HttpRequest, Kept};
use crate::forge::redact::Redactor;
use crate::forge::token::TokenSource;
use std::time::Duration;

#[test]
fn every_request_pins_the_version_and_keeps_the_connection() {
    let server = Server::start(|_| answer(200, "{}"));
    let mut client = client(&server);
    for _ in 0..3 {
        client.fetch::<Value>("/user").unwrap();
    }
    let received = server.received();
    for request in &received {
        assert_eq!(request.header("x-github-api-version"), Some("2022-11-28"));
        assert_eq!(
            request.header("accept"),
            Some("application/vnd.github+json")
        );
        assert_eq!(request.header("authorization"), Some("Bearer the-token"));
        assert!(request.header("user-agent").unwrap().starts_with("orange/"));
        assert_eq!(request.connection, 0);
    }
    assert_eq!(received.len(), 3);
}

#[test]
fn lesson_91_a_renamed_repository_is_followed_on_the_same_host_and_reported() {
    let server = Server::start(|request| match request.target.as_str() {
        "/repos/ada/engine" => answer_with(301, &[("location", "/repositories/7")], "{}"),
        _ => answer(
            200,
            "{\"id\":7,\"full_name\":\"ada/new\",\"default_branch\":\"trunk\"}",
        ),
    });
    let mut client = client(&server);
    let found = client.fetch::<Value>("/repos/ada/engine").unwrap();
    let there = format!("{}/repositories/7", server.address());
    assert_eq!(found.moved_to, Some(there));
    let facts = Repository::new(&mut client, &repository()).fetch_repository();
    let facts = facts.unwrap();
    assert_eq!(facts.full_name, "ada/new");
    assert_eq!(facts.default_branch.as_str(), "trunk");
}

#[test]
fn the_token_goes_to_no_other_host() {
    let other = Server::start(|_| answer(200, "[]"));
    let there = format!("{}/x", other.address());
    for status in [301, 302, 307, 308] {
        let there = there.clone();
        let server = Server::start(move |_| answer_with(status, &[("location", &there)], "{}"));
        let mut client = client(&server);
        let error = client.fetch::<Value>("/x").unwrap_err();
        assert!(matches!(error.trouble, Trouble::Moved { .. }), "{error}");
    }
    // A link to a next page on another host is not followed either.
    let link = format!("<{there}>; rel=\"next\"");
    let server = Server::start(move |_| answer_with(200, &[("link", &link)], "[]"));
    let error = client(&server).fetch_pages::<Value>("/x", None, 9);
    assert!(matches!(error.unwrap_err().trouble, Trouble::Moved { .. }));
    assert_eq!(other.received().len(), 0);
}

#[test]
fn a_redirect_that_never_ends_is_given_up() {
    let server = Server::start(|_| answer_with(301, &[("location", "/x")], "{}"));
    let error = client(&server).fetch::<Value>("/x").unwrap_err();
    assert!(matches!(error.trouble, Trouble::Malformed { .. }));
    assert_eq!(server.received().len(), 3);
}

#[test]
fn a_log_is_read_from_another_host_without_the_token() {
    let logs = Server::start(|_| {
        let mut text = "x\n".repeat(300_000);
        text.push_str("the end");
        answer(200, &text)
    });
    let there = format!("{}/log", logs.address());
    let server = Server::start(move |_| answer_with(302, &[("location", &there)], ""));
    let mut client = client(&server);
    let log = Repository::new(&mut client, &repository())
        .fetch_job_log(5)
        .unwrap();
    assert!(log.is_cut && log.text.ends_with("the end"));
    assert!(log.text.len() < 400 * 1024, "{}", log.text.len());
    assert_eq!(logs.received()[0].header("authorization"), None);
    assert_eq!(
        server.received()[0].target,
        "/repos/ada/engine/actions/jobs/5/logs"
    );
}

/// A list of three pages.
fn pages() -> Server {
    Server::start(|request| {
        let page = match request.target.rsplit_once("page=") {
            Some((_, page)) => page.parse().unwrap_or(1),
            None => 1,
        };
        let host = request.header("host").unwrap();
        let next = format!("<http://{host}/list?page={}>; rel=\"next\"", page + 1);
        let body = format!("[{page}]");
        if page < 3 {
            answer_with(200, &[("link", &next), ("etag", "\"e\"")], &body)
        } else {
            answer_with(200, &[("etag", "\"e\"")], &body)
        }
    })
}

#[test]
fn lesson_56_a_list_is_read_to_its_end_or_reported_as_incomplete() {
    let server = pages();
    let Conditional::Changed(all) = client(&server)
        .fetch_pages::<Vec<u8>>("/list", None, 100)
        .unwrap()
    else {
        panic!("it has changed");
    };
    assert_eq!(all.pages.concat(), [1, 2, 3]);
    assert!(all.is_complete);
    // The first page may stay the same while a later one changes.
    assert_eq!(all.etag, None);
    let Conditional::Changed(part) = client(&server)
        .fetch_pages::<Vec<u8>>("/list", None, 2)
        .unwrap()
    else {
        panic!("it has changed");
    };
    assert_eq!(part.pages.concat(), [1, 2]);
    assert!(!part.is_complete);
}

#[test]
fn lesson_50_only_etags_ask_whether_something_changed() {
    let server = Server::start(|request| match request.header("if-none-match") {
        Some("\"e1\"") => answer(304, ""),
        _ => answer_with(200, &[("etag", "\"e1\"")], "[]"),
    });
    let mut client = client(&server);
    let mut repository = Repository::new(&mut client, &repository());
    let Conditional::Changed(first) = repository.fetch_issues(None, None, 1).unwrap() else {
        panic!("it has changed");
    };
    assert_eq!(first.etag.as_deref(), Some("\"e1\""));
    let again = repository
        .fetch_issues(None, first.etag.as_deref(), 1)
        .unwrap();
    assert_eq!(again, Conditional::Unchanged);
    let received = server.received();
    assert!(
        received
            .iter()
            .all(|it| it.header("if-modified-since").is_none())
    );
    assert_eq!(received[0].target, received[1].target);
}

/// A client that reads its token from a file.
pub fn client_with_file(server: &Server, file: &std::path::Path) -> Client {
    let source = TokenSource {
        command: Some(vec![String::from("cat"), file.display().to_string()]),
        environment: Environment::of([("PATH", "/usr/bin:/bin")]),
        ..token_source()
    };
    let base = ApiBase::loopback(&server.address()).unwrap();
    Client::new(source, base, StillClock::default().clock())
}

#[test]
fn a_rejected_token_is_read_again_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "old").unwrap();
    let server = Server::start(|request| match request.header("authorization") {
        Some("Bearer new") => answer(200, "{}"),
        _ => answer(401, "{\"message\":\"Bad credentials\"}"),
    });
    let mut client = client_with_file(&server, &file);
    let error = client.fetch::<Value>("/user").unwrap_err();
    assert!(matches!(error.trouble, Trouble::Unauthorised { .. }));
    assert!(
        error
            .to_string()
            .contains("run `gh auth login --hostname forge.test`")
    );
    // The same token is not tried twice.
    assert_eq!(server.received().len(), 1);
    fs::write(&file, "new").unwrap();
    // A write is not sent again, but the next one has the new token.
    let write = |client: &mut Client| client.write::<Value>(Method::POST, "/x", &1);
    assert!(write(&mut client).is_err());
    assert_eq!(server.received().len(), 2);
    write(&mut client).unwrap();
    fs::write(&file, "old").unwrap();
    let mut client = client_with_file(&server, &file);
    client.token().unwrap();
    fs::write(&file, "new").unwrap();
    client.fetch::<Value>("/user").unwrap();
    assert_eq!(server.received().len(), 5);
}

#[test]
fn writes_are_a_second_apart() {
    let server = Server::start(|_| answer(201, "{}"));
    let time = StillClock::default();
    let base = ApiBase::loopback(&server.address()).unwrap();
    let mut client = Client::new(token_source(), base, time.clock());
    for _ in 0..3 {
        client.write::<Value>(Method::POST, "/x", &1).unwrap();
        client.fetch::<Value>("/x").unwrap();
    }
    assert_eq!(time.waits(), [Duration::from_secs(1); 2]);
}

#[test]
fn quota_and_announcements_are_remembered() {
    let server = Server::start(|_| {
        let headers = [
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "4987"),
            ("x-ratelimit-reset", "1700"),
            ("x-ratelimit-resource", "core"),
            ("deprecation", "Mon, 01 Jun 2026 00:00:00 GMT"),
            ("sunset", "Tue, 01 Dec 2026 00:00:00 GMT"),
        ];
        answer_with(200, &headers, "{}")
    });
    let mut client = client(&server);
    client.fetch::<Value>("/user?x=1").unwrap();
    client.fetch::<Value>("/user?x=2").unwrap();
    assert_eq!(client.quotas()["core"].remaining, 4987);
    assert_eq!(client.quotas()["core"].resets.millis(), 1_700_000);
    let notices = client.take_notices();
    assert_eq!(notices.len(), 1);
    assert!(
        notices
            .first()
            .unwrap()
            .starts_with("GET /user: deprecation: Mon, 01 Jun")
    );
    assert!(client.take_notices().is_empty());
}

#[test]
fn an_answer_is_bounded_and_in_time() {
    let large = Server::start(|_| answer(200, &" ".repeat(17 * 1024 * 1024)));
    let error = client(&large).fetch::<Value>("/x").unwrap_err();
    assert!(
        matches!(error.trouble, Trouble::Malformed { .. }),
        "{error}"
    );

    let silent = Server::start(|_| Reply::Stall);
    let base = ApiBase::loopback(&silent.address()).unwrap();
    let clock = StillClock::default().clock();
    let timeout = Duration::from_millis(200);
    let mut client = Client::with_timeout(token_source(), base, clock, timeout);
    let error = client.fetch::<Value>("/x").unwrap_err();
    assert!(matches!(error.trouble, Trouble::TimedOut { .. }), "{error}");
    assert!(error.may_have_taken_effect() && error.is_temporary());
}

#[test]
fn plain_http_to_another_machine_is_not_even_tried() {
    let http = Http::new(&Environment::of([("PATH", "/bin")]), Duration::from_secs(5));
    for address in [
        "http://10.0.0.1/x",
        "http://localhost:1/x",
        "ftp://127.0.0.1/x",
    ] {
        let request = HttpRequest {
            method: Method::GET,
            address: address.to_owned(),
            headers: Vec::new(),
            body: None,
            kept: Kept::AtMost(10),
        };
        let trouble = http.send(request).unwrap_err();
        assert!(
            matches!(trouble, Trouble::Malformed { .. }),
            "{address}: {trouble}"
        );
    }
}

#[test]
fn a_host_that_is_not_there_is_unreachable() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let base = ApiBase::loopback(&address).unwrap();
    let mut client = Client::new(token_source(), base, StillClock::default().clock());
    let error = client.write::<Value>(Method::POST, "/x", &1).unwrap_err();
    assert!(
        matches!(error.trouble, Trouble::Unreachable { .. }),
        "{error}"
    );
    assert!(!error.may_have_taken_effect() && error.is_temporary());
}

#[test]
fn lesson_97_no_error_shows_the_token() {
    let server = Server::start(|_| answer(403, "{\"message\":\"no\"}"));
    let mut client = client(&server);
    let error = client.fetch::<Value>("/x?secret=1").unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        !shown.contains("the-token") && !shown.contains("secret"),
        "{shown}"
    );
    let token = client.token().unwrap();
    let body = Redactor::new(Some(token), []).body("it is the-token!");
    assert_eq!(body.as_str(), "it is [redacted]!");
}

#[test]
fn no_name_leaves_its_place_in_an_address() {
    assert_eq!(encode("feat/a b"), "feat%2Fa%20b");
    assert_eq!(encode("a?b#c&d"), "a%3Fb%23c%26d");
    assert_eq!(encode(".."), "%2E%2E");
    assert_eq!(encode("é"), "%C3%A9");
}
