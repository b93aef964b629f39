//! What agents do with git works in a private repository.

use orange_effects::git::{Import, Refresh};

use super::sandbox::{Sandbox, check_repository, collect_garbage, worktree_fixture};

/// Each operation as a script that runs in the worktree, on the task's branch, and leaves it there.
const OPERATIONS: &[(&str, &str)] = &[
    (
        "add and commit",
        "echo a >a; git add a; git commit -q -m a; test -z \"$(git status -s)\"",
    ),
    ("amend", "echo b >>a; git commit -q -a --amend -m amended"),
    (
        "stash",
        "echo c >>a; git stash -q; test -z \"$(git status -s)\"; git stash pop -q; git restore a; \
         echo kept >>a; git stash push -q -m kept",
    ),
    (
        "rebase",
        "git switch -q -c side HEAD~1; echo s >side; git add side; git commit -q -m side; \
         git switch -q fix; git rebase -q side; test -f side",
    ),
    (
        "interactive rebase",
        "for n in 1 2 3; do echo $n >n$n; git add n$n; git commit -q -m n$n; done; \
         GIT_SEQUENCE_EDITOR='sed -i -e 1s/pick/reword/ -e 2s/pick/fixup/' \
         GIT_EDITOR='sed -i s/n1/both/' git rebase -q -i HEAD~3; \
         test \"$(git log --format=%s -2)\" = \"$(printf 'n3\\nboth')\"",
    ),
    (
        "a rebase that stops, and is continued",
        "git switch -q -c other HEAD~1; echo x >n3; git add n3; git commit -q -m x; \
         git switch -q fix; if git rebase other >/dev/null 2>&1; then exit 1; fi; \
         echo solved >n3; git add n3; git rebase --continue >/dev/null; grep -q solved n3",
    ),
    (
        "merge",
        "git switch -q -c feature HEAD~1; echo f >feature; git add feature; \
         git commit -q -m feature; git switch -q fix; git merge -q --no-ff -m merged feature",
    ),
    (
        "a merge with a conflict",
        "git switch -q -c clash HEAD~1; echo one >clash; git add clash; git commit -q -m one; \
         git switch -q fix; echo two >clash; git add clash; git commit -q -m two; \
         if git merge clash >/dev/null 2>&1; then exit 1; fi; echo both >clash; git add clash; \
         git commit -q -m both",
    ),
    (
        "cherry-pick",
        "git switch -q -c pick; echo p >pick; git add pick; git commit -q -m pick; \
         git switch -q fix; git cherry-pick pick >/dev/null; test -f pick",
    ),
    (
        "revert",
        "git revert --no-edit HEAD >/dev/null; test ! -e pick",
    ),
    (
        "tag",
        "git tag v1; git tag -a -m annotated v2; git describe --tags >/dev/null; git tag -d v1",
    ),
    (
        "notes",
        "git notes add -m note; test \"$(git notes show)\" = note",
    ),
    ("branch -D", "git branch doomed; git branch -q -D doomed"),
    (
        "branch -m",
        "git branch old; git branch -m old new; git rev-parse -q --verify new >/dev/null",
    ),
    (
        "reset",
        "git reset -q --hard HEAD~1; git reset -q --soft HEAD@{1}; git reset -q --hard",
    ),
    (
        "gc",
        "git gc -q --prune=now; git fsck --strict --no-dangling; git stash list | grep -q kept",
    ),
    (
        "sparse-checkout",
        "git sparse-checkout set --no-cone /src/; test ! -e README; git sparse-checkout disable; \
         test -e README",
    ),
    (
        "worktree",
        "git worktree add -q /tmp/second -b second; \
         (cd /tmp/second; echo w >w; git add w; git commit -q -m w); \
         git worktree remove /tmp/second; git merge -q --ff-only second",
    ),
    (
        "bisect",
        "git bisect start HEAD HEAD~3 >/dev/null; git bisect run sh -c 'test ! -e w' >/dev/null; \
         git bisect reset >/dev/null 2>&1; git switch -q fix",
    ),
    (
        "blame and log",
        "git blame README >/dev/null; git log -p --stat --all >/dev/null; git reflog -1",
    ),
    (
        "format-patch and am",
        "git format-patch -q -1 -o /tmp/patch; git reset -q --hard HEAD~1; git am -q /tmp/patch/*",
    ),
    (
        "mv and rm",
        "git mv README READ; git rm -q src/deep/old.txt; git commit -q -m moved",
    ),
    (
        "fetch",
        "git fetch -q origin; git rev-parse -q --verify origin/main >/dev/null; \
         git merge-base origin/main fix >/dev/null; test \"$(git remote)\" = origin",
    ),
    (
        "push is refused",
        "if git push -q origin fix 2>/tmp/e; then exit 1; fi; \
         grep -q nothing-is-pushed-from-a-sandbox /tmp/e",
    ),
    (
        "the name of the user",
        "test \"$(git log -1 --format=%an/%ae)\" = \"$(git config user.name)/$(git config user.email)\"",
    ),
];

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
