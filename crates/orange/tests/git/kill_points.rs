//! The process is killed with -9 at every git call, then repeated.
//!
//! A child of the test runs through a wrapper around git that kills its caller at the chosen call:
//! before git runs, after it has run, or both of them in the middle.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use orange_config::clock::Deadline;
use orange_effects::git::{Phase, ReleaseResult, RestoreResult};
use orange_effects::process::processes_in;
use orange_engine::names::TaskId;

use crate::repo_fixture::{
    Files, RepoFixture, begin_count, commit_files, counted, files, numbering_script,
};

const ACT: &str = "ORANGE_TEST_ACT";
const ROOT: &str = "ORANGE_TEST_ROOT";

/// The branch that an act creates.
const NEW: &str = "new";

/// How many tests share the calls of one act, so that they run in parallel.
const SHARDS: usize = 3;

/// How the caller is killed.
#[derive(Clone, Copy, Debug)]
pub enum KillMode {
    Before,
    After,
    During,
    /// Not at all: only this call fails.
    Spared,
}

/// What the child does.
fn perform(repo: &RepoFixture, what: &str, program: PathBuf) {
    let git = repo.open_with(program);
    let task = TaskId::new("t1");
    match what {
        "acquire" => drop(repo.acquire(&git, "t1", "fix")),
        "acquire_new" | "acquire_new_released" => drop(repo.acquire(&git, "t1", NEW)),
        "release" | "release_hidden" => drop(repo.release(&git, "t1")),
        "restore" => {
            let rescued = git.require_rescue(&task, 1).unwrap();
            let worktree = git.worktree(&repo.slot()).unwrap();
            drop(worktree.restore(&rescued).unwrap());
        }
        #[cfg(target_os = "linux")]
        "create_private" | "import_private" => {
            crate::private_repository::kills::perform(repo, &git, what);
        }
        what => crate::merge_kill_points::perform(repo, &git, what),
    }
}

/// Not a test itself: the process that is killed.
#[test]
fn child() {
    let (Ok(what), Ok(root)) = (std::env::var(ACT), std::env::var(ROOT)) else {
        return;
    };
    let repo = RepoFixture::at(root.into());
    let program = repo.path("deadly");
    perform(&repo, &what, program);
}

/// Runs the act in a child that is killed at the given call; returns how many calls there were.
pub fn run(repo: &RepoFixture, what: &str, at: usize, way: KillMode) -> usize {
    let deed = match way {
        KillMode::Before => "kill -9 $PPID; exit 1",
        KillMode::After => "$real \"$@\"; kill -9 $PPID; exit 1",
        KillMode::During => {
            "exec 3<&0; $real \"$@\" <&3 & sleep 0.003; kill -9 $!; kill -9 $PPID; exit 1"
        }
        KillMode::Spared => "echo broken >&2; exit 128",
    };
    let script = format!(
        "{}if [ $n = {at} ]; then {deed}; fi\nexec $real \"$@\"",
        numbering_script(&repo.path("n"))
    );
    begin_count(&repo.path("n"));
    repo.wrapper("deadly", &script);
    let mut child = child_process(repo, what);
    let status = child.status().unwrap();
    let calls = counted(&repo.path("n"));
    let is_killed = status.signal() == Some(9);
    let must = calls >= at && !matches!(way, KillMode::Spared);
    assert_eq!(is_killed, must, "{what} killed {way:?} {at}: {status}");
    calls
}

pub fn child_process(repo: &RepoFixture, what: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "kill_points::child", "--nocapture"]);
    child.env(ACT, what).env(ROOT, repo.path(""));
    child.stdin(Stdio::null());
    child.stdout(Stdio::null()).stderr(Stdio::null());
    child
}

/// A branch that shares little with `main`.
fn branch(repo: &RepoFixture) {
    let app = repo.app();
    repo.git(&app, &["switch", "-q", "-c", "fix"]);
    fs::write(app.join("large"), vec![b'x'; 300_000]).unwrap();
    fs::remove_file(app.join("data.bin")).unwrap();
    fs::write(app.join("README"), "the branch's own\n".repeat(5000)).unwrap();
    repo.git(&app, &["add", "-A"]);
    repo.git(&app, &["commit", "-q", "-m", "much"]);
    repo.git(&app, &["switch", "-q", "main"]);
}

fn dirty(repo: &RepoFixture) -> (Files, String) {
    let at = repo.slot();
    fs::write(at.join("README"), "staged\n").unwrap();
    repo.git(&at, &["add", "README"]);
    fs::write(at.join("README"), "unstaged\n").unwrap();
    fs::write(at.join("new"), "untracked\n").unwrap();
    fs::write(at.join("x.log"), "ignored\n").unwrap();
    fs::remove_file(at.join("src/deep/old.txt")).unwrap();
    fs::remove_file(at.join("link")).unwrap();
    symlink("src", at.join("link")).unwrap();
    (files(&at), status(repo))
}

/// Uncommitted work with a `.gitignore` that hides other files: a release saves twice.
fn dirty_with_hidden(repo: &RepoFixture) -> (Files, String) {
    let at = repo.slot();
    fs::write(at.join(".gitignore"), "*.log\ncache/\n.env\nbuild/\n").unwrap();
    fs::create_dir(at.join("build")).unwrap();
    fs::write(at.join("build/out"), "hidden\n").unwrap();
    dirty(repo)
}

fn status(repo: &RepoFixture) -> String {
    repo.git(
        &repo.slot(),
        &["status", "--porcelain=v2", "--untracked-files=all"],
    )
}

/// Acquires again what a killed process began to create, and removes it.
fn acquire_new(repo: &RepoFixture) {
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", NEW);
    assert_eq!(acquired.changes.len(), 0);
    assert_eq!(acquired.head.branch().unwrap().as_str(), NEW);
    assert_eq!(files(&repo.slot()), commit_files(repo, "main"));
    assert_eq!(status(repo), "");
    let marker = acquired.worktree.marker().unwrap().unwrap();
    assert_eq!(marker.phase.task(), Some(&TaskId::new("t1")));
    let listed = repo.git(&repo.app(), &["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("worktree ").count(), 2, "{listed}");
    let commits = repo.git(&repo.app(), &["rev-parse", "main", NEW]);
    let (main, new) = commits.trim().split_once('\n').unwrap();
    assert_eq!(main, new);
    repo.release(&git, "t1");
    repo.git(&repo.app(), &["branch", "-q", "-D", NEW]);
}

/// Releases what a killed process began to create.
fn release_new(repo: &RepoFixture) {
    let released = repo.release(&repo.open(), "t1");
    assert!(
        matches!(
            &released,
            ReleaseResult::Absent | ReleaseResult::Free { .. }
        ),
        "{released:?}"
    );
    let listed = repo.git(&repo.app(), &["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("branch refs/heads/new"), "{listed}");
    // The branch exists if the process was killed late enough.
    let delete = ["update-ref", "-d", "refs/heads/new"];
    let _absent = repo.try_git(&repo.app(), &delete);
}

/// Checks everything that must hold after one further attempt, whenever the first was killed.
fn repeat(repo: &RepoFixture, what: &str, before: &Files, status_before: &str, branches: &str) {
    let git = repo.open();
    let task = TaskId::new("t1");
    match what {
        "acquire" => {
            let acquired = repo.acquire(&git, "t1", "fix");
            assert_eq!(acquired.changes.len(), 0);
            assert_eq!(acquired.head.branch().unwrap().as_str(), "fix");
            assert_eq!(files(&repo.slot()), commit_files(repo, "fix"));
            let listed = repo.git(&repo.app(), &["worktree", "list", "--porcelain"]);
            assert_eq!(listed.matches("worktree ").count(), 2, "{listed}");
        }
        "acquire_new_released" => release_new(repo),
        "acquire_new" => acquire_new(repo),
        "release" => {
            let released = repo.release(&git, "t1");
            assert!(
                matches!(released, ReleaseResult::Free { .. }),
                "{released:?}"
            );
            let rescues = git.rescues(&task).unwrap();
            assert_eq!(rescues.len(), 1, "saved once");
            let saved = commit_files(repo, rescues[0].commit.as_str());
            let now = files(&repo.slot());
            for (path, content) in before {
                let is_kept = saved.get(path) == Some(content) || now.get(path) == Some(content);
                assert!(is_kept, "lost {}", path.display());
            }
            assert!(!saved.contains_key(&PathBuf::from("src/deep/old.txt")));
            let index = format!("{}^2:README", rescues[0].commit);
            assert_eq!(
                repo.git(&repo.app(), &["cat-file", "blob", &index]),
                "staged\n"
            );
            assert_eq!(status(repo), "");
            let marker = git.worktree(&repo.slot()).unwrap().marker().unwrap();
            assert_eq!(marker.unwrap().phase, Phase::Idle);
        }
        "release_hidden" => {
            let released = repo.release(&git, "t1");
            assert!(
                matches!(released, ReleaseResult::Free { .. }),
                "{released:?}"
            );
            assert_eq!(status(repo), "");
            assert!(!repo.slot().join("build").exists());
            let latest = git.rescues(&task).unwrap().pop().unwrap();
            let worktree = repo.acquire(&git, "t1", "fix").worktree;
            for rescued in git.rescues_of_release(&latest).unwrap() {
                let restored = worktree.restore(&rescued).unwrap();
                assert!(
                    matches!(restored, RestoreResult::Done { .. }),
                    "{restored:?}"
                );
            }
            assert_eq!(files(&repo.slot()), *before);
            assert_eq!(status(repo), status_before);
        }
        "restore" => {
            let worktree = git.worktree(&repo.slot()).unwrap();
            let restored = worktree
                .restore(&git.require_rescue(&task, 1).unwrap())
                .unwrap();
            assert!(
                matches!(restored, RestoreResult::Done { .. }),
                "{restored:?}"
            );
            assert_eq!(files(&repo.slot()), *before);
            assert_eq!(status(repo), status_before);
        }
        what => panic!("{what}"),
    }
    assert_eq!(repo.branches(), branches);
    let directory = repo
        .app()
        .join(".git/worktrees")
        .join(crate::repo_fixture::WORKSPACE);
    assert!(!directory.join("index.lock").exists());
}

/// A saved fixture in which the act can be performed; with its files, status and branches.
fn stage(what: &str) -> (RepoFixture, Files, String, String) {
    let repo = RepoFixture::new();
    branch(&repo);
    let branches = repo.branches();
    let (mut before, mut status_before) = (Files::new(), String::new());
    if !what.starts_with("acquire") {
        let git = repo.open();
        repo.acquire(&git, "t1", "fix");
        (before, status_before) = match what {
            "release_hidden" => dirty_with_hidden(&repo),
            _ => dirty(&repo),
        };
        if what == "restore" {
            repo.release(&git, "t1");
            repo.acquire(&git, "t1", "fix");
        }
    }
    repo.save();
    (repo, before, status_before, branches)
}

/// Goes through every call of one shard, those with this remainder: the child is killed there, or
/// the call fails, and the act is repeated.
fn every_call(what: &str, shard: usize) {
    let (repo, before, status_before, branches) = stage(what);
    for at in (shard + 1..).step_by(SHARDS) {
        let way = [
            KillMode::Before,
            KillMode::Spared,
            KillMode::After,
            KillMode::During,
        ][at / SHARDS % 4];
        let calls = run(&repo, what, at, way);
        repeat(&repo, what, &before, &status_before, &branches);
        if calls < at {
            let least = match what {
                "acquire" => 10,
                "acquire_new" | "acquire_new_released" => 3,
                _ => 11,
            };
            assert!(calls >= least, "{what} has only {calls} calls");
            return;
        }
        repo.reset();
    }
}

/// Between two git calls, files are moved and written, so the child is also killed there: at
/// instants spread over its lifetime. The test waits for a git that it leaves behind, as the driver
/// does by retrying.
#[cfg(target_os = "linux")]
#[test]
fn at_any_instant() {
    for what in [
        "acquire",
        "acquire_new",
        "acquire_new_released",
        "release",
        "release_hidden",
        "restore",
    ] {
        let (repo, before, status_before, branches) = stage(what);
        for instant in 0..8 {
            repo.wrapper("deadly", "exec $real \"$@\"");
            let mut child = child_process(&repo, what).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(15 + 17 * instant));
            child.kill().unwrap();
            child.wait().unwrap();
            let is_alone = || processes_in(&repo.path(""), "git").unwrap().is_empty();
            assert!(Deadline::after(Duration::from_secs(20)).wait_for(is_alone));
            repeat(&repo, what, &before, &status_before, &branches);
            repo.reset();
        }
    }
}

/// What a switch leaves behind that is killed while it writes: some files new, one of them
/// half-written, one gone, the index old and locked.
#[test]
fn half_a_switch() {
    let (repo, before, status_before, branches) = stage("acquire");
    let script = format!(
        "if [ \"$2\" = switch ]; then\n\
         cd {0} && rm data.bin && $real cat-file blob fix:README >README &&\n\
         $real cat-file blob fix:large | head -c 1000 >large && : >\"$GIT_DIR/index.lock\"\n\
         kill -9 $PPID; exit 1\nfi\nexec $real \"$@\"",
        repo.slot().display()
    );
    repo.wrapper("deadly", &script);
    let status = child_process(&repo, "acquire").status().unwrap();
    assert_eq!(status.signal(), Some(9));
    let half = fs::read(repo.slot().join("large")).unwrap();
    assert_eq!(half.len(), 1000);
    repeat(&repo, "acquire", &before, &status_before, &branches);
}

macro_rules! shards {
    ($($name:ident $what:literal $shard:literal)+) => {$(
        #[test]
        fn $name() {
            every_call($what, $shard);
        }
    )+};
}

shards! {
    acquire_0 "acquire" 0
    acquire_1 "acquire" 1
    acquire_2 "acquire" 2
    acquire_new_0 "acquire_new" 0
    acquire_new_1 "acquire_new" 1
    acquire_new_2 "acquire_new" 2
    acquire_new_released_0 "acquire_new_released" 0
    acquire_new_released_1 "acquire_new_released" 1
    acquire_new_released_2 "acquire_new_released" 2
    release_0 "release" 0
    release_1 "release" 1
    release_2 "release" 2
    release_hidden_0 "release_hidden" 0
    restore_0 "restore" 0
    restore_1 "restore" 1
    restore_2 "restore" 2
}
