//! A runner's life over HTTP, with the real link.

use std::sync::{Arc, Mutex};

use orange_fleet::ids::{TaskId, Version};
use orange_fleet::message::{
    Changes, RequestState, RequestStatus, Rest, TaskState, TaskView, Text, Want,
};
use orange_server::TlsSetting;
use orange_server::access::Role;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::servers::{Running, create, first_admin, person, post, runner};
use crate::sim::{LAST, Sim, TEXT, now, wait_until};

#[test]
#[expect(clippy::too_many_lines, reason = "one life, told in order")]
fn a_runner_joins_works_restarts_gives_back_and_is_drained() {
    let cluster = Cluster::start();
    let mut first = Running::start(&cluster.url(), TlsSetting::Off);
    let second = Running::start(&cluster.url(), TlsSetting::Off);
    let admin = first_admin(first.address, &cluster.url());
    let ann = person(&admin, "ann", "coffee", Role::Review);
    let task = TaskId::new("k3f9");

    // Two machines join; one of them talks to each server in turn.
    let history = Arc::new(Mutex::default());
    let addresses = vec![first.address, second.address];
    let join = |name: &str| {
        let client = runner(&admin, name);
        let mut sim = Sim::new(name, client, addresses.clone(), Arc::clone(&history));
        // Nothing here waits for a lease to end.
        sim.lost_after = orange_fleet::time::Period::seconds(300);
        sim
    };
    let (a, b) = (join("a"), join("b"));
    assert!(a.register() && b.register() && a.beat() && b.beat());

    // A task that is created while a runner waits is claimed within a second or two.
    let began = now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| a.work(1));
        create(&ann, "k3f9");
        assert!(waiting.join().unwrap());
    });
    assert!((now() - began).0 < 20_000, "it was woken, not timed out");
    assert_eq!(a.held().len(), 1);
    let view = || ann.get("/v1/tasks/k3f9").read::<TaskView>();
    let TaskState::Held { runner, .. } = view().state else {
        panic!("{:?}", view().state)
    };
    assert_eq!(runner.as_str(), "a");

    // It works, and the log has it.
    a.commit(&task);
    a.ship();
    a.perform();
    assert_eq!(view().head, a.local(&task).last().unwrap().head());
    assert_eq!(view().summary.status, "step-2");
    let effects = history.lock().unwrap().effects.len();
    assert_eq!(effects, 2);

    // A person asks; the request is decided by one commit, and the person who waits is told.
    let mail = post(&ann, "k3f9", "1");
    assert_eq!(
        post(&ann, "k3f9", "1"),
        mail,
        "the same key is the same request"
    );
    let path = format!("/v1/requests/{mail}?wait=25");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ann.get(&path).read::<RequestState>());
        assert!(
            a.work(0) && a.work(0),
            "mail comes again until it is decided"
        );
        a.ship();
        let state = waiting.join().unwrap();
        assert_eq!(state.status, RequestStatus::Recorded);
        assert_eq!(state.version, Some(Version(3)));
    });
    assert_eq!(a.local(&task).len(), 3, "it was decided once");

    // The runner restarts with its link: it holds the task with the same epoch.
    let epoch = a.held();
    a.restart();
    assert!(a.beat());
    assert_eq!(a.held(), epoch);
    // It loses its note of the claim: the beat names the task, and it is adopted anew.
    a.forget(&task);
    assert!(a.beat());
    a.adopt();
    assert_eq!(a.held().len(), 1);
    assert!(a.held()[0].1 > epoch[0].1, "with an epoch of its own");
    assert_eq!(a.local(&task).len(), 3, "and its whole log");

    // The first server stops; the other one goes on.
    first.stop();
    let ann = crate::client::Client {
        address: second.address,
        ..ann
    };
    let admin = crate::client::Client {
        address: second.address,
        ..admin
    };
    a.commit(&task);
    while a.local(&task).last().unwrap().head() != ann.get("/v1/tasks/k3f9").read::<TaskView>().head
    {
        a.ship();
    }

    // It gives the task back, and the other machine takes it over with everything.
    wait_until("it is given back", || a.give_back(&task, Rest::Offered));
    assert!(a.held().is_empty());
    wait_until("b claims it", || {
        b.work(1);
        !b.held().is_empty()
    });
    assert_eq!(b.local(&task).len(), 4);
    assert_eq!(history.lock().unwrap().takeovers, 2);

    // An admin drains the machine: its next beat says so, and it takes no more.
    let reply = admin.post("/v1/runners/b/want", &json!({ "want": Want::Drain }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(b.beat() && b.is_drained());
    for _ in 4..LAST.0 {
        b.commit(&task);
    }
    b.ship();
    assert!(b.held().is_empty(), "the end of the task released it");
    let found = ann.get("/v1/tasks/k3f9").read::<TaskView>();
    assert_eq!(found.state, TaskState::Ended);

    // What people read: the whole log in order, the text, the runners.
    let changes: Changes = ann.get("/v1/changes?since=0").read();
    let versions = changes.rows.iter().map(|it| it.commit.last.0);
    assert_eq!(
        versions.collect::<Vec<_>>(),
        (1..=LAST.0).collect::<Vec<_>>()
    );
    let sha = changes.rows[0].commit.texts[0];
    let text: Text = ann.get(&format!("/v1/texts/{sha}")).read();
    assert_eq!(text.content, TEXT);
    let listed: Value = ann.get("/v1/runners").read();
    let names = listed["runners"].as_array().unwrap().iter();
    let names = names.map(|it| (it["runner"].clone(), it["want"].clone()));
    let expected = [(json!("a"), json!("hold")), (json!("b"), json!("drain"))];
    assert_eq!(names.collect::<Vec<_>>(), expected);

    // And the operator's numbers.
    let metrics = admin.get("/metrics");
    for line in [
        "orange_held 0",
        "orange_offered 0",
        "orange_runners{state=\"draining\"} 1",
    ] {
        assert!(
            metrics.body.lines().any(|it| it == line),
            "{}",
            metrics.body
        );
    }
    assert_eq!(admin.get("/readyz").status, 200);
    assert_eq!(history.lock().unwrap().halted, 0);
}
