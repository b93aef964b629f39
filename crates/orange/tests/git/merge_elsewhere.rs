//! Work merged elsewhere is found; exact pushes keep commits of others.

use orange_effects::git::PushResult;
use orange_engine::names::{BranchName, CommitId};

use crate::merge::{add_remote, branch, tip};
use crate::repo_fixture::RepoFixture;

fn commit_at(repo: &RepoFixture, name: &str) -> CommitId {
    CommitId::new(tip(repo, &repo.app(), name))
}

/// Another clone, in which a forge would merge.
fn other_clone(repo: &RepoFixture) -> std::path::PathBuf {
    let other = repo.path("other");
    repo.git(&repo.path(""), &["clone", "-q", "remote.git", "other"]);
    other
}

#[test]
fn work_is_found_however_it_was_merged() {
    for script in [
        vec![vec!["merge", "-q", "--no-ff", "-m", "m", "origin/fix"]],
        vec![
            vec!["merge", "-q", "--squash", "origin/fix"],
            vec!["commit", "-q", "-m", "squash"],
        ],
        vec![
            vec!["checkout", "-q", "-b", "replay", "origin/fix"],
            vec!["rebase", "-q", "main"],
            vec!["checkout", "-q", "main"],
            vec!["merge", "-q", "--ff-only", "replay"],
        ],
    ] {
        let repo = RepoFixture::new();
        branch(&repo);
        add_remote(&repo);
        let git = repo.open();
        let (fix, main) = (BranchName::new("fix"), BranchName::new("main"));
        let head = commit_at(&repo, "refs/heads/fix");
        let other = other_clone(&repo);
        repo.commit(&other, "before", "of others\n");
        repo.git(&other, &["push", "-q", "origin", "main"]);
        let before = git.fetch_tip(&main).unwrap().unwrap();
        assert!(!git.contains_work(&before, &head).unwrap(), "{script:?}");
        for words in &script {
            repo.git(&other, words);
        }
        // The lines of the work change again, so a merge of the branch would conflict.
        repo.commit(&other, "one", "changed by others\n");
        repo.git(&other, &["push", "-q", "origin", "main"]);
        let after = git.fetch_tip(&main).unwrap().unwrap();
        assert!(git.contains_work(&after, &head).unwrap(), "{script:?}");
        let unknown = CommitId::new("a".repeat(40));
        assert!(!git.contains_work(&after, &unknown).unwrap());
        assert_ne!(commit_at(&repo, "refs/heads/main"), after);
        let followed = git.follow_remote(&main).unwrap().unwrap();
        assert_eq!(followed.commit, after);
        assert_eq!(commit_at(&repo, "refs/heads/main"), after);
        assert_eq!(followed.forwarded, [repo.app()]);
        assert_eq!(
            git.follow_remote(&main).unwrap().unwrap().commit,
            after,
            "again"
        );
        assert_eq!(
            git.fetch_tip(&fix).unwrap(),
            Some(commit_at(&repo, "refs/remotes/origin/fix"))
        );
    }
}

#[test]
fn an_exact_push_keeps_commits_of_others() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    let git = repo.open();
    let fix = BranchName::new("fix");
    let first = commit_at(&repo, "refs/heads/fix");
    repo.git(&remote, &["update-ref", "-d", "refs/heads/fix"]);
    let push =
        |head: &CommitId, known: Option<&CommitId>| git.push_exactly(&fix, head, known).unwrap();
    let there = || tip(&repo, &remote, "refs/heads/fix");
    // A new branch, the same again, and a fast-forward.
    assert_eq!(push(&first, None), PushResult::Done);
    assert_eq!(push(&first, None), PushResult::Done);
    assert_eq!(there(), first.to_string());
    repo.commit(&repo.slot(), "three", "three\n");
    let second = commit_at(&repo, "refs/heads/fix");
    assert_eq!(push(&second, None), PushResult::Done);
    // Rewritten commits replace only what orange left there.
    repo.git(&repo.slot(), &["commit", "-q", "--amend", "-m", "again"]);
    let third = commit_at(&repo, "refs/heads/fix");
    let refused = push(&third, Some(&first));
    assert!(matches!(refused, PushResult::Rejected(_)), "{refused:?}");
    assert_eq!(there(), second.to_string());
    assert_eq!(push(&third, Some(&second)), PushResult::Done);
    // A commit that this repository has never seen is not replaced.
    let other = other_clone(&repo);
    repo.git(&other, &["checkout", "-q", "fix"]);
    let theirs = repo.commit(&other, "theirs", "of others\n");
    repo.git(&other, &["push", "-q", "origin", "fix"]);
    let refused = push(&third, Some(&third));
    assert!(matches!(refused, PushResult::Rejected(_)), "{refused:?}");
    assert_eq!(there(), theirs);
}

#[test]
fn a_committed_file_is_read_without_a_checkout() {
    let repo = RepoFixture::new();
    let git = repo.open();
    let main = commit_at(&repo, "refs/heads/main");
    let read = |path: &str| git.read_committed(&main, path).unwrap();
    assert_eq!(read("README").unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(read("src/main.rs").unwrap(), b"fn main() {}\n");
    for absent in ["src", "link", "absent", "*"] {
        assert_eq!(read(absent), None, "{absent}");
    }
}
