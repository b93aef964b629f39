//! What an agent plants in its private repository has no effect outside.

use std::fs;
use std::path::PathBuf;

use orange_effects::git::DiffRequest;
use orange_engine::names::BranchName;

use super::sandbox::{Sandbox, check_repository, collect_garbage, worktree_fixture};
use super::snapshot::Snapshot;
use crate::repo_fixture::RepoFixture;

/// Scripts that run inside; `$G` is what is mounted at the real `.git`, `$E` a program outside that
/// leaves evidence.
const ATTACKS: &[(&str, &str)] = &[
    (
        "hooks",
        "mkdir -p $G/hooks; for h in pre-commit post-checkout post-index-change reference-transaction \
         post-rewrite pre-push post-merge update post-update; do printf '#!/bin/sh\\n%s\\n' \"$E\" \
         >$G/hooks/$h; chmod +x $G/hooks/$h; done",
    ),
    (
        "programs in the configuration",
        "for k in core.fsmonitor core.sshCommand core.editor core.pager core.askPass \
         credential.helper filter.evil.clean filter.evil.smudge filter.evil.process diff.external \
         diff.evil.command diff.evil.textconv merge.evil.driver gpg.program sequence.editor \
         core.alternateRefsCommand uploadpack.packObjectsHook remote.origin.uploadpack; do \
         git config $k \"$E\"; done; git config alias.status \"!$E\"; \
         git config core.hooksPath $G/hooks; git config include.path /etc/nothing",
    ),
    (
        "attributes that name filters",
        "printf '* filter=evil diff=evil merge=evil\\n' >.gitattributes; \
         git -c filter.evil.clean=cat -c filter.evil.process= add .gitattributes",
    ),
    (
        "a common directory elsewhere",
        "printf '/etc\\n' >$G/commondir",
    ),
    (
        "other alternates",
        "printf '/etc\\n/\\n../../../../..\\n' >>$G/objects/info/alternates",
    ),
    (
        "refs with odd names",
        "for n in -x a..b 'sp ace' x.lock '@{1}' HEAD 'tab\tx'; do \
         git rev-parse HEAD >\"$G/refs/heads/$n\"; done; git rev-parse HEAD >$G/evil",
    ),
    (
        "a link instead of the branch",
        "ln -sf /etc/passwd $G/refs/heads/fix",
    ),
    (
        "a symbolic ref instead of the branch",
        "printf 'ref: refs/heads/main\\n' >$G/refs/heads/fix",
    ),
    (
        "a directory instead of the branch",
        "rm -f $G/refs/heads/fix; mkdir -p $G/refs/heads/fix/x",
    ),
    (
        "a pipe instead of the branch",
        "rm -rf $G/refs/heads/fix; mkfifo $G/refs/heads/fix",
    ),
    (
        "garbage instead of the branch",
        "rm -f $G/refs/heads/fix; printf -- '--upload-pack=%s' \"$E\" >$G/refs/heads/fix",
    ),
    (
        "a branch at nothing",
        "printf '%040d\\n' 0 >$G/refs/heads/fix",
    ),
    (
        "an endless branch",
        "rm -f $G/refs/heads/fix; head -c 10000000 /dev/zero >$G/refs/heads/fix",
    ),
    (
        "links instead of files",
        "for f in HEAD config packed-refs index info worktrees/app--1/index worktrees/app--1/HEAD; do \
         rm -rf $G/$f; ln -s /etc/passwd $G/$f; done",
    ),
    (
        "a link instead of the refs",
        "rm -rf $G/refs; ln -s /etc $G/refs",
    ),
    (
        "another record of the worktree",
        "printf '/etc/.git\\n' >$G/worktrees/app--1/gitdir",
    ),
    ("no objects", "rm -rf $G/objects"),
    ("nothing at all", "rm -rf $G/* 2>/dev/null || true"),
    (
        "no permissions",
        "chmod 000 $G/refs $G/objects 2>/dev/null || true",
    ),
];

/// How many tests share the attacks.
const SHARDS: usize = 3;

/// Commits, then runs an attack; returns the file that a program outside would leave.
fn attack(sandbox: &Sandbox, repo: &RepoFixture, script: &str) -> PathBuf {
    let evidence = repo.path("evidence");
    let program = format!("touch {}", evidence.display());
    let directory = repo.app().join(".git").display().to_string();
    let start =
        format!("G={directory}; E='{program}'; echo new >>planted; git add planted || true");
    let attack = format!("{start}; git commit -q -m planted || true; {script}");
    let output = sandbox.try_run(&attack);
    let errors = String::from_utf8_lossy(&output.stderr.bytes);
    assert_eq!(
        output.ending,
        orange_effects::command::CommandExit::Code(0),
        "{script}: {errors}"
    );
    evidence
}

/// What orange and the user do outside, afterwards.
fn use_git_outside(repo: &RepoFixture) {
    let git = repo.open();
    let worktree = git.worktree(&repo.slot()).unwrap();
    worktree.condition().unwrap();
    worktree.state_hash().unwrap();
    let request = DiffRequest {
        branch: &BranchName::new("fix"),
        default: &BranchName::new("main"),
        start: None,
        merged: None,
        stat: false,
        colour: false,
    };
    worktree.diff(&request).unwrap();
    repo.git(&repo.slot(), &["status"]);
    repo.git(&repo.slot(), &["diff", "HEAD"]);
    repo.git(&repo.slot(), &["log", "-1", "-p"]);
    repo.git(&repo.slot(), &["add", "--dry-run", "."]);
}

/// Tries every attack of one shard, each in a repository of its own; the shards run in parallel.
fn every_attack(shard: usize) {
    for (what, script) in ATTACKS.iter().skip(shard).step_by(SHARDS) {
        let repo = worktree_fixture();
        let sandbox = Sandbox::new(&repo);
        let snapshot = Snapshot::of(&repo);
        let evidence = attack(&sandbox, &repo, script);
        sandbox.import(&repo);
        use_git_outside(&repo);
        assert!(!evidence.exists(), "{what}");
        snapshot.check(&repo, what);
        assert!(!repo.app().join(".git/orange-import").exists(), "{what}");
        collect_garbage(&repo);
        check_repository(&repo, what);
    }
}

#[test]
fn nothing_planted_has_an_effect_0() {
    every_attack(0);
}

#[test]
fn nothing_planted_has_an_effect_1() {
    every_attack(1);
}

#[test]
fn nothing_planted_has_an_effect_2() {
    every_attack(2);
}

/// All of it together, after which the work is still imported: these attacks leave the branch as it
/// is.
#[test]
fn work_is_imported_in_spite_of_what_was_planted() {
    let repo = worktree_fixture();
    let sandbox = Sandbox::new(&repo);
    let snapshot = Snapshot::of(&repo);
    for (what, script) in &ATTACKS[..6] {
        let evidence = attack(&sandbox, &repo, script);
        assert!(!evidence.exists(), "{what}");
    }
    let tip = fs::read_to_string(sandbox.repository.common_directory().join("refs/heads/fix"));
    let before = crate::merge::tip(&repo, &repo.app(), "fix");
    sandbox.import(&repo);
    let now = crate::merge::tip(&repo, &repo.app(), "fix");
    assert_eq!(now, tip.unwrap().trim());
    assert_ne!(now, before);
    use_git_outside(&repo);
    assert!(!repo.path("evidence").exists());
    snapshot.check(&repo, "all");
}

/// Shows that the programs above would run in a repository whose configuration an agent wrote.
#[test]
fn the_check_notices_a_program_that_runs() {
    let repo = worktree_fixture();
    let evidence = repo.path("evidence");
    let program = format!("touch {}", evidence.display());
    repo.git(&repo.app(), &["config", "core.fsmonitor", &program]);
    repo.git(&repo.slot(), &["status"]);
    assert!(evidence.exists());
}
