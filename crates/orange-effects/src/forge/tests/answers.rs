//! Answers that say less, or something else, than they seem to.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use orange_config::Environment;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::names::BranchName;
use serde_json::Value;
use ureq::http::Method;

use super::client::client_with_file;
use super::server::{Server, answer, answer_with};
use super::{client, repository};
use crate::forge::client::Conditional;
use crate::forge::error::Trouble;
use crate::forge::github::Repository;
use crate::forge::http::{Http, HttpRequest, Kept};
use crate::forge::redact::Redactor;

/// Whether a list is complete, and how many pages it has, when its first page has these links.
fn list(links: &'static [&'static str]) -> (bool, usize) {
    let server = Server::start(move |request| {
        let host = request.header("host").unwrap();
        let links: Vec<String> = links.iter().map(|it| it.replace("HOST", host)).collect();
        let headers: Vec<(&'static str, &str)> =
            links.iter().map(|it| ("link", it.as_str())).collect();
        let is_first = request.target == "/list";
        answer_with(200, if is_first { &headers } else { &[] }, "[1]")
    });
    let found = client(&server).fetch_pages::<Vec<u8>>("/list", None, 9);
    let Conditional::Changed(found) = found.unwrap() else {
        panic!("it has changed");
    };
    (found.is_complete, found.pages.len())
}

#[test]
fn lesson_56_links_that_cannot_be_read_make_a_list_incomplete() {
    assert_eq!(list(&[]), (true, 1));
    assert_eq!(
        list(&["<http://HOST/list?page=2>; rel=\"next\""]),
        (true, 2)
    );
    assert_eq!(
        list(&["<http://HOST/list?page=9>; rel=\"last\""]),
        (true, 1)
    );
    for broken in [
        &["<http://HOST/list?page=2; rel=\"next\""][..],
        &["http://HOST/list?page=2; rel=\"next\""],
        &["<http://HOST/list?page=2>; rel=\"n\u{e9}xt\""],
        &["<http://HOST/list?page=9>; rel=\"last\"", "\u{e9}"],
        &["<http://HOST/list?page=9>; rel=\"last\", broken"],
        &[
            "<http://HOST/list?page=2>; rel=\"next\"",
            "<http://HOST/list?page=3>; rel=\"next\"",
        ],
    ] {
        assert_eq!(list(broken), (false, 1), "{broken:?}");
    }
}

#[test]
fn lesson_56_the_next_page_is_found_in_a_second_header() {
    let both = &[
        "<http://HOST/style.css>; rel=preload",
        "<http://HOST/list?page=2>; rel=\"next\"",
    ];
    assert_eq!(list(both), (true, 2));
}

#[test]
fn lesson_49_unchanged_answers_only_a_question_about_changes() {
    let server = Server::start(|_| answer(304, ""));
    let mut client = client(&server);
    let mut repository = Repository::new(&mut client, &repository());
    let error = repository.fetch_comments(1).unwrap_err();
    assert!(
        matches!(error.trouble, Trouble::Malformed { .. }),
        "{error}"
    );
    let unchanged = repository.fetch_issues(None, Some("\"e\""), 1).unwrap();
    assert_eq!(unchanged, Conditional::Unchanged);
}

#[test]
fn lesson_49_a_second_page_that_is_unchanged_is_no_answer() {
    let server = Server::start(|request| {
        let host = request.header("host").unwrap();
        let next = format!("<http://{host}/list?page=2>; rel=\"next\"");
        if request.target == "/list" {
            answer_with(200, &[("link", &next)], "[1]")
        } else {
            answer(304, "")
        }
    });
    let error = client(&server).fetch_pages::<Vec<u8>>("/list", Some("\"e\""), 9);
    assert!(matches!(
        error.unwrap_err().trouble,
        Trouble::Malformed { .. }
    ));
}

#[test]
fn the_address_of_a_move_shows_no_secret() {
    let to = "https://ada:secret-1@other.example/repos/x?token=secret-2#secret-3";
    let server = Server::start(move |_| answer_with(301, &[("location", to)], "{}"));
    let read = client(&server).fetch::<Value>("/x").unwrap_err();
    let written = client(&server).write::<Value>(Method::POST, "/x", &1);
    for error in [read, written.unwrap_err()] {
        assert!(matches!(error.trouble, Trouble::Moved { .. }), "{error}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("https://other.example"), "{shown}");
    }
    let server = Server::start(|request| match request.target.as_str() {
        "/x" => answer_with(301, &[("location", "/y?token=secret")], "{}"),
        _ => answer(200, "{}"),
    });
    let moved = client(&server).fetch::<Value>("/x").unwrap().moved_to;
    assert_eq!(moved, Some(format!("{}/y", server.address())));
}

#[test]
fn the_storage_of_logs_does_not_speak_for_the_forge() {
    for status in [302, 304, 401, 403, 404, 410, 429, 500] {
        let logs = Server::start(move |_| answer(status, "<Error/>"));
        let there = format!("{}/log", logs.address());
        let server = Server::start(move |_| answer_with(302, &[("location", &there)], ""));
        let mut client = client(&server);
        let error = Repository::new(&mut client, &repository()).fetch_job_log(5);
        let error = error.unwrap_err();
        let is_expected = matches!(error.trouble, Trouble::ServerTrouble { .. });
        assert!(is_expected, "{status}: {error}");
    }
}

#[test]
fn a_token_that_cannot_be_read_again_does_not_hide_its_rejection() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "old").unwrap();
    let server = Server::start(|_| answer(401, "{\"message\":\"Bad credentials\"}"));
    let mut client = client_with_file(&server, &file);
    client.token().unwrap();
    fs::remove_file(&file).unwrap();
    let error = client.fetch::<Value>("/user").unwrap_err();
    let is_expected = matches!(error.trouble, Trouble::Unauthorised { .. });
    assert!(is_expected, "{error}");
}

#[test]
fn an_address_with_a_user_or_half_a_port_is_not_even_tried() {
    let server = Server::start(|_| answer(200, "{}"));
    let address = server.address();
    let port = address.rsplit(':').next().unwrap();
    let http = Http::new(&Environment::of([("PATH", "/bin")]), Duration::from_secs(5));
    let send = |address: &str| {
        http.send(HttpRequest {
            method: Method::GET,
            address: address.to_owned(),
            headers: Vec::new(),
            body: None,
            kept: Kept::AtMost(10),
        })
    };
    send(&format!("{address}/x")).unwrap();
    for address in [
        format!("http://ada@127.0.0.1:{port}/x"),
        format!("http://ada:secret@127.0.0.1:{port}/x"),
        format!("http://@127.0.0.1:{port}/x"),
        String::from("http://127.0.0.1:/x"),
        String::from("http://127.0.0.1:0/x"),
        String::from("http://[::1]:/x"),
        String::from("https://ada@127.0.0.1:1/x"),
        String::from("https://localhost:/x"),
        String::from("https:///x"),
    ] {
        let trouble = send(&address).unwrap_err();
        let is_expected = matches!(trouble, Trouble::Malformed { .. });
        assert!(is_expected, "{address}: {trouble}");
        assert!(!trouble.to_string().contains("secret"), "{trouble}");
    }
    assert_eq!(server.received().len(), 1);
}

/// Whether making a label succeeds when the forge answers like this.
fn label(status: u16, body: &'static str) -> bool {
    let server = Server::start(move |_| answer(status, body));
    let mut client = client(&server);
    let text = Redactor::default().title("x");
    let mut repository = Repository::new(&mut client, &repository());
    repository.ensure_label(&text, "ffa500", &text).is_ok()
}

#[test]
fn what_is_there_already_is_known_by_its_code() {
    let coded = r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}]}"#;
    assert!(label(422, coded));
    let custom = r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for ada:x."}]}"#;
    assert!(label(422, custom));
    assert!(label(409, r#"{"message":"Label already exists"}"#));
    for other in [
        r#"{"message":"The name `already exists` is invalid","errors":[{"resource":"Label","code":"invalid","field":"name"}]}"#,
        r#"{"message":"m","errors":[{"code":"invalid","message":"`it already exists` is no name"}]}"#,
        r#"{"message":"m"}"#,
    ] {
        assert!(!label(422, other), "{other}");
    }
    // An empty repository, or another write at the same time, is a conflict too.
    assert!(!label(409, r#"{"message":"Git Repository is empty."}"#));
}

#[test]
fn what_a_repository_does_not_say_about_itself_is_unknown() {
    let facts = |body: &'static str| {
        let server = Server::start(move |_| answer(200, body));
        let mut client = client(&server);
        let facts = Repository::new(&mut client, &repository()).fetch_repository();
        facts.unwrap()
    };
    let silent = facts(r#"{"id":7,"full_name":"ada/x","default_branch":"main"}"#);
    let unknown = (Knowledge::Unknown, Knowledge::Unknown);
    assert_eq!((silent.is_archived, silent.has_issues), unknown);
    let spoken = facts(
        r#"{"id":7,"full_name":"ada/x","default_branch":"main","archived":true,"has_issues":false}"#,
    );
    let known = (Knowledge::Known(true), Knowledge::Known(false));
    assert_eq!((spoken.is_archived, spoken.has_issues), known);
}

/// What `main` requires, when GitHub answers like this about its protection and its rulesets.
fn required(
    protection: (u16, &'static str),
    rules: (u16, &'static str),
) -> Knowledge<BTreeSet<String>> {
    let server = Server::start(move |request| {
        let is_protection = request.target.contains("/protection/");
        let (status, body) = if is_protection { protection } else { rules };
        answer(status, body)
    });
    let mut client = client(&server);
    let mut repository = Repository::new(&mut client, &repository());
    let branch = BranchName::new("main");
    repository.fetch_required_checks(&branch).unwrap()
}

#[test]
fn rulesets_require_checks_too() {
    let known = |names: &[&str]| {
        let names = names.iter().map(|it| (*it).to_owned());
        Knowledge::Known(names.collect::<BTreeSet<String>>())
    };
    let hidden = (404, "{\"message\":\"Not Found\"}");
    let protection = (200, r#"{"contexts":["a"],"checks":[{"context":"b"}]}"#);
    let rules = (
        200,
        r#"[{"type":"deletion"},{"type":"pull_request","parameters":{"required_approving_review_count":1}},
            {"type":"required_status_checks","parameters":{"required_status_checks":[{"context":"c"}],
            "strict_required_status_checks_policy":false}}]"#,
    );
    assert_eq!(required(protection, (200, "[]")), known(&["a", "b"]));
    assert_eq!(required(protection, rules), known(&["a", "b", "c"]));
    assert_eq!(required((200, "{}"), (200, "[]")), Knowledge::None);
    assert_eq!(required((200, "{}"), rules), known(&["c"]));
    // Of two sources, one alone does not tell everything that is required.
    assert_eq!(required(hidden, rules), Knowledge::Unknown);
    assert_eq!(required(protection, hidden), Knowledge::Unknown);
}
