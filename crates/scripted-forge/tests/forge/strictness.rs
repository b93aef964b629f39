//! Requests that GitHub's schemas do not allow fail the test.

use std::panic::{AssertUnwindSafe, catch_unwind};

use scripted_forge::Forge;
use serde_json::json;

use crate::client::{Client, raw};

fn stage() -> (Forge, Client) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    (forge, octo)
}

#[test]
fn each_kind_of_violation_is_found() {
    let (forge, octo) = stage();
    let number = forge.issue("octo/demo", "octo", "A", "");
    let comments = format!("/repos/octo/demo/issues/{number}/comments");
    let found = |what: &str| {
        let found = forge.take_violations();
        assert!(
            found.iter().any(|it| it.contains(what)),
            "{what}: {found:?}"
        );
    };
    octo.get("/repos/octo/demo/forks");
    found("no operation of ours");
    octo.get("/repos/octo/demo/pulls?sort=size");
    found("parameter `sort`");
    octo.get("/repos/octo/demo/pulls?color=red");
    found("does not know the parameter `color`");
    octo.get("/repos/octo/demo/pulls/one");
    found("parameter `pull_number`");
    octo.send("POST", &comments, &json!({ "text": "x" }));
    found("body");
    octo.send("POST", &comments, &json!({ "body": "x", "colour": "red" }));
    found("does not know the field `colour`");
    octo.send("POST", &comments, &json!({ "body": 5 }));
    found("request `issues/create-comment`");
    let address = forge.address().trim_start_matches("http://").to_owned();
    let token = format!("Bearer {}", forge.user("octo"));
    let all = [
        ("User-Agent", "test"),
        ("Authorization", token.as_str()),
        ("X-GitHub-Api-Version", "2022-11-28"),
    ];
    for (left_out, status, what) in [
        (0, 403, "User-Agent"),
        (1, 401, "no token"),
        (2, 200, "pins the version"),
    ] {
        let headers: Vec<_> = all
            .iter()
            .enumerate()
            .filter(|it| it.0 != left_out)
            .map(|it| *it.1)
            .collect();
        assert_eq!(
            raw(&address, "GET", "/user", &headers, None)
                .unwrap()
                .status,
            status
        );
        found(what);
    }
    for (query, what) in [
        ("{ viewer { favouriteColour } }", "favouriteColour"),
        ("{ node(id: 5.5) { id } }", "ID"),
        ("query($x: Int) { viewer { login } }", "x"),
        ("{ viewer { login ", "syntax error"),
    ] {
        let answer = octo.graphql(query, &json!({}));
        assert!(answer["errors"].is_array());
        found(what);
    }
    octo.graphql("{ viewer { login } }", &json!({ "y": 1 }));
    found("the variable `y` is not declared");
    forge.finish();
}

#[test]
fn a_violation_fails_the_test_at_its_end() {
    for finishes in [true, false] {
        let (forge, octo) = stage();
        octo.get("/nothing");
        let end = AssertUnwindSafe(|| {
            if finishes {
                forge.finish();
            } else {
                drop(forge);
            }
        });
        let message = *catch_unwind(end).unwrap_err().downcast::<String>().unwrap();
        assert!(
            message.contains("no operation of ours is `GET /nothing`"),
            "{message}"
        );
    }
}
