//! Files that appear or change while a workspace is released.

use std::fs;
use std::path::Path;

use orange_effects::git::{Git, ReleaseResult, Rescue};
use orange_engine::names::TaskId;

use crate::repo_fixture::{RepoFixture, commit_files, files};

/// The git calls around which another process writes, and how many of each are tried.
const AROUND: &[(&str, u32)] = &[
    ("ls-files", 2),
    ("status", 4),
    ("hash-object", 4),
    ("write-tree", 2),
    ("commit-tree", 1),
    ("for-each-ref", 1),
    ("update-ref", 2),
    ("read-tree", 1),
    ("checkout-index", 1),
];

/// What the other process does: edits and creates files, and stages content that exists nowhere
/// else.
const WRITE: &str = "echo late >late; echo late >new; echo late >src/main.rs; echo late >x.log; \
                     echo staged-late >tool.sh; env -i PATH=$PATH $real add tool.sh; echo later >tool.sh";

fn stage() -> (RepoFixture, Git) {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    fs::write(repo.slot().join("README"), "early\n").unwrap();
    fs::write(repo.slot().join("new"), "early\n").unwrap();
    repo.save();
    (repo, git)
}

/// A git with writes around its nth call of a kind. Calls have one option before the command.
fn git_with_writes(repo: &RepoFixture, call: &str, nth: u32, is_before: bool) -> Git {
    let write = format!("(cd {} && {WRITE})", repo.slot().display());
    let (before, after) = if is_before {
        (write.as_str(), "true")
    } else {
        ("true", write.as_str())
    };
    let script = format!(
        "n=0\nif [ \"$2\" = {call} ]; then\n\
         n=$(cat {0}n 2>/dev/null || echo 0); n=$((n+1)); echo $n >{0}n\nfi\n\
         if [ $n = {nth} ]; then {before} <&-; fi\n\
         $real \"$@\"; code=$?\n\
         if [ $n = {nth} ]; then {after} <&-; fi\nexit $code",
        repo.path("").display()
    );
    repo.open_with(repo.wrapper("busy", &script))
}

fn has_written(repo: &RepoFixture, nth: u32) -> bool {
    let count = fs::read_to_string(repo.path("n"));
    count.is_ok_and(|count| count.trim().parse::<u32>().unwrap() >= nth)
}

/// Whether a path in the worktree, in a rescue, or in a rescue's index has this text.
fn is_kept(repo: &RepoFixture, rescues: &[Rescue], path: &str, text: &str) -> bool {
    let is_it = |files: &crate::repo_fixture::Files| {
        let found = files.get(Path::new(path));
        found.is_some_and(|(_, bytes)| bytes == text.as_bytes())
    };
    let commits = rescues.iter();
    let mut commits = commits.flat_map(|it| [it.commit.to_string(), format!("{}^2", it.commit)]);
    let staged = format!(":{path}");
    let staged = repo.try_git(&repo.slot(), &["cat-file", "blob", &staged]);
    is_it(&files(&repo.slot()))
        || staged.stdout == text.as_bytes()
        || commits.any(|commit| is_it(&commit_files(repo, &commit)))
}

fn release_with_writes(call: &str, nth: u32, is_before: bool, repo: &RepoFixture) {
    repo.reset();
    let released = repo.release(&git_with_writes(repo, call, nth, is_before), "t1");
    let rescues = match &released {
        ReleaseResult::Free { rescues } | ReleaseResult::Retired { rescues, .. } => rescues,
        released => panic!("{call} {nth}: {released:?}"),
    };
    assert!(is_kept(repo, rescues, "README", "early\n"), "{call} {nth}");
    if has_written(repo, nth) {
        for (path, text) in [
            ("late", "late\n"),
            ("new", "late\n"),
            ("src/main.rs", "late\n"),
            ("x.log", "late\n"),
            ("tool.sh", "staged-late\n"),
            ("tool.sh", "later\n"),
        ] {
            let is_kept = is_kept(repo, rescues, path, text);
            assert!(
                is_kept,
                "{path} {text} around {call} {nth}, before: {is_before}"
            );
        }
    }
}

#[test]
fn lesson_5_files_that_appear_before_a_call_are_kept() {
    let (repo, _) = stage();
    for (call, times) in AROUND {
        for nth in 1..=*times {
            release_with_writes(call, nth, true, &repo);
        }
    }
}

#[test]
fn lesson_5_files_that_appear_after_a_call_are_kept() {
    let (repo, _) = stage();
    for (call, times) in AROUND {
        for nth in 1..=*times {
            release_with_writes(call, nth, false, &repo);
        }
    }
}

#[test]
fn a_rescue_holds_the_content_at_its_time() {
    let (repo, git) = stage();
    for call in ["hash-object", "write-tree", "commit-tree"] {
        repo.reset();
        let busy = git_with_writes(&repo, call, 1, false);
        let worktree = busy.worktree(&repo.slot()).unwrap();
        let rescued = worktree.rescue(&TaskId::new("t1")).unwrap().unwrap();
        let saved_files = commit_files(&repo, rescued.commit.as_str());
        for (path, (mode, bytes)) in files(&repo.slot()) {
            let is_ignored = path == Path::new("x.log");
            assert!(
                is_ignored || saved_files.get(&path) == Some(&(mode, bytes)),
                "{call} {path:?}"
            );
        }
        assert_eq!(git.rescues(&TaskId::new("t1")).unwrap(), [rescued]);
    }
}
