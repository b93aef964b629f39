//! Codes, limits, and what hostile callers send.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;

use orange_fleet::chain::Sha;
use orange_fleet::ids::{Epoch, Label, ProjectId, RunnerId, TaskId};
use orange_fleet::message::{Append, CreateAnswer, Register, RegisterAnswer, TaskAppend};
use orange_fleet::time::Period;
use orange_server::TlsSetting;
use orange_server::access::{Role, Secret, SecretKind};
use orange_server::http::CodeRequest;
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::cluster::Cluster;
use crate::servers::{
    Running, ask, code, create, first_admin, person, person_request, runner, runner_request, task,
};
use crate::sim::{Sim, capabilities, summary};

fn start() -> (Cluster, Running, Client) {
    let cluster = Cluster::start();
    let running = Running::start(&cluster.url(), TlsSetting::Off);
    let admin = first_admin(running.address, &cluster.url());
    (cluster, running, admin)
}

/// The status and the code of a refusal, which has a message and is of the shape of all errors.
fn refusal(reply: &Reply) -> (u16, String) {
    let json = reply.json();
    assert_eq!(json["schema"], "orange.error/1", "{}", reply.body);
    assert!(!json["error"]["message"].as_str().unwrap().is_empty());
    assert!(json["error"]["hints"].is_array());
    (reply.status, reply.code())
}

fn is_refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!(refusal(reply), (status, code.to_owned()), "{}", reply.body);
}

#[test]
fn a_code_works_once_and_for_its_own_kind() {
    let (cluster, running, admin) = start();
    let stranger = Client::new(running.address, None);
    let join = code(&admin, &runner_request("a"));
    let token = Secret::draw(SecretKind::Runner).unwrap();

    // A code for a runner makes no person, and trying that does not use it up.
    let wrong = stranger.exchange_for("/v1/login", &join, &token);
    is_refused(&wrong, 401, "code-invalid");
    let first = stranger.exchange_for("/v1/join", &join, &token);
    assert_eq!(first.status, 200, "{}", first.body);
    // A lost answer: the same exchange again.
    assert_eq!(stranger.exchange_for("/v1/join", &join, &token), first);
    let other = Secret::draw(SecretKind::Runner).unwrap();
    let again = stranger.exchange_for("/v1/join", &join, &other);
    is_refused(&again, 401, "code-invalid");
    let me: Value = Client::new(running.address, Some(token.reveal().to_owned()))
        .get("/v1/me")
        .read();
    assert_eq!(me["runner"], "a");

    // The token of a runner is none of a person, whatever its first characters are.
    let person = code(&admin, &person_request("ann", "coffee", Role::View));
    let odd = Secret::draw(SecretKind::Runner).unwrap();
    let reply = stranger.exchange_for("/v1/login", &person, &odd);
    assert_eq!(reply.status, 200);
    let odd = Client::new(running.address, Some(odd.reveal().to_owned()));
    is_refused(&odd.get("/v1/me"), 401, "unauthorized");

    // A token that is known cannot be had by a second code.
    let second = code(&admin, &runner_request("b"));
    let taken = stranger.exchange_for("/v1/join", &second, &token);
    is_refused(&taken, 401, "code-invalid");

    // Expired and revoked codes, and what is none.
    let late = code(&admin, &runner_request("c"));
    let sha = Sha::of(late.as_bytes());
    cluster.run(&format!(
        "update orange.token set expires_at = orange.now_ms() where sha = '\\x{sha}'"
    ));
    let gone = code(&admin, &runner_request("d"));
    let sha = Sha::of(gone.as_bytes());
    let revoked = admin
        .call("DELETE", &format!("/v1/tokens/{sha}"), "")
        .unwrap();
    assert_eq!(revoked.status, 200);
    let garbage = Secret::draw(SecretKind::Code).unwrap();
    for bad in [
        late.as_str(),
        &gone,
        garbage.reveal(),
        token.reveal(),
        "",
        "orc_",
    ] {
        let reply = stranger.exchange_for("/v1/join", bad, &other);
        is_refused(&reply, 401, "code-invalid");
    }
    let listed: Value = admin.get("/v1/tokens").read();
    let listed = listed["tokens"].as_array().unwrap();
    assert!(
        listed
            .iter()
            .any(|it| it["subject"] == "a" && it["kind"] == "runner")
    );
    assert!(!admin.get("/v1/tokens").body.contains(token.reveal()));
}

#[test]
fn a_runner_cannot_claim_more_than_its_code_allows() {
    let (_cluster, running, admin) = start();
    let request = CodeRequest::Runner {
        runner: RunnerId::new("a"),
        projects: Some([ProjectId::new("coffee")].into()),
        labels: [Label::new("gpu")].into(),
    };
    let code = code(&admin, &request);
    let client = Client::exchange(running.address, "/v1/join", &code).unwrap();
    let register = |change: fn(&mut Register)| {
        let mut call = Register {
            runner: RunnerId::new("a"),
            home: orange_fleet::ids::HomeId::new("h"),
            seen: orange_fleet::ids::Incarnation(0),
            lost_after: Period::seconds(90),
            capabilities: capabilities(),
        };
        change(&mut call);
        client.post("/v1/runners", &call)
    };
    let integrator = register(|it| it.capabilities.labels = [Label::new("integrator")].into());
    is_refused(&integrator, 403, "scope-exceeded");
    let tea = register(|it| {
        it.capabilities.projects.insert(ProjectId::new("tea"));
    });
    is_refused(&tea, 403, "scope-exceeded");
    assert!(tea.body.contains("project `tea`"), "{}", tea.body);
    let other = register(|it| it.runner = RunnerId::new("b"));
    is_refused(&other, 403, "caller-refused");
    let good = register(|it| it.capabilities.labels = [Label::new("gpu")].into());
    assert!(matches!(good.read(), RegisterAnswer::Registered { .. }));
}

#[test]
fn callers_that_are_too_fast_or_too_large_are_told_so() {
    let (_cluster, running, admin) = start();
    let ann = person(&admin, "ann", "coffee", Role::Operate);
    // Someone who asks all the time is stopped, and can go on a second later.
    let mut stopped = None;
    for _ in 0..1000 {
        let reply = ann.call("GET", "/v1/me", "").unwrap();
        if reply.status != 200 {
            stopped = Some(reply);
            break;
        }
    }
    // On a machine that needs longer than a twentieth of a second for a call, nothing is too fast.
    if let Some(reply) = stopped {
        is_refused(&reply, 429, "too-many-requests");
    }
    assert_eq!(ann.get("/v1/me").status, 200, "later it is answered");

    let client = runner(&admin, "a");
    let mut sim = Sim::new(
        "a",
        client.clone(),
        vec![running.address],
        Arc::new(Mutex::default()),
    );
    sim.lost_after = Period::seconds(600);
    assert!(sim.register());
    let one = TaskAppend {
        task: TaskId::new("none"),
        epoch: Epoch(1),
        base: orange_fleet::ids::Version(0),
        commits: vec![crate::sim::first_commit("none")],
        texts: Vec::new(),
        summary: summary(&crate::sim::first_commit("none")),
    };
    let append = |count| {
        let tasks = vec![one.clone(); count];
        let body = serde_json::to_string(&Append { tasks }).unwrap();
        client.call("POST", "/v1/append", &body).unwrap()
    };
    is_refused(&append(51), 413, "body-too-large");
    // The limit holds for all tasks of several calls together; each server counts for itself.
    crate::sim::wait_until("a batch is admitted", || append(50).status == 200);
    let mut replies = (0..20).map(|_| append(50));
    let fast = replies.find(|it| it.status != 200).unwrap();
    is_refused(&fast, 429, "too-many-requests");

    // Bodies: without a length, too long, cut off, no JSON, of another call.
    let with = |head: &str, body: &str| {
        let token = client.token.clone().unwrap();
        let head = format!(
            "POST /v1/append HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{head}\r\n\r\n{body}"
        );
        client.send(&head).unwrap()
    };
    is_refused(&with("X-None: 1", ""), 411, "length-required");
    is_refused(
        &with("Content-Length: 99999999", "{}"),
        413,
        "body-too-large",
    );
    let huge = "x".repeat(20_000);
    assert_eq!(
        with(&format!("X-Long: {huge}\r\nContent-Length: 2"), "{}").status,
        431
    );
    for body in [
        "",
        "{",
        "[]",
        "{}",
        "{\"tasks\":1}",
        "\u{0}",
        &"[".repeat(10_000),
    ] {
        let reply = client.insist("POST", "/v1/append", body).unwrap();
        is_refused(&reply, 400, "body-invalid");
    }
    is_refused(&ann.get("/v1/nothing"), 404, "not-found");
    is_refused(
        &ann.insist("PUT", "/v1/me", "").unwrap(),
        405,
        "method-not-allowed",
    );
    is_refused(&ann.get("/v1/changes?since=x"), 400, "body-invalid");
    is_refused(&ann.get("/v1/tasks/%00"), 400, "body-invalid");
    is_refused(&ann.get("/v1/tasks/%ff"), 404, "not-found");
}

#[test]
fn hostile_values_are_refused_and_do_no_harm() {
    let (_cluster, running, admin) = start();
    let ann = person(&admin, "ann", "coffee", Role::Operate);
    let client = runner(&admin, "a");
    let mut sim = Sim::new(
        "a",
        client.clone(),
        vec![running.address],
        Arc::new(Mutex::default()),
    );
    sim.lost_after = Period::seconds(600);
    assert!(sim.register());
    create(&ann, "k3f9");
    let (big, name) = (u64::MAX, "x".repeat(200));
    let hostile = [
        (
            "/v1/runners/a/beat",
            json!({"home": "home-a", "incarnation": big, "held": []}),
        ),
        (
            "/v1/runners/a/beat",
            json!({"home": "\u{0}", "incarnation": 1, "held": []}),
        ),
        (
            "/v1/runners/a/beat",
            json!({"home": "home-a", "incarnation": 1,
                "held": [{"task": "\u{0}", "epoch": big, "acknowledged": big}]}),
        ),
        (
            "/v1/tasks/k3f9/give-back",
            json!({"task": "k3f9", "epoch": big, "rest": {"rest": "idle"}}),
        ),
        (
            "/v1/tasks/k3f9/give-back",
            json!({"task": "k3f9", "epoch": 1, "rest": {"rest": "paused", "until": big}}),
        ),
        (
            "/v1/tasks/k3f9/give-back",
            json!({"task": "other", "epoch": 1, "rest": {"rest": "idle"}}),
        ),
        (
            "/v1/tasks/k3f9/adopt",
            json!({"task": "k3f9", "incarnation": big, "seen": big, "held": big}),
        ),
        (
            "/v1/mail/m/answer",
            json!({"task": name, "epoch": 1, "answer": null}),
        ),
        (
            "/v1/mail/m/answer",
            json!({"task": "k3f9", "epoch": big, "answer": null}),
        ),
        (
            "/v1/runners",
            json!({"runner": "a", "home": "h", "seen": big, "lost_after": big,
                "capabilities": {"format": big, "projects": [], "harnesses": []}}),
        ),
    ];
    for (path, body) in hostile {
        let reply = client.post(path, &body);
        assert!(
            matches!(reply.status, 200 | 400),
            "{path} {body}: {}",
            reply.body
        );
    }
    let wip = json!({"epoch": big, "number": big, "base": "\u{0}", "bundle": "\u{0}", "document": "\u{0}"});
    let wip = client
        .call("PUT", "/v1/tasks/k3f9/wip", &wip.to_string())
        .unwrap();
    assert!(matches!(wip.status, 200 | 400), "{}", wip.body);
    assert!(sim.beat(), "the runner is what it was");
    assert!(sim.work(1));
    assert_eq!(sim.held().len(), 1, "and the task too");
}

#[test]
fn people_ask_for_nothing_beyond_their_projects() {
    let (_cluster, mut running, admin) = start();
    let ann = person(&admin, "ann", "coffee", Role::Operate);
    create(&ann, "k3f9");
    let name = "x".repeat(200);
    for id in ["", "\u{0}", "a\nb", &name] {
        let mut call = task("new");
        call.task = TaskId::new(id);
        is_refused(&ann.post("/v1/tasks", &call), 400, "body-invalid");
    }
    let bob = person(&admin, "bob", "tea", Role::Maintain);
    let mut call = task("t1");
    call.needs.project = ProjectId::new("tea");
    call.after = [TaskId::new("k3f9")].into();
    is_refused(&bob.post("/v1/tasks", &call), 404, "not-found");
    call.after = BTreeSet::new();
    call.parent = Some(TaskId::new("k3f9"));
    is_refused(&bob.post("/v1/tasks", &call), 404, "not-found");
    call.parent = None;
    assert_eq!(
        bob.post("/v1/tasks", &call).read::<CreateAnswer>(),
        CreateAnswer::Ok
    );
    is_refused(&bob.post("/v1/tasks", &task("t2")), 403, "role-missing");
    // So many may wait, and not more.
    let path = "/v1/changes?since=9223372036854775807&wait=25";
    let mut refused = None;
    thread::scope(|scope| {
        let mut waiting = Vec::new();
        for _ in 0..9 {
            let ann = ann.clone();
            waiting.push(scope.spawn(move || ann.call("GET", path, "").unwrap()));
        }
        crate::sim::wait_until("one is refused", || {
            let reply = bob.call("GET", "/v1/me", "").unwrap();
            assert!(matches!(reply.status, 200 | 429), "others go on");
            let over = waiting
                .iter()
                .position(thread::ScopedJoinHandle::is_finished);
            refused = over.map(|it| waiting.remove(it).join().unwrap());
            refused.is_some()
        });
        assert_eq!(waiting.iter().filter(|it| it.is_finished()).count(), 0);
        running.stop();
    });
    is_refused(&refused.unwrap(), 429, "too-many-requests");
}

#[test]
fn a_request_says_exactly_one_thing() {
    let (_cluster, _running, admin) = start();
    let ann = person(&admin, "ann", "coffee", Role::Operate);
    create(&ann, "k3f9");
    for bad in [
        "null",
        "{}",
        r#"{"kind":"verb","verb":"cancel","verb":"merge"}"#,
        r#"{"kind":"tell","verb":"merge"}"#,
        r#"["tell"]"#,
    ] {
        let body = format!("{{\"key\":\"k\",\"ask\":{bad}}}");
        let reply = ann
            .insist("POST", "/v1/tasks/k3f9/requests", &body)
            .unwrap();
        is_refused(&reply, 400, "body-invalid");
    }
    let merge = ann.post("/v1/tasks/k3f9/requests", &ask("merge", "m"));
    is_refused(&merge, 403, "role-missing");
}

#[test]
fn a_server_stops_within_seconds_while_runners_wait() {
    let (_cluster, mut running, admin) = start();
    let client = runner(&admin, "a");
    let sim = Sim::new(
        "a",
        client,
        vec![running.address],
        Arc::new(Mutex::default()),
    );
    assert!(sim.register());
    let began = crate::sim::now();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| sim.work(1));
        let me = &admin;
        crate::sim::wait_until("the runner waits", || {
            me.get("/metrics").status == 200 && (crate::sim::now() - began).0 > 500
        });
        running.stop();
        // It is answered, with nothing.
        assert!(waiting.join().unwrap());
    });
    assert!(sim.held().is_empty());
    assert!(
        (crate::sim::now() - began).0 < 20_000,
        "it did not wait to the end"
    );
    assert!(admin.call("GET", "/healthz", "").is_err());
}
