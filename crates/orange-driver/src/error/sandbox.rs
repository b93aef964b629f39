//! Reports for errors of sandboxes.

use orange_engine::names::TaskId;
use serde_json::json;

use super::report::{Kind, Report};

pub(super) fn no_sandbox(reason: &str, fix: &str) -> Report {
    Report::new(Kind::Refused, "sandbox-missing")
        .hint("`orange doctor` shows what this machine can do")
        .details(json!({ "reason": reason, "fix": fix }))
}

pub(super) fn not_started_inside(program: &str) -> Report {
    Report::new(Kind::NotFound, "not-in-sandbox-path")
        .hint("`orange sandbox explain TASK` shows which folders are visible inside")
        .details(json!({ "program": program }))
}

pub(super) fn no_sandboxed_run(task: &TaskId) -> Report {
    Report::new(Kind::NotFound, "no-sandboxed-run")
        .hint(format!(
            "`orange sandbox explain {task}` shows what its next one gets"
        ))
        .details(json!({ "task": task }))
}

pub(super) fn shared_network(task: &TaskId, port: u16) -> Report {
    Report::new(Kind::Refused, "network-shared")
        .hint(format!("open http://127.0.0.1:{port} itself"))
        .details(json!({ "task": task, "port": port }))
}

pub(super) fn port_not_opened() -> Report {
    Report::new(Kind::Refused, "port-not-opened").hint("choose another one with `--listen`")
}
