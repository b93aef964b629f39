//! What agents do with git.

/// Each operation as a script that runs in the worktree, on the task's branch, and leaves it there.
pub const OPERATIONS: &[(&str, &str)] = &[
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
