//! A merge killed at every git call, and repeated: exactly one.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::git::{Git, GitError, MergeObstacle, MergeOutcome};
use orange_effects::process::processes_in;
use orange_engine::effect::MergeStrategy;
use orange_engine::names::CommitId;

use crate::kill_points::{KillMode, run};
use crate::merge::{MergeParameters, add_remote, advance, branch, configure_identity, tip};
use crate::repo_fixture::{RepoFixture, commit_files, files};

/// How many tests share the calls of one strategy.
const SHARDS: usize = 3;

/// What the killed child does: the merge that was decided before it started.
pub fn perform(repo: &RepoFixture, git: &Git, what: &str) {
    merge_parameters(repo, what).merge(git);
}

fn merge_parameters(repo: &RepoFixture, what: &str) -> MergeParameters {
    let text = fs::read_to_string(repo.path("decided")).unwrap();
    let (head, base) = text.split_once(' ').unwrap();
    MergeParameters {
        strategy: match what {
            "ff" => MergeStrategy::Ff,
            "merge" => MergeStrategy::Merge,
            "rebase" => MergeStrategy::Rebase,
            "squash" => MergeStrategy::Squash,
            what => panic!("{what}"),
        },
        head: CommitId::new(head),
        base: CommitId::new(base),
        push: true,
        is_called_off: false,
        assisted_by: vec![String::from("script")],
    }
}

/// A fixture with a remote and much to merge into the user's checkout.
fn stage(what: &str) -> RepoFixture {
    let repo = RepoFixture::new();
    branch(&repo);
    let slot = repo.slot();
    fs::write(slot.join("large"), vec![b'x'; 300_000]).unwrap();
    fs::remove_file(slot.join("data.bin")).unwrap();
    fs::create_dir(slot.join("data.bin")).unwrap();
    fs::write(slot.join("data.bin/inside"), "a folder now\n").unwrap();
    repo.git(&slot, &["add", "-A"]);
    repo.git(&slot, &["commit", "-q", "-m", "much"]);
    if what == "rebase" {
        advance(&repo);
    }
    add_remote(&repo);
    configure_identity(&repo);
    fs::write(repo.app().join("notes"), "mine\n").unwrap();
    let parameters = MergeParameters::now(&repo, MergeStrategy::Ff);
    let text = format!("{} {}", parameters.head, parameters.base);
    fs::write(repo.path("decided"), text).unwrap();
    repo.save();
    repo
}

/// A killed git leaves its lock behind, and the error says so; the user removes it.
fn remove_locks(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            remove_locks(&path);
        } else if path.extension().is_some_and(|it| it == "lock") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Waits for what the killed process left running, and removes the locks that it left.
fn calm_down(repo: &RepoFixture) {
    let is_alone = || processes_in(&repo.path(""), "git").unwrap().is_empty();
    assert!(Deadline::after(Duration::from_mins(1)).wait_for(is_alone));
    for refs in ["app/.git/refs", "remote.git/refs"] {
        remove_locks(&repo.path(refs));
    }
    for lock in ["index.lock", "HEAD.lock"] {
        let _none = fs::remove_file(repo.app().join(".git").join(lock));
    }
}

/// Cancels the merge instead of repeating it: it is either finished everywhere or undone.
fn call_off(repo: &RepoFixture, what: &str, expected: &str, text: &str) {
    calm_down(repo);
    let parameters = MergeParameters {
        is_called_off: true,
        ..merge_parameters(repo, what)
    };
    let at = match parameters.try_merge(&repo.open()).unwrap() {
        MergeOutcome::Merged { commit, .. } => {
            assert_eq!(commit.as_str(), expected, "{text}");
            commit
        }
        MergeOutcome::Refused(refusal) => {
            assert_eq!(refusal.obstacle, MergeObstacle::Cancelled, "{text}");
            parameters.base
        }
    };
    for place in ["app", "remote.git"] {
        let tip = tip(repo, &repo.path(place), "refs/heads/main");
        assert_eq!(tip, at.as_str(), "{place}: {text}");
    }
    let words = ["status", "--porcelain=v1", "--untracked-files=all"];
    assert_eq!(repo.git(&repo.app(), &words), "?? notes\n", "{text}");
}

fn repeat(repo: &RepoFixture, what: &str, expected: &str, text: &str) {
    calm_down(repo);
    let commit = merge_parameters(repo, what).merge(&repo.open());
    assert_eq!(commit, expected, "{text}");
    for place in ["app", "remote.git"] {
        assert_eq!(
            tip(repo, &repo.path(place), "refs/heads/main"),
            expected,
            "{text}"
        );
    }
    let words = ["status", "--porcelain=v1", "--untracked-files=all"];
    assert_eq!(repo.git(&repo.app(), &words), "?? notes\n", "{text}");
    let mut there = files(&repo.app());
    let notes = there.remove(Path::new("notes")).unwrap();
    assert_eq!(notes.1, b"mine\n", "{text}");
    assert_eq!(there, commit_files(repo, expected), "{text}");
    let directory = repo.app().join(".git");
    for left in ["index.lock", "orange-forward.json"] {
        assert!(!directory.join(left).exists(), "{left}: {text}");
    }
}

/// Goes through every call of one shard; the shards run in parallel.
fn every_call(what: &str, shard: usize) {
    let repo = stage(what);
    let expected = merge_parameters(&repo, what).merge(&repo.open());
    repo.reset();
    for at in (shard + 1..).step_by(SHARDS) {
        let ways = [
            KillMode::Before,
            KillMode::After,
            KillMode::During,
            KillMode::Spared,
        ];
        // Two kinds of death at each call, alternating.
        let mut calls = 0;
        for way in ways.into_iter().skip(at / SHARDS % 2).step_by(2) {
            calls = run(&repo, what, at, way);
            let text = format!("{what} {way:?} {at}");
            call_off(&repo, what, &expected, &text);
            repeat(&repo, what, &expected, &text);
            repo.reset();
        }
        if calls < at {
            assert!(calls > 10, "{what} has only {calls} calls");
            return;
        }
    }
}

macro_rules! shards {
    ($($name:ident $what:literal $shard:literal)+) => {$(
        #[test]
        fn $name() {
            every_call($what, $shard);
        }
    )+};
}

shards! {
    ff_0 "ff" 0
    ff_1 "ff" 1
    ff_2 "ff" 2
    merge_0 "merge" 0
    merge_1 "merge" 1
    merge_2 "merge" 2
    rebase_0 "rebase" 0
    rebase_1 "rebase" 1
    rebase_2 "rebase" 2
    squash_0 "squash" 0
    squash_1 "squash" 1
    squash_2 "squash" 2
}

/// What `read-tree` leaves behind that is killed while it writes: some files new, one of them
/// half-written, some gone, the index old and locked.
#[test]
fn half_a_checkout() {
    let repo = stage("squash");
    let expected = merge_parameters(&repo, "squash").merge(&repo.open());
    repo.reset();
    let script = format!(
        "if [ \"$2\" = read-tree ] && [ \"$5\" != -n ]; then\n\
         cd {} && rm data.bin src/deep/old.txt && $real cat-file blob fix:README >README &&\n\
         $real cat-file blob fix:large | head -c 1000 >large && : >\"$GIT_DIR/index.lock\"\n\
         kill -9 $PPID; exit 1\nfi\nexec $real \"$@\"",
        repo.app().display()
    );
    let half = || {
        repo.wrapper("deadly", &script);
        let status = crate::kill_points::child_process(&repo, "squash")
            .status()
            .unwrap();
        assert!(!status.success());
        assert_eq!(fs::read(repo.app().join("large")).unwrap().len(), 1000);
        assert!(repo.app().join(".git/orange-forward.json").exists());
    };
    let lock = repo.app().join(".git/index.lock");
    half();
    // In the user's own checkout, orange cannot know which process owns the lock.
    let failed = merge_parameters(&repo, "squash").try_merge(&repo.open());
    assert!(matches!(failed, Err(GitError::Locked { .. })), "{failed:?}");
    assert!(lock.exists());
    assert!(!repo.app().join(".git/orange-left-index.lock").exists());
    repeat(&repo, "squash", &expected, "half a checkout");
    repo.reset();
    // Anything the user writes into it meanwhile stays theirs.
    half();
    fs::remove_file(&lock).unwrap();
    fs::write(repo.app().join("README"), "typed since\n").unwrap();
    let obstacle = merge_parameters(&repo, "squash").obstacle(&repo.open());
    assert!(obstacle.to_string().contains("`README`"), "{obstacle}");
    assert_eq!(
        fs::read(repo.app().join("README")).unwrap(),
        b"typed since\n"
    );
    fs::write(repo.app().join("README"), "one\ntwo\nthree\n").unwrap();
    repeat(&repo, "squash", &expected, "half a checkout, fixed");
}
