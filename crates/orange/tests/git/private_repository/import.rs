//! An import brings exactly what was committed inside.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use orange_effects::git::{Import, ImportRefusal, PrivateResult};

use super::sandbox::{
    MAX_BYTES, Sandbox, check_repository, collect_garbage, create, folder, worktree_fixture,
};
use super::snapshot::Snapshot;
use crate::repo_fixture::{commit_files, files};

#[test]
fn commits_are_the_same_byte_by_byte() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    let snapshot = Snapshot::of(&repo);
    let slot = repo.slot();
    fs::write(slot.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(slot.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(slot.join("tool.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("../nowhere", slot.join("broken")).unwrap();
    fs::remove_file(slot.join("link")).unwrap();
    symlink("src", slot.join("link")).unwrap();
    let large: Vec<u8> = (0..20_000_000_u32)
        .map(|it| it.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    fs::write(slot.join("large"), &large).unwrap();
    fs::rename(slot.join("src/main.rs"), slot.join("src/renamed.rs")).unwrap();
    sandbox.run(
        "git add -A; git commit -q -m 'one\n\nwith a body'; git switch -q -c side HEAD~1; \
         echo side >side; git add side; git commit -q -m side --author 'Bob <bob@example.org>' \
         --date 2001-02-03T04:05:06+0700; git switch -q fix; git merge -q --no-ff -m merged side",
    );
    let inside = sandbox.run("git log --format=raw fix; git ls-tree -r fix");
    let before = files(&slot);
    sandbox.import_all(&repo, "everything");
    let mut outside = repo.git(&repo.app(), &["log", "--format=raw", "fix"]);
    outside += &repo.git(&repo.app(), &["ls-tree", "-r", "fix"]);
    assert_eq!(outside, inside);
    assert_eq!(commit_files(&repo, "fix"), before);
    assert_eq!(files(&slot), before);
    assert_eq!(repo.git(&slot, &["status", "--porcelain"]), "");
    snapshot.check(&repo, "everything");
    check_repository(&repo, "everything");
    collect_garbage(&repo);
    assert_eq!(commit_files(&repo, "fix"), before);
}

#[test]
fn uncommitted_work_looks_the_same_outside() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run(
        "echo a >a; git add a; git commit -q -m a; echo b >>README; echo new >new; git rm -q --cached a",
    );
    sandbox.import_all(&repo, "with uncommitted work");
    let status = repo.git(&repo.slot(), &["status", "--porcelain"]);
    assert_eq!(
        status, " M README\n?? new\n",
        "the index is that of the commit"
    );
    assert_eq!(
        sandbox.run("git status --porcelain"),
        " M README\nD  a\n?? a\n?? new\n"
    );
    let condition = repo
        .open()
        .worktree(&repo.slot())
        .unwrap()
        .condition()
        .unwrap();
    assert_eq!(condition.changes.len(), 2);
}

#[test]
fn an_unchanged_branch_starts_no_program() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run("echo a >a; git add a; git commit -q -m a");
    sandbox.import_all(&repo, "first");
    let git = repo.open();
    let worktree = git.worktree(&repo.slot()).unwrap();
    fs::write(repo.path("deadly"), "not a program").unwrap();
    let silent = repo.open_with(repo.path("deadly"));
    let again = sandbox.try_import(
        &silent,
        &repo,
        &|_| panic!("git inside is called"),
        MAX_BYTES,
    );
    let tip = worktree.head().unwrap().commit().unwrap().clone();
    assert_eq!(again.unwrap(), Import::Unchanged(tip));
}

#[test]
fn a_rewritten_branch_is_imported_and_its_old_commit_reported() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run("echo a >a; git add a; git commit -q -m a");
    sandbox.import_all(&repo, "first");
    let old = sandbox.tip("fix");
    sandbox.run("git commit -q --amend -m other");
    let Import::Imported { previous, commit } = sandbox.import(&repo) else {
        panic!("nothing was imported");
    };
    assert_eq!(
        (previous.as_str(), commit.as_str()),
        (&*old, &*sandbox.tip("fix"))
    );
    let reflog = repo.git(&repo.app(), &["rev-parse", "fix@{1}"]);
    assert_eq!(reflog.trim(), old);
    sandbox.run("git reset -q --hard HEAD~1");
    sandbox.import_all(&repo, "back to the base, for which no object is needed");
    sandbox.run("git pack-refs --all; git gc -q");
    assert!(matches!(sandbox.import(&repo), Import::Unchanged(_)));
    collect_garbage(&repo);
    check_repository(&repo, "after");
}

#[test]
fn a_branch_that_is_gone_is_not_deleted_outside() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    let before = repo.branches();
    sandbox.run("git branch -m fix other");
    assert_eq!(
        sandbox.import(&repo),
        Import::Refused(ImportRefusal::NoBranch)
    );
    sandbox.run("git switch -q --detach; git branch -q -D other");
    assert_eq!(
        sandbox.import(&repo),
        Import::Refused(ImportRefusal::NoBranch)
    );
    assert_eq!(repo.branches(), before);
}

#[test]
fn refs_in_another_format_are_asked_for_inside() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run("echo a >a; git add a; git commit -q -m a; git pack-refs --all; rm -f $(git rev-parse --git-path refs/heads/fix)");
    sandbox.import_all(&repo, "packed");
}

#[test]
fn a_second_creation_changes_nothing() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run("echo a >a; git add a; git commit -q -m a; git tag own; git config user.own 1");
    let snapshot = Snapshot::of(&repo);
    let again = create(&repo, &repo.open());
    assert_eq!(again, PrivateResult::Exists(sandbox.repository.clone()));
    snapshot.check_unchanged(&repo, "created again");
    sandbox.run("git rev-parse -q --verify own; git config user.own");
    sandbox.import_all(&repo, "after it");
}

#[test]
fn a_private_repository_that_does_not_fit_is_kept_aside() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run("echo a >a; git add a; git commit -q -m a");
    fs::write(folder(&repo).join("current/record.json"), "{ half").unwrap();
    let PrivateResult::Created { replaced, .. } = create(&repo, &repo.open()) else {
        panic!("a damaged record was believed");
    };
    let replaced = replaced.unwrap();
    assert!(replaced.join("common/objects").is_dir());
    Sandbox::new(&repo).import_all(&repo, "the new one");
}
