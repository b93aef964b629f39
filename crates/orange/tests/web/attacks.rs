//! Attacks that other servers fell to, and their answers here.
//!
//! The numbers are those of the table in `docs/web.md`. A row about something that does not exist
//! here shows that it does not.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::client::Api;
use crate::support::Stage;

/// Addresses of every kind: read, act, stream, fixed, unknown.
const PATHS: [&str; 9] = [
    "/api/v1/attention",
    "/api/v1/tasks/k3f9",
    "/api/v1/tasks/k3f9/merge",
    "/api/v1/events",
    "/api/v1/openapi.json",
    "/api/v1/nothing",
    "/index.html",
    "/page/page.js",
    "/../../etc/passwd",
];

const JSON: (&str, &str) = ("Content-Type", "application/json");

struct Scene {
    stage: Stage,
    api: Api,
    token: String,
    bearer: String,
}

impl Scene {
    fn new() -> Scene {
        let stage = Stage::new("minimal");
        let api = Api::start_with(&stage, &["--public-url", "https://box.ts.net"]);
        let token = api.pair(&stage, "phone", "act");
        let bearer = format!("Bearer {token}");
        Scene {
            stage,
            api,
            token,
            bearer,
        }
    }

    /// The status of a read with these headers and the right token.
    fn with(&self, headers: &[(&str, &str)]) -> u16 {
        self.line("GET /api/v1/attention", headers)
    }

    fn line(&self, line: &str, headers: &[(&str, &str)]) -> u16 {
        let own = [("Authorization", self.bearer.as_str())];
        let headers: Vec<(&str, &str)> = own.iter().chain(headers).copied().collect();
        self.api.send(line, &headers, "").status
    }

    fn host(&self, host: &str) -> u16 {
        self.with(&[("Host", host)])
    }
}

#[test]
fn rows_1_2_22_23_43_nothing_is_told_without_a_token() {
    let scene = Scene::new();
    let (api, token) = (&scene.api, &scene.token);
    let wrong = "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let shorter = format!("Bearer {}", &token[1..]);
    let basic = format!("Basic {token}");
    let twice = format!("Bearer {token} {token}");
    for path in PATHS {
        for line in ["GET", "POST", "HEAD", "DELETE", "PUT", "OPTIONS"] {
            let answer = api.send(&format!("{line} {path}"), &[JSON], "");
            assert_eq!(answer.status, 401, "{line} {path}");
            let text = format!("{answer:?}");
            for secret in ["0.1.0", "orange.db", "/home", "/tmp", "axum", "hyper"] {
                assert!(
                    !text.contains(secret),
                    "{line} {path} tells {secret}: {text}"
                );
            }
        }
    }
    for credential in [wrong, &shorter, &basic, &twice, "Bearer", "Bearer "] {
        let answer = api.send("GET /api/v1/events", &[("Authorization", credential)], "");
        assert_eq!(answer.status, 401, "{credential}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[test]
fn rows_3_4_5_only_exact_hosts_are_answered() {
    let scene = Scene::new();
    let port = scene.api.port;
    assert_eq!(scene.host(&format!("127.0.0.1:{port}")), 200);
    assert_eq!(scene.host(&format!("localhost:{port}")), 200);
    assert_eq!(scene.host("box.ts.net"), 200, "the public host");
    for host in [
        String::from("evil.example"),
        String::new(),
        format!("localhost:{port}.evil.example"),
        format!("localhost.evil.example:{port}"),
        format!("localhost.:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("2130706433:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        String::from("127.0.0.1"),
        String::from("box.ts.net:443"),
        String::from("x.box.ts.net"),
    ] {
        assert_eq!(scene.host(&host), 421, "{host}");
    }
    let own = format!("127.0.0.1:{port}");
    assert_eq!(scene.with(&[("Host", &own), ("Host", &own)]), 421, "twice");
    assert_eq!(
        scene.with(&[("Host", "evil.example"), ("Origin", "http://evil.example")]),
        421
    );
    let absolute = format!("GET http://127.0.0.1:{port}/api/v1/attention");
    assert_eq!(scene.line(&absolute, &[]), 421, "an absolute address");
    let old = format!(
        "GET /api/v1/attention HTTP/1.0\r\nAuthorization: {}\r\n\r\n",
        scene.bearer
    );
    assert_eq!(scene.api.exchange(old.as_bytes()).status, 421, "no host");
}

#[test]
fn rows_6_7_10_13_15_only_pages_of_this_server_are_answered() {
    let scene = Scene::new();
    let port = scene.api.port;
    let own = format!("http://127.0.0.1:{port}");
    assert_eq!(scene.with(&[("Origin", &own)]), 200);
    for origin in [
        String::from("null"),
        String::from("http://evil.example"),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", port ^ 1),
        format!("http://localhost:{port}.evil.example"),
        format!("http://localhost:{port}/"),
        String::from("http://box.ts.net"),
    ] {
        assert_eq!(scene.with(&[("Origin", &origin)]), 403, "{origin}");
        let preflight = [
            ("Origin", origin.as_str()),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization"),
        ];
        let answer = scene.api.send("OPTIONS /api/v1/tasks", &preflight, "");
        assert_eq!(answer.status, 403, "{origin}");
        let mut names = answer.headers.iter().map(|(name, _)| name);
        assert!(
            !names.any(|it| it.starts_with("access-control")),
            "{answer:?}"
        );
    }
    for (site, expected) in [
        ("same-origin", 200),
        ("none", 200),
        ("same-site", 403),
        ("cross-site", 403),
    ] {
        assert_eq!(scene.with(&[("Sec-Fetch-Site", site)]), expected, "{site}");
    }
}

#[test]
fn rows_8_9_only_a_post_in_json_changes_anything() {
    let scene = Scene::new();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json, text/plain",
        "",
    ] {
        for path in ["/api/v1/tasks", "/api/v1/notes", "/api/v1/nothing"] {
            let status = scene.line(&format!("POST {path}"), &[("Content-Type", kind)]);
            assert_eq!(status, 415, "{kind} {path}");
        }
        let pairing = scene
            .api
            .send("POST /api/v1/pair", &[("Content-Type", kind)], "{}");
        assert_eq!(pairing.status, 415);
    }
    assert_eq!(scene.line("POST /api/v1/tasks", &[]), 415);
    let empty = scene.line("POST /api/v1/tasks/k3f9/merge", &[JSON]);
    assert_eq!(empty, 400, "a body-less change");
    for path in ["merge", "steps", "cancel"] {
        let read = format!("GET /api/v1/tasks/k3f9/{path}");
        assert_eq!(scene.line(&read, &[]), 405, "{path}");
    }
    for method in ["PUT", "DELETE", "PATCH"] {
        assert_eq!(scene.line(&format!("{method} /api/v1/tasks"), &[JSON]), 405);
    }
    let (_, listed) = scene.stage.json(&["task", "list", "--all", "--json"]);
    assert_eq!(listed["tasks"], json!([]));
}

#[test]
fn rows_11_12_34_there_is_no_websocket_and_no_terminal() {
    let scene = Scene::new();
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for path in ["/api/v1/tasks/k3f9/terminal", "/ws", "/api/v1/terminal"] {
        let line = format!("GET {path}");
        assert_eq!(scene.api.send(&line, &upgrade, "").status, 401, "{path}");
        assert_eq!(scene.line(&line, &upgrade), 404, "{path}");
        let foreign = [&upgrade[..], &[("Origin", "http://evil.example")]].concat();
        assert_eq!(scene.line(&line, &foreign), 403, "{path}");
    }
    let answer = scene.api.get("/api/v1/attention", &scene.token);
    assert!(answer.header("upgrade").is_none());
}

#[test]
fn rows_14_16_17_41_every_answer_is_data_and_kept_by_nobody() {
    let scene = Scene::new();
    let title = "<img src=x onerror=alert(1)>";
    scene.stage.create(&["hostile", title]);
    let answers = [
        scene.api.get("/api/v1/tasks", &scene.token),
        scene.api.get("/api/v1/nothing", &scene.token),
        scene.api.send("GET /nothing", &[], ""),
        scene.api.send("GET /", &[("Host", "evil.example")], ""),
    ];
    assert!(answers[0].body.contains("<img src=x"), "{:?}", answers[0]);
    for answer in answers {
        let header = |name: &str| answer.header(name).unwrap_or_default().to_owned();
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert!(answer.header("set-cookie").is_none(), "{answer:?}");
        assert!(answer.header("server").is_none(), "{answer:?}");
    }
}

#[test]
fn rows_1_16_41_only_the_files_of_the_page_are_public() {
    let scene = Scene::new();
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
        ("/lit-html.js", "text/javascript; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let answer = scene.api.send(&format!("GET {path}"), &[], "");
        assert_eq!(answer.status, 200, "{path}");
        let header = |name: &str| answer.header(name).unwrap_or_default();
        assert_eq!(header("content-type"), kind);
        assert_eq!(
            header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src \
             'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'; trusted-types lit-html"
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("cache-control"), "no-cache");
        assert!(answer.header("set-cookie").is_none());
        let etag = header("etag").to_owned();
        let again = [("If-None-Match", etag.as_str())];
        let again = scene.api.send(&format!("GET {path}"), &again, "");
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
        let head = scene.api.send(&format!("HEAD {path}"), &[], "");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        for line in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let answer = scene.api.send(&format!("{line} {path}"), &[JSON], "");
            assert_eq!(answer.status, 401, "{line} {path}");
        }
        let foreign = [("Sec-Fetch-Site", "cross-site")];
        let answer = scene.api.send(&format!("GET {path}"), &foreign, "");
        assert_eq!(answer.status, 403, "{path}");
    }
}

#[test]
fn rows_20_21_26_a_token_is_only_in_its_header() {
    let scene = Scene::new();
    let token = &scene.token;
    for path in [
        format!("/api/v1/attention?token={token}"),
        format!("/api/v1/attention?access_token={token}"),
        format!("/api/v1/attention/{token}"),
    ] {
        assert_eq!(scene.api.send(&format!("GET {path}"), &[], "").status, 401);
    }
    let cookie = format!("token={token}");
    let answer = scene
        .api
        .send("GET /api/v1/attention", &[("Cookie", &cookie)], "");
    assert_eq!(answer.status, 401);
    // The hash that is stored, and a task's id, are no credentials.
    let file = scene.stage.home().web().join("devices/phone");
    let stored = fs::read_to_string(file).unwrap();
    assert!(!stored.contains(token.as_str()));
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let hash = stored["token_hash"].as_str().unwrap();
    assert_eq!(scene.api.get("/api/v1/attention", hash).status, 401);
    let id = scene.stage.create(&["one", "One"]);
    assert_eq!(scene.api.get("/api/v1/attention", id.as_str()).status, 401);
    for path in ["devices", "tokens", "token", "codes", "pair"] {
        let answer = scene.api.get(&format!("/api/v1/{path}"), token);
        assert_eq!(answer.status, 404, "{path}");
    }
    for answer in ["config", "doctor", "attention", "openapi.json"] {
        let answer = scene.api.get(&format!("/api/v1/{answer}"), token);
        assert!(!answer.body.contains(token.as_str()) && !answer.body.contains(hash));
    }
}

#[test]
fn row_25_files_that_others_could_write_admit_nobody() {
    let scene = Scene::new();
    let folder = scene.stage.home().web().join("devices");
    let file = folder.join("phone");
    let admitted = || scene.api.get("/api/v1/attention", &scene.token).status;
    let set_mode = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    assert_eq!(admitted(), 200);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    set_mode(&file, 0o644);
    assert_eq!(admitted(), 401, "a file that others can read");
    set_mode(&file, 0o600);
    set_mode(&folder, 0o755);
    assert_eq!(admitted(), 401, "a folder that others can enter");
    set_mode(&folder, 0o700);
    let aside = scene.stage.path("aside");
    fs::rename(&file, &aside).unwrap();
    symlink(&aside, &file).unwrap();
    assert_eq!(admitted(), 401, "a link");
    let (code, answer) = scene.stage.json(&["web", "devices", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("devices-untrusted")),
        "{answer}"
    );
    fs::remove_file(&file).unwrap();
    fs::rename(&aside, folder.join("laptop")).unwrap();
    assert_eq!(admitted(), 401, "a file of another name");
    fs::rename(folder.join("laptop"), &file).unwrap();
    assert_eq!(admitted(), 200);
}

#[test]
fn rows_27_28_wrong_tokens_are_counted_and_no_header_names_the_caller() {
    let scene = Scene::new();
    let wrong = |number: u32| {
        let address = format!("10.0.0.{number}");
        let forged = [
            ("Authorization", "Bearer aaaa"),
            ("X-Forwarded-For", address.as_str()),
            ("X-Real-IP", "127.0.0.1"),
            ("Forwarded", "for=127.0.0.1"),
        ];
        scene.api.send("GET /api/v1/attention", &forged, "").status
    };
    let statuses: Vec<u16> = (0..40).map(wrong).collect();
    assert_eq!(statuses[0], 401);
    assert_eq!(statuses[39], 429, "{statuses:?}");
    assert_eq!(scene.api.exchange_code("aaaa").status, 429);
    assert_eq!(scene.with(&[]), 200, "a paired device is not locked out");
}

#[test]
fn rows_29_30_it_listens_on_one_address_and_takes_no_other_port() {
    let scene = Scene::new();
    let port = scene.api.port;
    for other in ["127.0.0.2", "::1"] {
        assert!(TcpStream::connect((other, port)).is_err(), "{other}");
    }
    let port = port.to_string();
    let (code, answer) = scene.stage.json(&["web", "--port", &port, "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("port-taken")),
        "{answer}"
    );
    for option in ["--host", "--bind", "--listen"] {
        let (code, _) = scene.stage.call(&["web", option, "0.0.0.0"]);
        assert_eq!(code, 2, "{option}");
    }
    for url in ["http://box.ts.net", "https://*.ts.net", "https://a/b"] {
        let (code, _) = scene.stage.call(&["web", "--public-url", url]);
        assert_eq!(code, 2, "{url}");
    }
}

#[test]
fn rows_32_33_hostile_paths_and_ids_lead_nowhere() {
    let scene = Scene::new();
    for path in [
        "/api/v1/tasks/..%2f..%2fetc%2fpasswd",
        "/api/v1/tasks/%00",
        "/api/v1/tasks/%ff",
        "/api/v1/tasks/a%5cb",
        "/api/v1/tasks/-k",
        "/api/v1/tasks/--help",
        "/api/v1/tasks/%24%28id%29",
        "/api/v1/tasks/k3f9%3bid",
        "/api/v1/tasks/k3f9%0a",
        "/api/v1/tasks//why",
        "/api/v1/tasks/k3f9/",
        "/api/v1/../v1/attention",
        "/api/v1/workflows/x.yml%2f",
        "/api/v1/workflows/..%2fx.yml",
        "/api/v1/workflows/-",
        "/api/v1/projects/--all",
        "//api/v1/attention",
        "/API/v1/attention",
    ] {
        assert_eq!(scene.line(&format!("GET {path}"), &[]), 404, "{path}");
    }
    let backslash = scene.line("GET /api\\v1\\attention", &[]);
    assert!([400, 404].contains(&backslash), "{backslash}");
    // A workflow is a name here, never a file.
    fs::write(scene.stage.home().path().join("x.yml"), "name: x").unwrap();
    assert_eq!(scene.line("GET /api/v1/workflows/x.yml", &[]), 404);
    for query in [
        "project=--all",
        "status=-q",
        "project=a&project=b",
        "x=1",
        "tree=1",
    ] {
        let line = format!("GET /api/v1/tasks?{query}");
        assert_eq!(scene.line(&line, &[]), 400, "{query}");
    }
}

#[test]
fn row_37_an_answer_to_a_request_that_is_gone_changes_nothing() {
    let scene = Scene::new();
    for verb in ["allow", "deny"] {
        let path = format!("/api/v1/requests/abcd/{verb}");
        let answer = scene.api.post(&path, &scene.token, &json!({}));
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, "request-not-found")
        );
    }
    // Without an id, `orange allow` would allow a policy.
    let answer = scene
        .api
        .post("/api/v1/requests//allow", &scene.token, &json!({}));
    assert_eq!(answer.status, 404);
}

#[test]
fn rows_18_19_24_40_42_what_is_not_there_cannot_be_attacked() {
    let scene = Scene::new();
    for path in [
        "push",
        "subscriptions",
        "webhooks",
        "hooks",
        "mcp",
        "terminal",
        "tasks/k3f9/screen",
    ] {
        let path = format!("/api/v1/{path}");
        let answer = scene.api.post(&path, &scene.token, &json!({}));
        assert_eq!(answer.status, 404, "{path}");
    }
    for path in ["/mcp", "/sse", "/sw.js", "/manifest.json"] {
        assert_eq!(scene.api.get(path, &scene.token).status, 404, "{path}");
    }
}
