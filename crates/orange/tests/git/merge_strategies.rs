//! Merges on a default branch that has moved, and their verification.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use orange_effects::git::{MergeObstacle, MergeOutcome};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::CommitId;

use crate::merge::{ALL, MergeParameters, add_remote, advance, branch, tip};
use crate::repo_fixture::RepoFixture;

fn log(repo: &RepoFixture, range: &str, format: &str) -> String {
    let format = format!("--format={format}");
    repo.git(&repo.app(), &["log", "--reverse", &format, range])
}

#[test]
fn a_merge_is_made_on_what_the_default_branch_has_become() {
    for strategy in ALL {
        let repo = RepoFixture::new();
        branch(&repo);
        let parameters = MergeParameters::now(&repo, strategy);
        advance(&repo);
        let advanced = tip(&repo, &repo.app(), "main");
        if strategy == MergeStrategy::Ff {
            let obstacle = parameters.obstacle(&repo.open());
            assert!(matches!(obstacle, MergeObstacle::DefaultMoved { .. }));
            continue;
        }
        let commit = parameters.merge(&repo.open());
        assert_eq!(tip(&repo, &repo.app(), "main"), commit);
        let added = log(&repo, &format!("{advanced}..main"), "%H");
        assert!(added.contains(&commit), "{strategy:?}");
        for file in ["elsewhere", "one", "src/new/two"] {
            assert!(repo.app().join(file).exists(), "{strategy:?}: {file}");
        }
    }
}

#[test]
fn auto_and_rebase_fast_forward_if_they_can() {
    for strategy in [MergeStrategy::Auto, MergeStrategy::Rebase] {
        let repo = RepoFixture::new();
        branch(&repo);
        let parameters = MergeParameters::now(&repo, strategy);
        assert_eq!(parameters.merge(&repo.open()), parameters.head.as_str());
    }
}

#[test]
fn a_rebase_keeps_authors_messages_and_order() {
    let repo = RepoFixture::new();
    branch(&repo);
    let slot = repo.slot();
    fs::write(slot.join("ü"), "x\n").unwrap();
    repo.git(&slot, &["add", "-A"]);
    let message = "Größe: \"x\"\n\nBody with a line.\n\nSigned-off-by: Eve <eve@example.org>";
    let author = "--author=Eve <eve@example.org>";
    let date = "--date=2001-02-03T04:05:06+0700";
    repo.git(&slot, &["commit", "-q", author, date, "-m", message]);
    // What main has already, and what changes nothing, is left out.
    let change = "already there\n";
    repo.commit(&repo.app(), "shared", change);
    repo.commit(&slot, "shared", change);
    repo.git(&slot, &["commit", "-q", "--allow-empty", "-m", "empty"]);
    // So are merges; what they bring is there.
    repo.git(&slot, &["merge", "-q", "--no-edit", "main"]);
    repo.commit(&slot, "last", "last\n");
    advance(&repo);
    let base = tip(&repo, &repo.app(), "main");
    let parameters = MergeParameters::now(&repo, MergeStrategy::Rebase);
    let commit = parameters.merge(&repo.open());
    let range = format!("{base}..{commit}");
    let subjects = log(&repo, &range, "%s");
    let expected = "one of fix\ntwo of fix\none two three and more\nGröße: \"x\"\nlast\n";
    assert_eq!(subjects, expected);
    let parents = log(&repo, &range, "%P");
    assert!(parents.lines().all(|it| !it.contains(' ')), "{parents}");
    let committers = log(&repo, &range, "%cn %ct");
    assert!(committers.lines().all(|it| it == "Ada 1700000000"));
    let eve = log(&repo, &range, "%an %aI%n%B");
    let eve = eve.split("Eve 2001").nth(1).unwrap();
    let whole = format!("-02-03T04:05:06+07:00\n{message}\n");
    assert!(eve.starts_with(&whole), "{eve}");
    let last = repo.git(&repo.app(), &["log", "-1", "--format=%B", &commit]);
    let trailers = format!(
        "last\n\nOrange-Task: t1\nOrange-Head: {}\nOrange-Base: {base}\n",
        parameters.head
    );
    assert_eq!(last.trim_end(), trailers.trim_end());
    // A retry finds it, also after other commits.
    advance_more(&repo);
    let again = parameters.try_merge(&repo.open()).unwrap();
    assert!(matches!(
        again,
        MergeOutcome::Merged {
            was_there: true,
            ..
        }
    ));
}

#[test]
fn a_rebase_refuses_to_lose_what_a_merge_in_the_branch_resolved() {
    for has_conflict in [false, true] {
        let repo = RepoFixture::new();
        branch(&repo);
        let slot = repo.slot();
        repo.commit(&repo.app(), "one", "one of main\n");
        // The agent merges the default branch and resolves the conflict in the merge commit.
        assert!(
            !repo
                .try_git(&slot, &["merge", "-q", "main"])
                .status
                .success()
        );
        fs::write(slot.join("one"), "one of both\n").unwrap();
        fs::write(slot.join("needed"), "by the resolution\n").unwrap();
        repo.git(&slot, &["add", "-A"]);
        repo.git(&slot, &["commit", "-q", "--no-edit"]);
        if !has_conflict {
            // Then the replayed commits alone would merge, without the resolution.
            repo.git(&repo.app(), &["revert", "--no-edit", "HEAD"]);
        }
        advance(&repo);
        let before = repo.git(&repo.app(), &["for-each-ref"]);
        let parameters = MergeParameters::now(&repo, MergeStrategy::Rebase);
        let obstacle = parameters.obstacle(&repo.open());
        assert_eq!(obstacle, MergeObstacle::MergesLost);
        assert_eq!(repo.git(&repo.app(), &["for-each-ref"]), before);
        if has_conflict {
            MergeParameters::now(&repo, MergeStrategy::Merge).merge(&repo.open());
            let read = |name: &str| fs::read_to_string(repo.app().join(name)).unwrap();
            assert_eq!(read("one"), "one of both\n");
            assert_eq!(read("needed"), "by the resolution\n");
        }
    }
}

fn advance_more(repo: &RepoFixture) {
    repo.commit(&repo.app(), "more", "more\n");
}

#[test]
fn a_trailer_without_the_changes_is_no_rebase() {
    let repo = RepoFixture::new();
    branch(&repo);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Rebase);
    let claim = format!("claimed\n\nOrange-Head: {}", parameters.head);
    let commit = ["commit", "-q", "--allow-empty", "-m", &claim];
    repo.git(&repo.app(), &commit);
    parameters.merge(&repo.open());
    assert_eq!(fs::read(repo.app().join("one")).unwrap(), b"one of fix\n");
}

#[test]
fn a_preview_says_what_a_merge_would_do() {
    for strategy in ALL {
        let repo = RepoFixture::new();
        branch(&repo);
        let preview = |repo: &RepoFixture| {
            let parameters = MergeParameters::now(repo, strategy);
            let git = repo.open();
            parameters.with_request(None, |merge| git.preview_merge(merge).unwrap())
        };
        let first = preview(&repo);
        assert_eq!((first.behind, first.obstacle), (0, None));
        let has_own_commit = [MergeStrategy::Merge, MergeStrategy::Squash].contains(&strategy);
        assert_eq!(first.is_fast_forward, !has_own_commit);
        advance(&repo);
        let moved = preview(&repo);
        assert_eq!(moved.base.as_str(), tip(&repo, &repo.app(), "main"));
        let expected = (strategy == MergeStrategy::Ff).then_some(MergeObstacle::NotFastForward);
        assert_eq!((moved.behind, moved.obstacle), (1, expected));
        fs::write(repo.app().join("one"), "mine\n").unwrap();
        let obstacle = preview(&repo).obstacle.unwrap();
        let is_in_the_way = matches!(obstacle, MergeObstacle::UntrackedFiles { .. });
        assert!(
            is_in_the_way || strategy == MergeStrategy::Ff,
            "{obstacle:?}"
        );
        repo.git(&repo.app(), &["add", "one"]);
        repo.git(&repo.app(), &["commit", "-q", "-m", "one of main"]);
        let conflict = preview(&repo);
        let expected = match strategy {
            MergeStrategy::Ff => MergeObstacle::NotFastForward,
            _ => MergeObstacle::Conflicts(vec![PathBuf::from("one")]),
        };
        assert_eq!(conflict.obstacle, Some(expected), "{strategy:?}");
        assert_eq!(conflict.behind, 2);
    }
}

#[test]
fn a_result_that_is_not_verified_moves_nothing() {
    for strategy in ALL {
        for has_remote in [false, true] {
            let repo = RepoFixture::new();
            branch(&repo);
            if strategy != MergeStrategy::Ff {
                advance(&repo);
            }
            let remote = has_remote.then(|| add_remote(&repo));
            let mut parameters = MergeParameters::now(&repo, strategy);
            parameters.push = has_remote;
            let git = repo.open();
            let before = repo.git(&repo.app(), &["for-each-ref"]);
            let seen = RefCell::new(Vec::new());
            let refuse = |commit: &CommitId| {
                seen.borrow_mut().push(commit.to_string());
                Ok(Err(MergeObstacle::NotVerified {
                    command: String::from("make test"),
                    ending: String::from("exited with code 2"),
                    log: PathBuf::from("verify.log"),
                    output: String::new(),
                }))
            };
            let refused = parameters.with_request(Some(&refuse), |merge| git.merge(merge));
            let MergeOutcome::Refused(refusal) = refused.unwrap() else {
                panic!("it was merged");
            };
            let text = refusal.to_string();
            assert!(text.contains("`make test` exited with code 2 on the merged result"));
            assert!(
                text.contains("request-changes t1 --merge-failure"),
                "{text}"
            );
            assert_eq!(repo.git(&repo.app(), &["for-each-ref"]), before);
            // The one that passes is exactly the one that is merged.
            let pass = |commit: &CommitId| {
                seen.borrow_mut().push(commit.to_string());
                Ok(Ok(()))
            };
            let merged = parameters.with_request(Some(&pass), |merge| git.merge(merge));
            assert!(matches!(merged.unwrap(), MergeOutcome::Merged { .. }));
            let commit = tip(&repo, &repo.app(), "main");
            assert_eq!(*seen.borrow(), [commit.clone(), commit.clone()]);
            if let Some(remote) = remote {
                assert_eq!(tip(&repo, &remote, "main"), commit);
            }
        }
    }
}

#[test]
fn a_default_branch_that_moves_during_a_verification_is_verified_again() {
    let repo = RepoFixture::new();
    branch(&repo);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Auto);
    let git = repo.open();
    let seen = RefCell::new(Vec::new());
    let verify = |commit: &CommitId| {
        seen.borrow_mut().push(commit.to_string());
        if seen.borrow().len() == 1 {
            advance(&repo);
        }
        Ok(Ok(()))
    };
    let merged = parameters.with_request(Some(&verify), |merge| git.merge(merge));
    assert!(matches!(merged.unwrap(), MergeOutcome::Merged { .. }));
    let seen = seen.into_inner();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], parameters.head.as_str());
    assert_eq!(seen[1], tip(&repo, &repo.app(), "main"));
    assert!(repo.app().join("elsewhere").exists());
}

#[test]
fn a_remote_that_moves_during_a_verification_is_merged_and_verified_again() {
    let repo = RepoFixture::new();
    branch(&repo);
    let remote = add_remote(&repo);
    repo.git(&repo.path(""), &["clone", "-q", "remote.git", "colleague"]);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Auto).with_push();
    let git = repo.open();
    let seen = RefCell::new(Vec::new());
    let verify = |commit: &CommitId| {
        seen.borrow_mut().push(commit.to_string());
        if seen.borrow().len() == 1 {
            let colleague = repo.path("colleague");
            repo.commit(&colleague, "elsewhere", "other work\n");
            repo.git(&colleague, &["push", "-q", "origin", "main"]);
        }
        Ok(Ok(()))
    };
    let merged = parameters.with_request(Some(&verify), |merge| git.merge(merge));
    assert!(matches!(merged.unwrap(), MergeOutcome::Merged { .. }));
    let seen = seen.into_inner();
    assert_eq!(seen.len(), 2);
    for place in [&repo.app(), &remote] {
        assert_eq!(seen[1], tip(&repo, place, "main"));
    }
    assert!(repo.app().join("elsewhere").exists());
}

/// A signature of ssh needs no key ring.
#[test]
fn a_merge_is_signed_if_the_users_own_configuration_signs() {
    for strategy in [
        MergeStrategy::Merge,
        MergeStrategy::Rebase,
        MergeStrategy::Squash,
    ] {
        let repo = RepoFixture::new();
        branch(&repo);
        advance(&repo);
        let key = repo.path("key");
        let mut keygen = std::process::Command::new("ssh-keygen");
        keygen
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key);
        assert!(keygen.status().unwrap().success());
        let is_signed = |commit: &str| {
            let object = repo.git(&repo.app(), &["cat-file", "-p", commit]);
            object.contains("-----BEGIN SSH SIGNATURE-----")
        };
        // The repository's configuration, which agents can write, does not count.
        repo.git(&repo.app(), &["config", "commit.gpgSign", "true"]);
        repo.git(&repo.app(), &["config", "gpg.program", "/bin/false"]);
        let base = tip(&repo, &repo.app(), "main");
        let unsigned = MergeParameters::now(&repo, strategy).merge(&repo.open());
        assert!(!is_signed(&unsigned));
        repo.git(&repo.app(), &["reset", "-q", "--hard", &base]);
        let own = repo.path("home/.gitconfig");
        let text = fs::read_to_string(&own).unwrap();
        let key = key.display();
        let signing = "[gpg]\nformat = ssh\n[commit]\ngpgSign = true\n";
        fs::write(&own, format!("{text}signingKey = {key}\n{signing}")).unwrap();
        let parameters = MergeParameters::now(&repo, strategy);
        let git = repo.open();
        let commit = parameters.merge(&git);
        for commit in log(&repo, &format!("{base}..{commit}"), "%H").lines() {
            let is_own = commit == parameters.head.as_str()
                || repo
                    .git(&repo.app(), &["branch", "--contains", commit])
                    .contains("fix");
            assert_eq!(is_signed(commit), !is_own, "{strategy:?}");
        }
        assert!(is_signed(&commit));
        // A signature differs each time, and a retry still finds the merge.
        let again = parameters.try_merge(&git).unwrap();
        assert!(matches!(
            again,
            MergeOutcome::Merged {
                was_there: true,
                ..
            }
        ));
    }
}

#[test]
fn a_dirty_checkout_is_reported_before_the_verification() {
    let repo = RepoFixture::new();
    branch(&repo);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Auto);
    fs::write(repo.app().join("README"), "mine\n").unwrap();
    let git = repo.open();
    let has_run = RefCell::new(false);
    let verify = |_: &CommitId| {
        *has_run.borrow_mut() = true;
        Ok(Ok(()))
    };
    let merged = parameters.with_request(Some(&verify), |merge| git.merge(merge));
    assert!(matches!(merged.unwrap(), MergeOutcome::Refused(_)));
    assert!(!has_run.into_inner());
}
