//! Every command is an operation, or only for the terminal.

use std::collections::BTreeSet;
use std::process::Output;

use orange_web::operations::{OPERATIONS, TERMINAL_ONLY};
use serde_json::json;

use crate::client::Api;
use crate::support::Stage;

fn help(stage: &Stage, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let output: Output = stage.orange(&words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Every command that help and the manual pages name; short forms stand for another one.
fn commands(stage: &Stage) -> BTreeSet<String> {
    let folder = stage.path("man");
    std::fs::create_dir(&folder).unwrap();
    stage.run_ok(&["man", "--dir", folder.to_str().unwrap()]);
    let pages = std::fs::read_dir(&folder).unwrap();
    let pages = pages.map(|it| it.unwrap().file_name().into_string().unwrap());
    let pages: BTreeSet<String> = pages.collect();
    let names = pages
        .iter()
        .filter_map(|it| it.strip_suffix(".1")?.strip_prefix("orange-"));
    let names: Vec<&str> = names.collect();
    // Names of commands have dashes too, so the page of `task request-changes` has two readings.
    let groups: Vec<&str> = names
        .iter()
        .filter(|name| names.iter().any(|it| it.starts_with(&format!("{name}-"))))
        .copied()
        .collect();
    let mut found = BTreeSet::new();
    for name in &names {
        let inside = groups.iter().find_map(|group| {
            let inner = name.strip_prefix(group)?.strip_prefix('-')?;
            Some(format!("{group} {inner}"))
        });
        let command = inside.unwrap_or_else(|| (*name).to_owned());
        let text = help(stage, &format!("help {command}"));
        let is_group = text.contains("\nCommands:\n") && !text.contains(" [COMMAND]");
        if !is_group && !text.contains("Short for ") {
            found.insert(command);
        }
    }
    found
}

#[test]
fn every_command_is_an_operation_or_has_a_reason_not_to_be() {
    let stage = Stage::new("minimal");
    let existing = commands(&stage);
    assert!(existing.len() > 60, "{existing:?}");
    let served = OPERATIONS.iter().map(|it| it.command);
    let kept = TERMINAL_ONLY.iter().map(|(command, _)| *command);
    let covered: BTreeSet<String> = served.chain(kept).map(str::to_owned).collect();
    assert_eq!(covered, existing);
}

#[test]
fn every_operation_has_a_published_shape() {
    let stage = Stage::new("minimal");
    let shapes = stage.run_ok(&["schema"]);
    let shapes: BTreeSet<&str> = shapes.lines().collect();
    for operation in OPERATIONS {
        assert!(shapes.contains(operation.shape), "{}", operation.shape);
    }
}

/// An answer over HTTP is what the command prints with `--json`.
#[test]
fn every_read_answers_what_the_command_prints() {
    let stage = Stage::new("minimal");
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "read");
    let id = stage.create(&["one", "One"]);
    let task = id.as_str();
    for (path, words) in [
        ("tasks", "task list --all"),
        (
            "tasks?project=app&status=working",
            "task list --project app --status working",
        ),
        ("tasks/ID", "task show ID"),
        ("tasks/ID?document=true", "task show ID --document"),
        ("tasks/ID/why", "task why ID"),
        ("tasks/ID/history", "task history ID"),
        ("tasks/ID/history?all=true", "task history ID --all"),
        ("projects", "project list"),
        ("projects/app", "project show app"),
        ("workflows", "workflow list"),
        ("workflows/default", "workflow show default"),
        ("workflows/default/graph", "workflow graph default"),
        ("notes", "note list --all"),
        ("jobs", "job list"),
        ("harnesses", "harness list"),
        ("config?project=app", "config show --project app"),
        ("workspaces?project=app", "workspace list --project app"),
        ("schemas", "schema"),
        (
            "schemas?name=orange.task.show/1",
            "schema orange.task.show/1",
        ),
        ("budget", "budget"),
        ("forge?project=app", "forge status --project app"),
        (
            "report?since=1d&project=app",
            "report --since 1d --project app",
        ),
    ] {
        let words = format!("{words} --json").replace("ID", task);
        let printed = stage.json(&words.split(' ').collect::<Vec<_>>()).1;
        let answer = api.get(&format!("/api/v1/{path}").replace("ID", task), &token);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let mut answered = answer.json();
        for body in [&mut answered] {
            // The time of the answer.
            if let Some(object) = body.as_object_mut() {
                object.remove("now");
            }
        }
        let keys = |it: &serde_json::Value| {
            let object = it.as_object().unwrap();
            object
                .keys()
                .filter(|key| *key != "now")
                .cloned()
                .collect::<BTreeSet<String>>()
        };
        assert_eq!(answered["schema"], printed["schema"], "{path}");
        assert_eq!(keys(&answered), keys(&printed), "{path}");
    }
    for (path, status, code) in [
        ("tasks/zzzz", 404, "task-not-found"),
        ("tasks/ID/diff", 409, "not-started"),
        ("tasks/ID/path", 404, "no-worktree"),
        ("tasks/ID/logs", 404, "no-output"),
        ("projects/tea", 404, "project-not-found"),
        ("workflows/tea", 404, "workflow-not-found"),
        ("issues", 409, "no-forge"),
        ("schemas?name=orange.tea/1", 404, "schema-not-found"),
        ("compare?tasks=ID", 200, "none"),
        ("doctor", 200, "none"),
        ("attention", 200, "none"),
    ] {
        let answer = api.get(&format!("/api/v1/{path}").replace("ID", task), &token);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path}"
        );
    }
}

#[test]
fn every_act_reaches_its_command() {
    let stage = Stage::new("minimal");
    stage.run_ok(&[
        "job",
        "add",
        "@daily",
        "--command",
        "true",
        "--name",
        "tidy",
    ]);
    let api = Api::start(&stage);
    let token = api.pair(&stage, "phone", "act");
    let id = stage.create(&["one", "One"]);
    let post = |path: &str, body: serde_json::Value| {
        let path = format!("/api/v1/{path}").replace("ID", id.as_str());
        let answer = api.post(&path, &token, &body);
        (answer.status, answer.code())
    };
    let done = (200, String::from("none"));
    assert_eq!(
        post("notes", json!({ "text": "-q", "project": "app" })),
        done
    );
    assert_eq!(post("notes/1/accept", json!({})), done);
    assert_eq!(post("notes/1/reject", json!({})), done);
    assert_eq!(
        post("notes/9/accept", json!({})),
        (404, String::from("note-not-found"))
    );
    assert_eq!(post("jobs/tidy/disable", json!({})), done);
    assert_eq!(post("jobs/tidy/enable", json!({})), done);
    assert_eq!(
        post("jobs/nothing/run", json!({})),
        (404, String::from("job-not-found"))
    );
    assert_eq!(
        post("issues/7/approve", json!({})),
        (409, String::from("no-forge"))
    );
    assert_eq!(
        post("issues/7/ignore", json!({})),
        (409, String::from("no-forge"))
    );
    for (path, body) in [
        ("tasks/ID/tell", json!({ "message": "Hello" })),
        ("tasks/ID/stop", json!({})),
        ("tasks/ID/restart", json!({})),
        ("tasks/ID/respawn", json!({})),
        ("tasks/ID/unblock", json!({})),
        ("tasks/ID/retry", json!({})),
    ] {
        let (status, code) = post(path, body);
        assert!([200, 409].contains(&status), "{path}: {status} {code}");
    }
    let keep = post("tasks/ID/keep", json!({ "confirm": true }));
    assert_eq!(keep, (409, String::from("no-group")));
    assert_eq!(
        post("tasks/ID/keep", json!({})).0,
        400,
        "it wants a confirmation"
    );
    let opened = post("tasks/ID/pull-request", json!({ "draft": true }));
    assert_eq!(opened, (409, String::from("no-forge")));
    let cleared = post("tasks/ID/clear-attention", json!({}));
    assert_eq!(cleared, (409, String::from("refused")), "it has not ended");
    for bad in [json!([]), json!({ "message": 1 }), json!({ "yes": true })] {
        assert_eq!(post("tasks/ID/tell", bad).0, 400);
    }
    for bad in ["@/etc/passwd", "-"] {
        let (status, code) = post("tasks", json!({ "summary": "Two words", "context": bad }));
        assert_eq!((status, code.as_str()), (400, "parameter-invalid"), "{bad}");
    }
    let version = format!("\"{}\"", stage.task(&id).version);
    let path = format!("/api/v1/tasks/{id}/cancel");
    let more = [("If-Match", version.as_str())];
    let cancelled = api.post_with(&path, &token, &json!({}), &more);
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
}
