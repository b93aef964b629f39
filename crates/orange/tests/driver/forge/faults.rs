//! No fault of the forge changes a task's status or events.

use std::collections::BTreeSet;
use std::fs;

use orange_engine::names::TaskId;
use scripted_forge::{Fault, Permission};

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

/// What a look asks about a pull request whose checks have failed and that has a comment.
const OPERATIONS: [&str; 9] = [
    "actions/download-job-logs-for-workflow-run",
    "actions/list-jobs-for-workflow-run",
    "actions/list-workflow-runs-for-repo",
    "node",
    "nodes",
    "repos/get-branch-rules",
    "repos/get-collaborator-permission-level",
    "repos/get-status-checks-protection",
    "users/get-authenticated",
];

/// The status, and how many events there are.
fn state(it: &ForgeStage, id: &TaskId) -> (String, usize, u64) {
    let store = it.stage.store();
    let events = store.events(id, 0).unwrap().len();
    let status = it.stage.task(id).status.to_string();
    (status, events, store.sequence().unwrap())
}

/// Looks as a new process does, which knows nothing yet; returns what it shows.
fn look(it: &ForgeStage, id: &TaskId) -> String {
    let feedback = it.stage.path(&format!("home/tasks/app/{id}/feedback"));
    if feedback.exists() {
        fs::remove_dir_all(feedback).unwrap();
    }
    let looked = it.stage.driver().requests.look_at_pull_request(id);
    format!("{looked:?}")
}

/// The operations that one look uses.
fn operations(it: &ForgeStage, id: &TaskId) -> BTreeSet<String> {
    let before = it.forge.calls().len();
    look(it, id);
    let calls = it.forge.calls().split_off(before).into_iter();
    let names = calls.flat_map(|call| match call.operation.as_str() {
        "graphql" => call.fields,
        _ => vec![call.operation],
    });
    names.filter(|it| it != "rateLimit").collect()
}

/// Tries every fault of each of these operations; returns how many looks were made.
fn assert_nothing_changes(it: &ForgeStage, id: &TaskId, operations: &BTreeSet<String>) -> usize {
    let before = state(it, id);
    let mut looks = 0;
    for operation in operations {
        for fault in Fault::ALL {
            it.forge.fault_always(operation, fault);
            let shown = look(it, id);
            it.forge.clear_faults();
            assert_eq!(state(it, id), before, "{operation} with {fault:?}: {shown}");
            looks += 1;
        }
    }
    look(it, id);
    assert_eq!(state(it, id), before, "afterwards");
    looks
}

#[test]
fn faults_of_a_look_change_nothing() {
    let it = ForgeStage::new("minimal");
    it.forge.workflow(REPOSITORY, "CI", &["test"]);
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str(), "--ready"]);
    it.forge
        .finish_job(REPOSITORY, 1, "test", "failure", "no\n");
    it.forge.user("grace");
    it.forge.allow(REPOSITORY, "grace", Permission::Write);
    it.forge.comment(REPOSITORY, 1, "grace", "Why?");
    let required = scripted_forge::Protection {
        required_checks: vec![String::from("test")],
        ..scripted_forge::Protection::default()
    };
    it.forge.protect(REPOSITORY, "main", required);
    it.look(&id);
    it.stage.wait_until_idle(&id);
    let writes = it.forge.writes().len();
    let used = operations(&it, &id);
    assert_eq!(used, OPERATIONS.map(String::from).into());
    assert_eq!(assert_nothing_changes(&it, &id, &used), 9 * 13);
    assert_eq!(it.forge.writes().len(), writes);
}

#[test]
fn faults_of_a_search_link_no_request() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let used = operations(&it, &id);
    assert_eq!(used, [String::from("repository")].into());
    assert_eq!(assert_nothing_changes(&it, &id, &used), 13);
    assert_eq!(it.stage.task(&id).pull_request, None);
}
