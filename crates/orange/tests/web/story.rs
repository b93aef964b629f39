//! A task from its creation to its merge, over HTTP alone.

use std::thread;

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::client::{Api, Response};
use crate::description::judge_answer;
use crate::support::{FIX, PASS, PLAN_AND_WORK, Stage};

struct Scene {
    stage: Stage,
    api: Api,
    token: String,
}

impl Scene {
    fn new() -> Scene {
        let stage = Stage::new("default");
        stage.script("worker-1", PLAN_AND_WORK);
        stage.script("worker-2", FIX);
        stage.script("reviewer-1", PASS);
        stage.script("reviewer-2", PASS);
        let api = Api::start(&stage);
        let token = api.pair(&stage, "phone", "act");
        Scene { stage, api, token }
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.api.get(path, &self.token);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        judge_answer(&self.api, &self.token, "get", path, &answer);
        answer.json()
    }

    fn step(&self, path: &str, version: u64, body: &Value) -> Response {
        let answer = self.api.step(path, &self.token, version, body);
        judge_answer(&self.api, &self.token, "post", path, &answer);
        answer
    }

    /// A task that waits for the user's review.
    fn reviewed(&self) -> TaskId {
        let new = json!({ "summary": "Add a line", "context": "--help", "priority": -1 });
        let created = self.api.post("/api/v1/tasks", &self.token, &new);
        assert!([200, 202].contains(&created.status), "{created:?}");
        judge_answer(&self.api, &self.token, "post", "/api/v1/tasks", &created);
        let id = TaskId::new(created.json()["task"]["id"].as_str().unwrap());
        self.stage.wait_for_status(&id, "reviewing");
        self.stage.wait_until_idle(&id);
        id
    }
}

#[test]
fn a_task_is_created_reviewed_sent_back_and_merged() {
    let scene = Scene::new();
    let id = scene.reviewed();
    let task = format!("/api/v1/tasks/{id}");
    let queue = scene.get("/api/v1/attention");
    let items = queue["items"].as_array().unwrap();
    assert!(items.iter().any(|it| it["task"] == id.as_str()), "{queue}");
    for path in ["", "/diff", "/history", "/logs", "/path"] {
        scene.get(&format!("{task}{path}"));
    }
    // Sent back with the version that was seen.
    let why = scene.get(&format!("{task}/why"));
    let version = why["version"].as_u64().unwrap();
    let more = json!({ "message": "-- two lines, please" });
    let back = scene.step(&format!("{task}/request-changes"), version, &more);
    assert!([200, 202].contains(&back.status), "{back:?}");
    scene.stage.wait_for_turn("worker-2");
    scene.stage.wait_for_status(&id, "reviewing");
    scene.stage.wait_until_idle(&id);
    assert!(scene.stage.calls().contains("-- two lines, please"));
    // The page from before is stale now.
    for (path, body) in [
        ("steps", json!({ "to": "working" })),
        ("request-changes", more),
        ("cancel", json!({})),
        ("merge", json!({ "head": why["commit"] })),
    ] {
        let stale = scene.step(&format!("{task}/{path}"), version, &body);
        assert_eq!(
            (stale.status, stale.code().as_str()),
            (412, "task-changed"),
            "{path}"
        );
        let now = &stale.json()["error"]["details"]["version"];
        assert_eq!(
            *now,
            scene.stage.task(&id).version,
            "it names the current version"
        );
    }
    assert_eq!(scene.stage.task(&id).status.as_str(), "reviewing");
    // The commit that was shown before is not the one that would be merged.
    let why_now = scene.get(&format!("{task}/why"));
    let version = why_now["version"].as_u64().unwrap();
    assert_ne!(why["commit"], why_now["commit"]);
    let merge = format!("{task}/merge");
    let other = scene.step(&merge, version, &json!({ "head": why["commit"] }));
    assert_eq!((other.status, other.code().as_str()), (412, "head-changed"));
    // Two taps: one merge.
    let body = json!({ "head": why_now["commit"], "wait": 30 });
    let taps = thread::scope(|scope| {
        let taps = [(); 3].map(|()| scope.spawn(|| scene.step(&merge, version, &body)));
        taps.map(|it| it.join().unwrap())
    });
    scene.stage.wait_for_status(&id, "done");
    scene.stage.wait_until_idle(&id);
    for tap in &taps {
        let answer = tap.json();
        let is_fine = [200, 202].contains(&tap.status);
        let outcome = &answer["outcome"];
        assert!(
            is_fine && (outcome == "succeeded" || outcome == "already" || outcome == "in_flight")
                || tap.code() == "task-changed",
            "{tap:?}"
        );
    }
    assert!(
        taps.iter().any(|it| [200, 202].contains(&it.status)),
        "{taps:?}"
    );
    let merges = scene.stage.git("log --format=%s main");
    let merges = String::from_utf8(merges.stdout).unwrap();
    assert_eq!(merges.matches("one").count(), 1, "{merges}");
    let again = scene.step(&merge, version, &body);
    assert_eq!(
        (again.status, &again.json()["outcome"]),
        (200, &json!("already"))
    );
}

#[test]
fn a_step_needs_the_version_and_a_merge_the_commit() {
    let scene = Scene::new();
    let id = scene.stage.create(&["one", "One"]);
    let task = format!("/api/v1/tasks/{id}");
    let version = scene.stage.task(&id).version;
    let post = |path: &str, body: &Value, more: &[(&str, &str)]| {
        let path = format!("{task}/{path}");
        let answer = scene.api.post_with(&path, &scene.token, body, more);
        (answer.status, answer.code())
    };
    let missing = |status: u16, code: &str| (status, code.to_owned());
    for (path, body) in [
        ("steps", json!({ "to": "working" })),
        ("merge", json!({ "head": "0".repeat(40) })),
        ("cancel", json!({})),
    ] {
        assert_eq!(
            post(path, &body, &[]),
            missing(428, "version-required"),
            "{path}"
        );
        for bad in ["*", "7", "W/\"7\"", "\"x\"", "\"1\", \"2\""] {
            let answer = post(path, &body, &[("If-Match", bad)]);
            assert_eq!(answer, missing(400, "parameter-invalid"), "{path} {bad}");
        }
    }
    let current = format!("\"{version}\"");
    let current = [("If-Match", current.as_str())];
    for body in [
        json!({}),
        json!({ "head": "HEAD" }),
        json!({ "head": "abc" }),
    ] {
        let answer = post("merge", &body, &current);
        assert_eq!(answer, missing(400, "parameter-invalid"), "{body}");
    }
    let refused = post("steps", &json!({ "to": "nowhere" }), &current);
    assert_eq!(refused, missing(404, "status-not-found"));
    // A refusal may have imported TASK.md, so the version is read again.
    let current = format!("\"{}\"", scene.stage.task(&id).version);
    let refused = post("steps", &json!({ "to": "done" }), &[("If-Match", &current)]);
    assert_eq!(refused, missing(409, "refused"));
}

#[test]
fn the_command_line_has_the_same_preconditions() {
    let scene = Scene::new();
    let id = scene.reviewed();
    let version = scene.stage.task(&id).version.to_string();
    let old = format!("--if-version={}", version.parse::<u64>().unwrap() - 1);
    let now = format!("--if-version={version}");
    let call = |words: &[&str]| {
        let words: Vec<&str> = ["task"]
            .iter()
            .chain(words)
            .chain(&[id.as_str(), "--json"])
            .copied()
            .collect();
        let (exit, answer) = scene.stage.json(&words);
        (
            exit,
            answer["error"]["code"]
                .as_str()
                .unwrap_or("none")
                .to_owned(),
        )
    };
    let changed = (3, String::from("task-changed"));
    for words in [
        &["update", "--status=working"][..],
        &["complete"],
        &["request-changes", "-m", "more"],
        &["merge"],
        &["cancel"],
        &["reopen"],
    ] {
        let words: Vec<&str> = words.iter().chain(&[old.as_str()]).copied().collect();
        assert_eq!(call(&words), changed, "{words:?}");
    }
    let head = "0".repeat(40);
    let head = ["merge", now.as_str(), "--if-head", head.as_str()];
    assert_eq!(call(&head), (3, String::from("head-changed")));
    assert_eq!(
        call(&["merge", &now, "--if-head", "HEAD"]),
        (2, String::from("usage"))
    );
    assert_eq!(
        call(&["merge", "--if-head", "x"]),
        (2, String::from("usage"))
    );
    assert_eq!(scene.stage.task(&id).version.to_string(), version);
    assert_eq!(call(&["cancel", &now]).0, 0);
}
