//! What agents do with git works in a private repository.

use orange_effects::git::{Import, Refresh};

use super::operations_table::OPERATIONS;
use super::sandbox::{Sandbox, check_repository, collect_garbage, worktree_fixture};

#[test]
fn every_operation_works_and_is_imported() {
    let repo = worktree_fixture();
    crate::merge::add_remote(&repo);
    collect_garbage(&repo);
    let sandbox = Sandbox::new(&repo);
    check_repository(&repo, "before");
    for (what, script) in OPERATIONS {
        // Every operation is one run of the task, so that what it leaves has to survive the next.
        sandbox.run(script);
        sandbox.import_all(&repo, what);
        let status = repo.git(&repo.slot(), &["status", "--porcelain"]);
        let inside = sandbox.run("git status --porcelain");
        assert_eq!(status, inside, "{what}");
    }
    collect_garbage(&repo);
    check_repository(&repo, "after");
    assert!(sandbox.run("git stash list").contains("kept"));
    sandbox.run("git fsck --strict --no-dangling; git log --all >/dev/null");
    for name in ["side", "feature", "v2"] {
        let output = repo.try_git(&repo.app(), &["rev-parse", "-q", "--verify", name]);
        assert!(
            !output.status.success(),
            "only the task's branch is imported: {name}"
        );
    }
}

/// Each row of the table is an operation that fails in an empty folder, so it shows something.
#[test]
fn the_operations_need_a_repository() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    for (what, script) in OPERATIONS {
        let output = sandbox.try_run(&format!("mkdir /tmp/empty; cd /tmp/empty; {script}"));
        assert_ne!(
            output.ending,
            orange_effects::command::CommandExit::Code(0),
            "{what}"
        );
    }
}

#[test]
fn an_operation_in_progress_survives_the_run() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    sandbox.run(
        "echo one >f; git add f; git commit -q -m one; git switch -q -c other HEAD~1; \
         echo two >f; git add f; git commit -q -m two; git switch -q fix; \
         if git rebase other >/dev/null 2>&1; then exit 1; fi",
    );
    sandbox.import_all(&repo, "in the middle of a rebase");
    assert!(
        repo.open()
            .worktree(&repo.slot())
            .unwrap()
            .condition()
            .unwrap()
            .operations
            .is_empty()
    );
    let next = Sandbox::new(&repo);
    assert_eq!(next.repository, sandbox.repository);
    next.run("echo both >f; git add f; git rebase --continue >/dev/null; git switch -q fix");
    next.import_all(&repo, "after it");
    assert_eq!(repo.git(&repo.slot(), &["status", "--porcelain"]), "");
}

#[test]
fn what_changes_outside_is_told_inside() {
    let repo = worktree_fixture();
    let remote = crate::merge::add_remote(&repo);
    let sandbox = Sandbox::new(&repo);
    assert_eq!(sandbox.refresh(&repo), Refresh::Current);
    let main = repo.commit(&repo.app(), "elsewhere", "other work\n");
    repo.git(&repo.app(), &["branch", "topic/a"]);
    repo.git(&repo.app(), &["push", "-q", "origin", "main"]);
    assert_eq!(sandbox.refresh(&repo), Refresh::Told { branch: None });
    assert_eq!(sandbox.tip("main"), main);
    assert_eq!(sandbox.tip("origin/main"), main);
    repo.git(&repo.app(), &["branch", "-D", "topic/a"]);
    repo.git(&repo.app(), &["branch", "topic"]);
    sandbox.run("echo a >a; git add a; git commit -q -m a; git branch mine; git tag own");
    assert_eq!(sandbox.refresh(&repo), Refresh::Told { branch: None });
    sandbox.run("for n in topic mine own; do git rev-parse -q --verify $n; done");
    sandbox.run("git fetch -q origin; git rebase -q main; test -e elsewhere");
    sandbox.import_all(&repo, "rebased onto what was told");
    let other = repo.path("clone");
    repo.git(
        &repo.path(""),
        &["clone", "-q", &remote.display().to_string(), "clone"],
    );
    let theirs = repo.commit(&other, "theirs", "theirs\n");
    repo.git(&other, &["push", "-q", "origin", "main"]);
    repo.git(&repo.app(), &["fetch", "-q", "origin"]);
    sandbox.refresh(&repo);
    sandbox.run("git fetch -q origin");
    assert_eq!(sandbox.tip("origin/main"), theirs);
}

#[test]
fn a_branch_that_was_moved_outside_is_followed() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    let mine = repo.commit(&repo.slot(), "mine", "the user's own\n");
    let branch = Some(orange_engine::names::CommitId::new(&*mine));
    assert_eq!(sandbox.refresh(&repo), Refresh::Told { branch });
    assert_eq!(sandbox.tip("HEAD"), mine);
    assert_eq!(sandbox.run("git status --porcelain"), "");
    sandbox.run("echo a >a; git add a; git commit -q -m a");
    sandbox.import_all(&repo, "on top of it");

    sandbox.run("echo b >b; git add b; git commit -q -m b");
    let inside = sandbox.tip("HEAD");
    let outside = repo.commit(&repo.slot(), "mine", "again\n");
    let Import::Refused(refusal) = sandbox.import(&repo) else {
        panic!("the user's commit would be lost");
    };
    assert!(format!("{refusal:?}").contains(&outside), "{refusal:?}");
    let diverged = sandbox.refresh(&repo);
    assert!(matches!(diverged, Refresh::Diverged { .. }), "{diverged:?}");
    assert_eq!(sandbox.tip("fix"), inside);
    assert_eq!(crate::merge::tip(&repo, &repo.app(), "fix"), outside);
}

/// The user deletes a branch that the agent builds on, and collects garbage.
#[test]
fn what_an_agent_borrowed_is_kept() {
    let repo = worktree_fixture();
    repo.git(&repo.app(), &["switch", "-q", "-c", "feature"]);
    repo.commit(&repo.app(), "feature", "feature\n");
    repo.git(&repo.app(), &["switch", "-q", "main"]);
    let sandbox = Sandbox::new(&repo);
    sandbox.run("git merge -q --no-ff -m merged feature; git branch -q -D feature");
    repo.git(&repo.app(), &["branch", "-q", "-D", "feature"]);
    collect_garbage(&repo);
    sandbox.run("git fsck --strict --no-dangling");
    sandbox.import_all(&repo, "built on a deleted branch");
    check_repository(&repo, "after");
    let git = repo.open();
    git.forget_borrowed(&orange_engine::names::TaskId::new(super::sandbox::TASK))
        .unwrap();
    let refs = repo.git(&repo.app(), &["for-each-ref", "refs/orange/base"]);
    assert_eq!(refs, "");
    assert!(!repo.app().join(".git/logs/refs/orange/base/t1").exists());
    collect_garbage(&repo);
    check_repository(&repo, "when it is over");
}
