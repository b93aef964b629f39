//! Who a caller is, and which requests it may make.

use orange_driver::{Driver, DriverError, Identity};
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use crate::support::{Stage, environment};

fn driver_with(stage: &Stage, variables: &[(&str, &str)]) -> Driver {
    let environment = environment(&stage.path(""), variables);
    Driver::new(&environment, env!("CARGO_BIN_EXE_orange").into()).unwrap()
}

/// A task whose worker has written out its variables.
fn start_worker(stage: &Stage) -> (TaskId, String, String) {
    stage.script(
        "worker-1",
        "echo $ORANGE_RUN_ID > $SCRIPTS/run\necho $ORANGE_RUN_PROOF > $SCRIPTS/proof",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let read_script = |name: &str| {
        let text = std::fs::read_to_string(stage.path("scripts").join(name)).unwrap();
        text.trim().to_owned()
    };
    (id, read_script("run"), read_script("proof"))
}

#[test]
fn a_proof_is_valid_for_one_role_and_one_task() {
    let stage = Stage::new("default");
    let (id, run, proof) = start_worker(&stage);
    let worker = Identity {
        role: Role::Worker,
        task: Some(id.clone()),
        is_by_directory: false,
    };
    let own = [
        ("ORANGE_RUN_ID", run.as_str()),
        ("ORANGE_RUN_PROOF", &proof),
        ("ORANGE_TASK_ID", id.as_str()),
    ];
    let driver = driver_with(&stage, &own);
    assert_eq!(driver.callers.identify().unwrap(), worker);
    assert_eq!(driver.callers.identify_for(&id).unwrap(), worker);
    let other = TaskId::new("other");
    let refused = driver.callers.identify_for(&other);
    assert!(
        matches!(refused, Err(DriverError::OtherTask { .. })),
        "{refused:?}"
    );

    let mut forged = own;
    forged[1].1 = "guessed";
    let refused = driver_with(&stage, &forged).callers.identify();
    assert!(
        matches!(refused, Err(DriverError::ProofInvalid(_))),
        "{refused:?}"
    );
    let mut elsewhere = own;
    elsewhere[2].1 = "other";
    let refused = driver_with(&stage, &elsewhere).callers.identify();
    assert!(
        matches!(refused, Err(DriverError::ProofInvalid(_))),
        "{refused:?}"
    );

    // A mark without proof identifies neither the run nor the user.
    for incomplete in [
        &[("ORANGE_RUN_ID", run.as_str())][..],
        &[("ORANGE_RUN_ID", "x")],
        &[("ORANGE_RUN_PROOF", proof.as_str())],
        &[("ORANGE_ROLE", "reviewer")],
    ] {
        let refused = driver_with(&stage, incomplete).callers.identify();
        let refused = refused.map_err(|error| matches!(error, DriverError::CallerUnknown(_)));
        assert_eq!(refused, Err(true), "{incomplete:?}");
    }
    let unknown = [("ORANGE_RUN_ID", "x"), ("ORANGE_RUN_PROOF", proof.as_str())];
    let refused = driver_with(&stage, &unknown).callers.identify();
    assert!(
        matches!(refused, Err(DriverError::ProofInvalid(_))),
        "{refused:?}"
    );
    let inside = driver_with(&stage, &[]).with_directory(Some(stage.worktree(&id).join(".")));
    let by_directory = Identity {
        is_by_directory: true,
        ..worker.clone()
    };
    assert_eq!(inside.callers.identify().unwrap(), by_directory);
    let outside = driver_with(&stage, &[]).with_directory(Some(stage.path("repo")));
    assert_eq!(outside.callers.identify().unwrap().role, Role::Human);

    // A run that has ended cannot make requests, and its proof does not make a caller the user.
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    let refused = driver.callers.identify();
    assert!(
        matches!(&refused, Err(DriverError::CallerUnknown(why)) if why.contains("has ended")),
        "{refused:?}"
    );
}

#[test]
fn an_agent_without_its_variables_is_identified_by_its_parent() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan\ncd /\n\
         env -u ORANGE_RUN_ID -u ORANGE_RUN_PROOF -u ORANGE_ROLE orange task cancel $ORANGE_TASK_ID \
         > $SCRIPTS/said 2>&1\necho $? >> $SCRIPTS/said",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let output = std::fs::read_to_string(stage.path("scripts/said")).unwrap();
    assert!(
        output.contains("worker") && output.ends_with("3\n"),
        "{output}"
    );
    assert_eq!(stage.task(&id).status.as_str(), "planning");
}

#[test]
fn a_hook_that_calls_back_on_its_own_task_is_refused() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    let inside = [("ORANGE_EFFECT_ID", "7"), ("ORANGE_TASK_ID", id.as_str())];
    let refused = driver_with(&stage, &inside).callers.identify_for(&id);
    assert!(
        matches!(refused, Err(DriverError::InsideEffect { .. })),
        "{refused:?}"
    );
    let mut orange = stage.orange(&["task", "cancel", id.as_str(), "--json"]);
    let output = orange.envs(inside).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(answer["error"]["code"], "inside-effect");
}

#[test]
fn an_agent_that_outlives_an_update_of_orange_can_still_send_requests() {
    let stage = Stage::new("default");
    let (id, run, proof) = start_worker(&stage);
    // The database as an earlier version left it.
    let database = rusqlite::Connection::open(stage.home().database()).unwrap();
    database
        .execute_batch(
            "DROP INDEX tasks_in_order;
             DROP INDEX tasks_by_harness;
             DROP INDEX tasks_by_review_harness;
             DROP TABLE dependencies;
             DROP TABLE notified;
             DROP INDEX inbox_unread;
             ALTER TABLE inbox DROP COLUMN typed_run;
             ALTER TABLE inbox DROP COLUMN typed_at;
             ALTER TABLE inbox DROP COLUMN sent_at;
             ALTER TABLE inbox DROP COLUMN confirmed_at;
             ALTER TABLE inbox DROP COLUMN problem;
             DROP TABLE parked;
             ALTER TABLE imports RENAME COLUMN is_request TO asked;
             ALTER TABLE pending RENAME COLUMN next_attempt_at TO next_try_at;
             DROP INDEX tasks_by_parent;
             ALTER TABLE tasks DROP COLUMN parent;
             DROP INDEX tasks_by_sequence;
             DROP TABLE task_rows;
             DROP TABLE gate_commands;
             DROP TABLE issue_tasks; DROP TABLE issue_cursors; DROP TABLE issues;
             DROP TABLE pull_requests;
             DROP TABLE posts;
             DROP INDEX events_by_time; DROP TABLE spend; DROP TABLE job_runs; DROP TABLE jobs;
             DROP TABLE delegations;
             DROP TABLE chat_channels; DROP TABLE chat_messages;
             DROP TABLE former_workflows; DROP TABLE arrivals; DROP TABLE log_commits;
             DROP TABLE decided_mail; DROP TABLE membership;
             ALTER TABLE sequence DROP COLUMN is_joined;
             CREATE TABLE facts (task TEXT NOT NULL, entered INTEGER NOT NULL, head TEXT NOT NULL,
                 facts TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (task, entered, head)) STRICT;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(database);
    let mut asking = stage.orange(&["task", "update", "--summary", "Add two lines"]);
    asking.envs([("ORANGE_RUN_ID", &run), ("ORANGE_RUN_PROOF", &proof)]);
    let output = asking.env("ORANGE_TASK_ID", id.as_str()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let listed = stage.run_ok(&["task", "list"]);
    assert!(listed.contains("Add two lines"), "{listed}");
    assert_eq!(stage.task(&id).summary, "Add two lines");
    stage.run_ok(&["task", "list"]);
}

#[test]
fn programs_started_for_an_agent_see_the_users_variables() {
    let stage = Stage::new("respawn");
    let harness = stage.path("home/harnesses/script.toml");
    let text = std::fs::read_to_string(&harness).unwrap();
    let other = text.replace("name = \"script\"", "name = \"other\"");
    let other = format!("{other}\n[environment]\npass = [\"OTHER_KEY\"]\n");
    std::fs::write(stage.path("home/harnesses/other.toml"), other).unwrap();
    let unused = text.replace("name = \"script\"", "name = \"unused\"");
    let unused = format!("{unused}\n[environment]\npass = [\"UNUSED_KEY\"]\n");
    std::fs::write(stage.path("home/harnesses/unused.toml"), unused).unwrap();
    stage.script(
        "worker-1",
        "echo \"${OTHER_KEY-none}\" > $SCRIPTS/worker-key\nPATH=/planted:$PATH\n\
         echo 'DONE: a line' | section Handoff\nask task update --status agent-review",
    );
    stage.script(
        "reviewer-1",
        "echo \"$OTHER_KEY\" > $SCRIPTS/reviewer-key\necho \"$PATH\" > $SCRIPTS/reviewer-path",
    );
    let id = stage.create(&["Add a line", "--review-harness", "other"]);
    let mut spawn = stage.orange(&["task", "spawn", id.as_str()]);
    spawn.env("OTHER_KEY", "secret").env("UNUSED_KEY", "hush");
    let spawned = spawn.output().unwrap();
    assert!(spawned.status.success(), "{spawned:?}");
    stage.wait_for_turn("reviewer-1");
    let output = |name: &str| std::fs::read_to_string(stage.path("scripts").join(name)).unwrap();
    assert_eq!(output("worker-key"), "none\n", "not passed to that harness");
    assert_eq!(output("reviewer-key"), "secret\n");
    assert!(!output("reviewer-path").contains("/planted"));
    // A key that no task or project uses is not stored anywhere.
    let kept = std::fs::read_to_string(stage.home().environment()).unwrap();
    assert!(kept.contains("secret") && !kept.contains("hush"), "{kept}");
}

#[test]
fn an_agent_cannot_perform_effects_or_rebuild_the_database() {
    let stage = Stage::new("default");
    let (id, run, _) = start_worker(&stage);
    for words in [["perform", id.as_str()], ["gather", id.as_str()]] {
        let output = stage.orange(&words).env("ORANGE_RUN_ID", &run).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {output:?}");
    }
    // Even without a mark, a caller inside a worktree does not count as the user.
    let mut rebuild = stage.orange(&["rebuild", "--move-aside"]);
    let output = rebuild.current_dir(stage.worktree(&id)).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("only the user may"));
}
