//! Creating and importing are killed at every step, then repeated.

use std::fs;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::git::{Git, Import, PrivateRepository, PrivateResult};
use orange_effects::process::processes_in;
use orange_engine::names::TaskId;

use super::sandbox::{
    MAX_BYTES, Sandbox, TASK, check_repository, collect_garbage, create, folder, worktree_fixture,
};
use crate::kill_points::{KillMode, child_process, run};
use crate::merge::tip;
use crate::repo_fixture::{RepoFixture, commit_files, files};

/// How many tests share the calls of one act.
const SHARDS: usize = 2;

/// What the killed child does.
pub fn perform(repo: &RepoFixture, git: &Git, what: &str) {
    match what {
        "create_private" => drop(create(repo, git)),
        "import_private" => {
            let found = PrivateRepository::find(&folder(repo), &TaskId::new(TASK)).unwrap();
            let sandbox = Sandbox::around(repo, git, found.unwrap());
            let inside = |words: &[&str]| sandbox.git(words);
            sandbox
                .try_import(git, repo, &inside, MAX_BYTES)
                .map(drop)
                .unwrap();
        }
        what => panic!("{what}"),
    }
}

/// A saved fixture in which the act can be performed, and the commit that it is about.
fn stage(what: &str) -> (RepoFixture, String) {
    let repo = worktree_fixture();
    let mut expected = tip(&repo, &repo.app(), "fix");
    if what == "import_private" {
        let sandbox = Sandbox::new(&repo);
        sandbox.run(
            "head -c 300000 /dev/urandom >large; git add large; git commit -q -m large; \
             echo more >>README; git rm -q data.bin; git add README; git commit -q -m more",
        );
        expected = sandbox.tip("fix");
    }
    repo.save();
    (repo, expected)
}

/// Checks everything that must hold right after the kill, and after one further attempt.
fn repeat(repo: &RepoFixture, what: &str, expected: &str, text: &str) {
    let is_alone = || processes_in(&repo.path(""), "git").is_ok_and(|found| found.is_empty());
    assert!(
        Deadline::after(Duration::from_mins(1)).wait_for(is_alone),
        "{text}"
    );
    check_repository(repo, text);
    // The user may collect garbage at any time.
    collect_garbage(repo);
    let lock = repo.app().join(".git/refs/heads/fix.lock");
    // A killed git leaves its lock behind, and the error says so; the user removes it.
    let _none = fs::remove_file(lock);
    if what == "create_private" {
        let lock = repo.app().join(".git/refs/orange/base/t1.lock");
        let _none = fs::remove_file(lock);
        let sandbox = Sandbox::new(repo);
        assert_eq!(sandbox.tip("HEAD"), expected, "{text}");
        sandbox.run("test -z \"$(git status --porcelain)\"; git fsck --strict --no-dangling");
        assert!(!folder(repo).join("new").exists(), "{text}");
        sandbox.run("echo a >a; git add a; git commit -q -m a");
        sandbox.import_all(repo, text);
    } else {
        let sandbox = Sandbox::new(repo);
        match sandbox.import(repo) {
            Import::Imported { commit, .. } | Import::Unchanged(commit) => {
                assert_eq!(commit.as_str(), expected, "{text}");
            }
            Import::Refused(refusal) => panic!("{text}: {refusal:?}"),
        }
        assert_eq!(tip(repo, &repo.app(), "fix"), expected, "{text}");
        assert_eq!(commit_files(repo, expected), files(&repo.slot()), "{text}");
        assert_eq!(
            repo.git(&repo.slot(), &["status", "--porcelain"]),
            "",
            "{text}"
        );
    }
    let directory = repo.app().join(".git");
    assert!(!directory.join("orange-import").exists(), "{text}");
    for entry in fs::read_dir(directory.join("objects/pack")).unwrap() {
        let name = entry.unwrap().path();
        let is_left = name.extension().is_some_and(|it| it == "keep");
        let is_temporary = name.display().to_string().contains("/tmp_");
        assert!(!is_left && !is_temporary, "{text}: {}", name.display());
    }
    check_repository(repo, text);
    collect_garbage(repo);
    check_repository(repo, text);
}

/// Goes through every call of one shard; the shards run in parallel.
fn every_call(what: &str, shard: usize) {
    let (repo, expected) = stage(what);
    for at in (shard + 1..).step_by(SHARDS) {
        let ways = [KillMode::Before, KillMode::After, KillMode::During];
        let mut calls = 0;
        for way in ways {
            calls = run(&repo, what, at, way);
            repeat(
                &repo,
                what,
                &expected,
                &format!("{what} killed {way:?} call {at}"),
            );
            repo.reset();
        }
        if calls < at {
            assert!(calls >= 3, "{what} has only {calls} calls");
            return;
        }
    }
}

#[test]
fn a_creation_0() {
    every_call("create_private", 0);
}

#[test]
fn a_creation_1() {
    every_call("create_private", 1);
}

#[test]
fn an_import_0() {
    every_call("import_private", 0);
}

#[test]
fn an_import_1() {
    every_call("import_private", 1);
}

/// Between two git calls, files are written and renamed, so the child is also killed there.
#[test]
fn at_any_instant() {
    for what in ["create_private", "import_private"] {
        let (repo, expected) = stage(what);
        for instant in 0..12 {
            repo.wrapper("deadly", "exec $real \"$@\"");
            let mut child = child_process(&repo, what).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(10 + 8 * instant));
            child.kill().unwrap();
            child.wait().unwrap();
            repeat(
                &repo,
                what,
                &expected,
                &format!("{what} killed at instant {instant}"),
            );
            repo.reset();
        }
    }
}

/// The state between the last two steps of an import: the pack is there, the branch has moved, and
/// nothing else has happened.
#[test]
fn a_begun_import_is_completed() {
    let (repo, expected) = stage("import_private");
    let sandbox = Sandbox::new(&repo);
    let git = repo.open_with(repo.wrapper(
        "deadly",
        "case \"$*\" in *read-tree*) echo broken >&2; exit 128;; esac; exec $real \"$@\"",
    ));
    let inside = |words: &[&str]| sandbox.git(words);
    let before = tip(&repo, &repo.app(), "fix");
    sandbox
        .try_import(&git, &repo, &inside, MAX_BYTES)
        .unwrap_err();
    assert_eq!(tip(&repo, &repo.app(), "fix"), expected);
    assert_ne!(repo.git(&repo.slot(), &["status", "--porcelain"]), "");
    sandbox.run("echo later >later; git add later; git commit -q -m later");
    sandbox.import_all(&repo, "with a commit that was made since");
    assert_ne!(tip(&repo, &repo.app(), "fix"), before);
    assert_eq!(repo.git(&repo.slot(), &["status", "--porcelain"]), "");
    assert!(matches!(
        create(&repo, &repo.open()),
        PrivateResult::Exists(_)
    ));
}
