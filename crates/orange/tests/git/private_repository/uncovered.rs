//! What a private repository does not support is detected.

use std::fs;

use orange_effects::git::{PrivateResult, Uncovered};

use super::sandbox::{create, folder, worktree_fixture};
use crate::repo_fixture::RepoFixture;

fn found(repo: &RepoFixture) -> Vec<Uncovered> {
    match create(repo, &repo.open()) {
        PrivateResult::Uncovered(found) => found,
        other => panic!("{other:?}"),
    }
}

/// Something that makes a repository one that is not supported.
type Change = fn(&RepoFixture);

const CHANGES: &[(Uncovered, Change)] = &[
    (Uncovered::Submodules, |repo| {
        let id = repo.git(&repo.app(), &["rev-parse", "HEAD"]);
        let info = format!("160000,{},sub", id.trim());
        repo.git(
            &repo.slot(),
            &["update-index", "--add", "--cacheinfo", &info],
        );
    }),
    (Uncovered::PartialClone, |repo| {
        repo.git(&repo.app(), &["config", "remote.origin.promisor", "true"]);
    }),
    (Uncovered::Lfs, |repo| {
        fs::create_dir_all(repo.slot().join("images")).unwrap();
        repo.commit(
            &repo.slot(),
            "images/.gitattributes",
            "*.png filter=lfs diff=lfs\n",
        );
    }),
    (Uncovered::Lfs, |repo| {
        repo.git(
            &repo.app(),
            &["config", "filter.lfs.clean", "git-lfs clean -- %f"],
        );
    }),
    (Uncovered::Shallow, |repo| {
        let id = repo.git(&repo.app(), &["rev-parse", "HEAD"]);
        fs::write(repo.app().join(".git/shallow"), id).unwrap();
    }),
    (Uncovered::Format, |repo| {
        let app = repo.app().display().to_string();
        repo.git(&repo.app(), &["config", "core.worktree", &app]);
    }),
    (Uncovered::Replaced, |repo| {
        repo.commit(&repo.app(), "x", "x\n");
        repo.git(&repo.app(), &["replace", "HEAD", "HEAD~1"]);
    }),
    (Uncovered::Replaced, |repo| {
        let id = repo.git(&repo.app(), &["rev-parse", "HEAD"]);
        fs::create_dir_all(repo.app().join(".git/info")).unwrap();
        fs::write(repo.app().join(".git/info/grafts"), id).unwrap();
    }),
    (Uncovered::Alternates, |repo| {
        let list = repo.app().join(".git/objects/info/alternates");
        fs::create_dir_all(list.parent().unwrap()).unwrap();
        fs::write(list, format!("{}\n", repo.path("elsewhere").display())).unwrap();
    }),
    (Uncovered::OtherBranch, |repo| {
        repo.git(&repo.slot(), &["switch", "-q", "-c", "other"]);
    }),
    (
        Uncovered::InProgress(orange_effects::git::Operation::Merge),
        |repo| {
            repo.commit(&repo.app(), "x", "x\n");
            repo.git(
                &repo.slot(),
                &["merge", "-q", "--no-ff", "--no-commit", "main"],
            );
        },
    ),
];

#[test]
fn each_is_named_and_nothing_is_created() {
    for (expected, change) in CHANGES {
        let repo = worktree_fixture();
        change(&repo);
        assert_eq!(found(&repo), std::slice::from_ref(expected));
        assert!(!folder(&repo).join("current").exists(), "{expected}");
        assert!(expected.to_string().starts_with("it") || expected.to_string().starts_with('a'));
    }
}
