//! What a night must have come to in the morning.

use std::collections::BTreeSet;
use std::fs;

use orange_engine::Task;
use orange_engine::names::TaskId;
use scripted_forge::Call;
use serde_json::Value;

use super::{GREEDY, KINDS, Night, REPOSITORY, TOKENS, attempts};
use crate::stage::Stage;

fn attention(stage: &Stage) -> Vec<Value> {
    let answer = stage.orange(&["attention", "--all", "--json"]);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    answer["items"].as_array().unwrap().clone()
}

/// Every task ended as its issue wanted, or waits for a person with a reason.
pub(super) fn assert_tasks(night: &Night) {
    let tasks = night.tasks();
    let waiting = attention(&night.stage);
    for (number, kind) in &night.issues {
        let link = |task: &&Task| task.issue.as_ref().is_some_and(|it| it.number == *number);
        let of_issue: Vec<&Task> = tasks.values().filter(link).collect();
        let [task] = of_issue[..] else {
            panic!("issue {number} has {} tasks", of_issue.len());
        };
        let expected = KINDS.iter().find(|it| it.0 == *kind).unwrap().1;
        let status = task.status.as_str();
        assert_eq!(
            status,
            expected,
            "{kind}: {}",
            night.stage.diagnostics(&task.id)
        );
        let children = usize::from(*kind == "delegate") * 2;
        assert_eq!(task.children.len(), children, "{kind}");
    }
    for task in tasks.values() {
        let kind = night.kind_of(task).unwrap_or("job or child");
        let (id, status) = (&task.id, task.status.as_str());
        assert!(attempts(task) <= 5, "{kind} {id}: {}", attempts(task));
        if night.kind_of(task).is_none() {
            assert_eq!(status, "done", "{kind}: {}", night.stage.diagnostics(id));
        }
        let own = waiting.iter().filter(|it| it["task"] == id.as_str());
        let reason = |word: &str| {
            own.clone()
                .filter_map(|it| it["text"].as_str())
                .any(|it| !it.is_empty() && it.contains(word))
        };
        let is_explained = match status {
            // What the forge did not get has a reason too.
            "done" => night.forge.tip(REPOSITORY, task.branch.as_str()).is_some() || reason("push"),
            "new" => reason("budget"),
            _ => reason(""),
        };
        assert!(is_explained, "{kind} {id} is {status}: {waiting:#?}");
    }
    // The ids of effects are counted in each task, so the parent is a part of the key.
    let keys = tasks
        .values()
        .filter_map(|it| Some((&it.queueing.parent, it.queueing.delegation.as_ref()?)));
    let keys: Vec<String> = keys.map(|it| format!("{it:?}")).collect();
    let distinct: BTreeSet<&String> = keys.iter().collect();
    assert_eq!(keys.len(), distinct.len(), "{keys:#?}");
    let fires = tasks.values().filter_map(|it| it.job.clone());
    let fires: Vec<String> = fires.map(|it| format!("{it:?}")).collect();
    let distinct: BTreeSet<&String> = fires.iter().collect();
    assert_eq!(fires.len(), distinct.len(), "{fires:#?}");
}

/// No agent has worked in a worktree that was not its task's.
pub(super) fn assert_worktrees(night: &Night) {
    let astray = fs::read_to_string(night.stage.path("night/astray"));
    assert_eq!(astray.unwrap_or_default(), "");
}

/// No issue has two comments, and the outage hit everything.
pub(super) fn assert_forge(night: &Night) {
    for (number, kind) in &night.issues {
        let comments = night.forge.get(REPOSITORY, *number).comments;
        assert_eq!(comments.len(), 1, "{number} {kind}: {comments:#?}");
    }
    // The outage hit every request, and afterwards none.
    let calls = night.forge.calls();
    let failed = |it: &Call| it.fault.is_some();
    let first = calls.iter().position(failed).unwrap();
    let last = calls.iter().rposition(failed).unwrap();
    let spared: Vec<&Call> = calls[first..=last]
        .iter()
        .filter(|it| !failed(it))
        .collect();
    assert!(spared.is_empty(), "{spared:#?}");
    // Nothing is merged.
    let main = night.stage.git_text("rev-parse main");
    assert_eq!(
        Some(main.trim().to_owned()),
        night.forge.tip(REPOSITORY, "main")
    );
    assert_eq!(night.stage.git_text("rev-list --count main").trim(), "1");
}

/// Only a greedy task has used more than its budget.
pub(super) fn assert_budget(night: &Night) {
    let answer = night
        .stage
        .orange(&["task", "list", "--all", "--cost", "--json"]);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let tasks = night.tasks();
    for shown in answer["tasks"].as_array().unwrap() {
        let usage = &shown["usage"];
        let used = ["input_tokens", "output_tokens", "cached_tokens"];
        let used = used.map(|it| usage[it].as_u64().unwrap_or(0));
        let used: u64 = used.iter().sum();
        let task = &tasks[&TaskId::new(shown["id"].as_str().unwrap())];
        let is_greedy = night.kind_of(task) == Some(GREEDY);
        assert_eq!(used > TOKENS, is_greedy, "{shown}");
    }
}
