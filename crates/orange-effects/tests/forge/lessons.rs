//! Lessons of other projects, as far as the client can learn them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orange_config::{Environment, clock};
use orange_effects::command::Invocation;
use orange_effects::forge::client::{Client, Conditional};
use orange_effects::forge::github::issues::CloseReason;
use orange_effects::forge::github::{Repository, accounts, details, glance};
use orange_effects::git::{Git, PushResult};
use orange_engine::forge::checks::{ChecksReading, ChecksVerdict, RepositoryChecks, Rollup};
use orange_engine::forge::feedback::Comment;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::marker::{has_key, marker};
use orange_engine::forge::pace::ChunkSize;
use orange_engine::names::BranchName;
use orange_engine::time::Timestamp;
use scripted_forge::Fault;
use serde_json::Value;

use crate::stage::{ISSUE, PULL, REPOSITORY, Stage, address, changed, client, text};

fn rollup(client: &mut Client, id: &str) -> Knowledge<Rollup> {
    let mut chunk = ChunkSize::new(50, Timestamp::from_millis(0));
    let found = glance::fetch_glance(client, &[id.to_owned()], &mut chunk);
    found.seen[id].rollup
}

#[test]
fn lesson_51_a_glance_sees_ci_that_the_mark_of_the_list_does_not_show() {
    let mut stage = Stage::new();
    let id = stage.pull_id();
    let list = "/repos/octo/demo/pulls?state=open&per_page=100";
    let look = |client: &mut Client, etag: Option<&str>| {
        client.fetch_pages::<Vec<Value>>(list, etag, 9).unwrap()
    };
    let first = changed(look(&mut stage.client, None));
    assert!(first.etag.is_some());
    assert_eq!(
        rollup(&mut stage.client, &id),
        Knowledge::Known(Rollup::Failure)
    );
    let run = stage.run().0;
    stage.repository().rerun_failed_jobs(run).unwrap();
    stage
        .forge
        .finish_job(REPOSITORY, PULL, "test", "success", "");
    // By the mark of the list, nothing has happened.
    let again = look(&mut stage.client, first.etag.as_deref());
    assert_eq!(again, Conditional::Unchanged);
    assert_eq!(
        rollup(&mut stage.client, &id),
        Knowledge::Known(Rollup::Success)
    );
    stage.forge.finish();
}

#[test]
fn lesson_89_gh_is_started_once_and_not_for_each_request() {
    let mut stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("started");
    let gh = folder.path().join("gh");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\necho '{}'\n",
        log.display(),
        stage.forge.user("octo")
    );
    fs::write(&gh, script).unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    // No other program can be found at all.
    let environment = Environment::of([("PATH", folder.path().display().to_string())]);
    stage.client = client(&stage.forge, &environment);
    let numbers = stage.forge.many_pulls(REPOSITORY, 120);
    let ids = stage.forge.node_ids(REPOSITORY, &numbers);
    let mut chunk = ChunkSize::new(50, Timestamp::from_millis(0));
    let found = glance::fetch_glance(&mut stage.client, &ids, &mut chunk);
    assert_eq!((found.seen.len(), found.requests), (120, 3));
    for _ in 0..10 {
        let id = stage.pull_id();
        details::fetch_details(&mut stage.client, &id).unwrap();
        let mut repository = stage.repository();
        repository.fetch_pull_request(PULL).unwrap();
        repository.create_comment(ISSUE, &text("x")).unwrap();
    }
    assert!(stage.forge.calls().len() > 30);
    let started = fs::read_to_string(&log).unwrap();
    assert_eq!(started, "auth token --hostname github.com\n");
    stage.forge.finish();
}

#[test]
fn lesson_78_a_push_that_starts_no_ci_is_not_green() {
    let mut stage = Stage::new();
    let forge = &stage.forge;
    forge.configure(REPOSITORY, |it| it.pushes_start_ci = false);
    forge.commit(REPOSITORY, "feature", &[("feature.txt", "changed\n")]);
    let (id, head) = (stage.pull_id(), stage.head());
    let found = details::fetch_details(&mut stage.client, &id).unwrap();
    assert_eq!((&found.head, found.rollup), (&head, Knowledge::None));
    assert!(found.checks.is_empty() && found.are_checks_complete);
    let reading = ChecksReading {
        commit: found.head,
        checks: found.checks,
        is_complete: found.are_checks_complete,
        rollup: found.rollup,
        required: Knowledge::Known(BTreeSet::from([String::from("test")])),
        repository: RepositoryChecks::Exist,
        pushed: Timestamp::from_millis(0),
    };
    let verdict = reading.judge(&head, clock::now());
    let missing = ChecksVerdict::Missing {
        required: vec![String::from("test")],
    };
    assert_eq!(verdict, Knowledge::Known(missing));
    stage.forge.finish();
}

fn git(environment: &Environment, directory: &Path, arguments: &[&str]) {
    let call = Invocation::new("git", environment.variables().clone());
    let call = call.arguments(arguments).directory(directory);
    call.require_success().unwrap();
}

#[test]
fn lesson_79_a_push_that_workflow_files_stop_names_the_permission() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().display().to_string();
    let environment = Environment::of([
        ("PATH", String::from("/usr/local/bin:/usr/bin:/bin")),
        ("HOME", home),
        ("GIT_CONFIG_GLOBAL", String::from("/dev/null")),
    ]);
    let remote = stage.forge.path(REPOSITORY).display().to_string();
    let clone = folder.path().join("clone");
    let clone_text = clone.display().to_string();
    git(
        &environment,
        folder.path(),
        &["clone", "-q", &remote, &clone_text],
    );
    git(&environment, &clone, &["checkout", "-q", "-b", "workflow"]);
    fs::create_dir_all(clone.join(".github/workflows")).unwrap();
    fs::write(clone.join(".github/workflows/ci.yml"), "on: push\n").unwrap();
    git(&environment, &clone, &["add", "."]);
    let name = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let commit = [&name[..], &["commit", "-q", "-m", "CI"]].concat();
    git(&environment, &clone, &commit);
    let opened = Git::open("git", &clone, &environment).unwrap();
    let push = || opened.push_branch(&BranchName::new("workflow")).unwrap();
    stage
        .forge
        .configure(REPOSITORY, |it| it.allow_workflow_files(false));
    let PushResult::Rejected(reason) = push() else {
        panic!("it was not rejected");
    };
    assert!(reason.contains("without `workflow` scope"), "{reason}");
    assert!(reason.contains(".github/workflows/ci.yml"), "{reason}");
    assert_eq!(stage.forge.tip(REPOSITORY, "workflow"), None);
    stage
        .forge
        .configure(REPOSITORY, |it| it.allow_workflow_files(true));
    assert_eq!(push(), PushResult::Done);
    stage.forge.finish();
}

#[test]
fn lesson_85_a_comment_is_not_repeated_because_the_next_step_fails() {
    for fault in [Fault::ServerError, Fault::CutBefore, Fault::Unauthorized] {
        let mut stage = Stage::new();
        let own = accounts::fetch_own_account(&mut stage.client).unwrap();
        let key = "t1/closed";
        let body = text(&format!("Done in #1.\n\n{}", marker(key)));
        // The first comment lands, but its answer is lost.
        stage
            .forge
            .fault("issues/create-comment", 1, Fault::CutAfter);
        stage.forge.fault_always("issues/update", fault);
        for cycle in 0..5 {
            if cycle == 4 {
                stage.forge.clear_faults();
            }
            let mut repository = Repository::new(&mut stage.client, &address());
            let there = repository.fetch_comments(ISSUE).unwrap();
            assert!(there.is_complete);
            let is_ours = |it: &Comment| has_key(&it.body, it.author.as_ref(), &own, key);
            if !there.items.iter().any(is_ours) {
                let _lost = repository.create_comment(ISSUE, &body);
            }
            let closed = repository.close_issue(ISSUE, CloseReason::Completed);
            assert_eq!(closed.is_ok(), cycle == 4, "{fault:?}: {closed:?}");
        }
        let issue = stage.forge.get(REPOSITORY, ISSUE);
        assert_eq!((issue.comments.len(), issue.is_open), (2, false));
        assert_eq!(stage.forge.count("issues/create-comment"), 1);
        stage.forge.finish();
    }
}
