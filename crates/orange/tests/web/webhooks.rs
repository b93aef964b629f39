//! GitHub's webhooks: signed, each delivered once, and only a hint.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::client::{Api, Response};
use crate::support::Stage;

const PATH: &str = "POST /api/v1/webhooks/github";
const REPOSITORY: &str = "https://github.com/Ada/App";

fn stage() -> Stage {
    let stage = Stage::new("minimal");
    stage.configure("forge_repository", &json!("github.com/ada/app"));
    stage
}

/// The HMAC of a message, as RFC 2104 defines it.
fn signature(secret: &str, body: &str) -> String {
    let block = |pad: u8| {
        let mut block = [pad; 64];
        for (byte, key) in block.iter_mut().zip(secret.bytes()) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new().chain_update(block(0x36)).chain_update(body);
    let outer = Sha256::new().chain_update(block(0x5c));
    let digest = outer.chain_update(inner.finalize()).finalize();
    let mut text = String::from("sha256=");
    for byte in digest {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

fn body(repository: &str) -> String {
    json!({ "action": "submitted", "repository": { "html_url": repository } }).to_string()
}

fn deliver(api: &Api, id: &str, signature: &str, body: &str) -> Response {
    let headers = [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", "pull_request_review"),
        ("X-GitHub-Delivery", id),
        ("X-Hub-Signature-256", signature),
    ];
    api.send(PATH, &headers, body)
}

/// The times of all hints.
fn hints(stage: &Stage) -> Vec<SystemTime> {
    let files = fs::read_dir(stage.home().forge_hints());
    let files = files.into_iter().flatten();
    let times = files.map(|it| it.unwrap().metadata().unwrap().modified().unwrap());
    times.collect()
}

/// Turns webhooks on; the secret.
fn turn_on(stage: &Stage, options: &[&str]) -> String {
    let words = [&["web", "webhook", "--json"], options].concat();
    let (exit, answer) = stage.json(&words);
    assert_eq!(exit, 0, "{answer}");
    answer["secret"].as_str().unwrap().to_owned()
}

#[test]
fn a_signed_delivery_is_a_hint_once() {
    let stage = stage();
    let api = Api::start(&stage);
    let secret = turn_on(&stage, &[]);
    assert_eq!(turn_on(&stage, &[]), secret, "it stays");
    let body = body(REPOSITORY);
    let signature = signature(&secret, &body);
    let taken = deliver(&api, "first", &signature, &body);
    assert_eq!((taken.status, taken.body.as_str()), (204, ""), "{taken:?}");
    let [first] = hints(&stage)[..] else {
        panic!("one hint: {:?}", hints(&stage));
    };
    assert_eq!(deliver(&api, "first", &signature, &body).status, 204);
    assert_eq!(hints(&stage), [first], "a repetition is no hint");
    assert_eq!(deliver(&api, "second", &signature, &body).status, 204);
    let [second] = hints(&stage)[..] else {
        panic!("one file per repository");
    };
    assert!(second > first);
}

#[test]
fn what_is_not_signed_is_refused_and_tells_nothing() {
    let stage = stage();
    let api = Api::start(&stage);
    let body = body(REPOSITORY);
    // No secret is the same as a wrong one.
    let off = deliver(&api, "1", &signature("", &body), &body);
    assert_eq!((off.status, off.code()), (401, "signature-invalid".into()));
    let secret = turn_on(&stage, &[]);
    let right = signature(&secret, &body);
    for (given, body) in [
        (signature("another", &body), body.clone()),
        (right.clone(), format!("{body} ")),
        (right.replace("sha256=", "sha1="), body.clone()),
        (String::from("sha256="), body.clone()),
    ] {
        let refused = deliver(&api, "1", &given, &body);
        assert_eq!(refused.body, off.body, "{given}");
    }
    let unsigned = [("Content-Type", "application/json")];
    assert_eq!(api.send(PATH, &unsigned, &body).body, off.body);
    assert_eq!(hints(&stage), []);
    let renewed = turn_on(&stage, &["--new"]);
    assert_ne!(renewed, secret);
    assert_eq!(deliver(&api, "1", &right, &body).status, 401);
    let right = signature(&renewed, &body);
    assert_eq!(deliver(&api, "1", &right, &body).status, 204);
    let (_, answer) = stage.json(&["web", "webhook", "--off", "--json"]);
    assert_eq!(answer["is_on"], false);
    assert_eq!(deliver(&api, "2", &right, &body).status, 401);
}

#[test]
fn a_signed_delivery_is_bounded_and_believed_in_nothing() {
    let stage = stage();
    let api = Api::start(&stage);
    let secret = turn_on(&stage, &[]);
    let send = |id: &str, body: &str| deliver(&api, id, &signature(&secret, body), body);
    for (number, foreign) in [
        "https://github.com/ada/other",
        "https://example.com/ada/app",
        "https://github.com/ada/app/../other",
        "file:///etc/passwd",
        "--upload-pack=x",
        "",
    ]
    .iter()
    .enumerate()
    {
        let answer = send(&format!("f{number}"), &body(foreign));
        assert_eq!(answer.status, 204, "{foreign}: {answer:?}");
    }
    assert_eq!(send("ping", r#"{"zen": "Keep it simple."}"#).status, 204);
    assert_eq!(hints(&stage), [], "no project has one of them");
    for bad in ["", "7", "{", r#"{"repository": {}}"#] {
        let answer = send("bad", bad);
        assert_eq!((answer.status, answer.code()), (400, "body-invalid".into()));
    }
    let good = body(REPOSITORY);
    for id in ["", &"x".repeat(65)] {
        assert_eq!(send(id, &good).code(), "parameter-invalid");
    }
    // Large deliveries exist; larger ones are refused.
    let with = |bytes: usize| {
        json!({ "repository": { "html_url": REPOSITORY }, "commits": "x".repeat(bytes) })
            .to_string()
    };
    assert_eq!(send("large", &with(1024 * 1024)).status, 204);
    assert_eq!(hints(&stage).len(), 1);
    assert_eq!(send("huge", &with(4 * 1024 * 1024)).status, 413);
    let form = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("X-GitHub-Delivery", "form"),
        ("X-Hub-Signature-256", &signature(&secret, &good)),
    ];
    assert_eq!(api.send(PATH, &form, &good).status, 415);
    assert_eq!(api.send(&PATH.replace("POST", "GET"), &[], "").status, 401);
    let foreign = [("Host", "evil.example"), form[1], form[2]];
    assert_eq!(api.send(PATH, &foreign, &good).status, 421);
}

#[test]
fn a_secret_that_others_can_read_is_no_secret() {
    let stage = stage();
    let api = Api::start(&stage);
    let secret = turn_on(&stage, &[]);
    let file = stage.home().web().join("webhook-secret");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let body = body(REPOSITORY);
    let answer = deliver(&api, "1", &signature(&secret, &body), &body);
    assert_eq!(answer.status, 401);
    let (exit, answer) = stage.json(&["web", "webhook", "--json"]);
    assert_eq!(
        answer["error"]["code"], "devices-untrusted",
        "{exit} {answer}"
    );
}
