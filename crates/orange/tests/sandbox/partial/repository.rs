//! The user's repository, which an agent without namespaces shares.

use std::fs;

use super::stories::{prove, stage};
use crate::support::wait_for;

/// Commits, and rebases onto a branch that has moved.
const WORK: &str = "\
commit one; commit two
pause moved
{ git rebase -q main > /dev/null && git log --format=%s main.. && git status --porcelain -uno && echo clean
git stash list; echo x >> work.txt; git commit -q --amend -am amended && echo amended; } > said 2> errors
give said < said
";

/// What an agent must not change: each line is tried.
const HOSTILE: &str = "\
G=$(git rev-parse --path-format=absolute --git-common-dir)
try() { if sh -c \"$1\" > /dev/null 2>&1; then echo \"SUCCEEDED $1\"; fi; }
{ try \"git config core.hooksPath /tmp\"
try \"git config --worktree core.hooksPath /tmp\"
try \"echo x >> $G/config\"
try \"touch $G/config.lock\"
try \"mv $G/config $G/config.old\"
try \"mkdir -p $G/hooks && touch $G/hooks/pre-commit\"
try \"echo x > $G/info/attributes\"
try \"echo x > $G/commondir\"
try \"echo x > $G/packed-refs\"
try \"echo x > $G/HEAD\"
try \"touch $G/worktrees/other\"
try \"echo x > $G/worktrees/users-own/HEAD\"
try \"rm -f $G/worktrees/users-own/HEAD && test ! -e $G/worktrees/users-own/HEAD\"
try \"ln -s $HOME/x $G/refs/heads/link\"
try \"ln -s $HOME/x $G/logs/link\"
try \"ln -s $HOME/x $(git rev-parse --path-format=absolute --git-dir)/link\"
try \"ln -s x here && mv here $G/refs/heads/link\"
try \"mkfifo $G/refs/heads/pipe\"; } > tried
give tried < tried
";

#[test]
fn an_agent_commits_and_rebases_and_plants_nothing() {
    let stage = stage("minimal");
    let other = stage.path("other").display().to_string();
    for call in [
        "branch users-own",
        &format!("worktree add -q {other} users-own"),
    ] {
        assert!(stage.git(call).status.success(), "{call}");
    }
    fs::rename(
        stage.path("repo/.git/worktrees/other"),
        stage.path("repo/.git/worktrees/users-own"),
    )
    .unwrap();
    fs::write(
        stage.path("other/.git"),
        format!(
            "gitdir: {}\n",
            stage.path("repo/.git/worktrees/users-own").display()
        ),
    )
    .unwrap();
    let before = fs::read_to_string(stage.path("repo/.git/config")).unwrap();
    stage.script("worker-1", &format!("{}{HOSTILE}{WORK}", prove(&stage)));
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the attempts", || stage.path("scripts/tried").exists());
    assert!(stage.path("scripts/proof").exists());
    let tried = fs::read_to_string(stage.path("scripts/tried")).unwrap();
    assert_eq!(tried, "");
    fs::write(stage.path("repo/users.txt"), "x").unwrap();
    for call in ["add users.txt", "commit -q -m moved"] {
        assert!(stage.git(call).status.success(), "{call}");
    }
    stage.script("moved", "");
    wait_for("the rebase", || stage.path("scripts/said").exists());
    let said = fs::read_to_string(stage.path("scripts/said")).unwrap();
    let errors = fs::read_to_string(stage.worktree(&id).join("errors")).unwrap();
    assert_eq!(said, "two\none\nclean\namended\n", "{errors}");
    let after = fs::read_to_string(stage.path("repo/.git/config")).unwrap();
    assert_eq!(before, after);
    assert!(!stage.path("repo/.git/hooks/pre-commit").exists());
    let fsck = stage.git("fsck --full");
    assert!(
        fsck.status.success(),
        "{}",
        String::from_utf8_lossy(&fsck.stderr)
    );
}
