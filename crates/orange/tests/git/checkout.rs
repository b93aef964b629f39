//! Acquiring a workspace: which commit, which branch, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::git::{
    AcquireRefusal, AcquireResult, DiffRequest, FactsRequest, Freshness, Git, Head, Operation,
    ReleaseResult,
};
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, TaskId};

use crate::repo_fixture::{RepoFixture, files};

/// A bare remote with the same content as the repository.
fn add_remote(repo: &RepoFixture) -> PathBuf {
    let remote = repo.path("remote.git");
    repo.git(
        &repo.path(""),
        &["clone", "-q", "--bare", "app", "remote.git"],
    );
    let at = remote.display().to_string();
    repo.git(&repo.app(), &["remote", "add", "origin", &at]);
    repo.git(&repo.app(), &["fetch", "-q", "origin"]);
    remote
}

/// A commit pushed from another clone.
fn push(repo: &RepoFixture, branch: &str) -> String {
    let other = repo.path("other");
    if !other.exists() {
        repo.git(&repo.path(""), &["clone", "-q", "remote.git", "other"]);
    }
    let known = repo.git(&other, &["branch", "--list", branch]);
    let switch: &[&str] = if known.is_empty() {
        &["switch", "-q", "-c", branch]
    } else {
        &["switch", "-q", branch]
    };
    repo.git(&other, switch);
    let commit = repo.commit(&other, "pushed", branch);
    repo.git(&other, &["push", "-q", "origin", branch]);
    commit
}

fn on(head: &Head) -> (&str, &str) {
    (
        head.branch().unwrap().as_str(),
        head.commit().unwrap().as_str(),
    )
}

#[test]
fn without_a_remote_a_new_branch_starts_from_the_default_branch() {
    let repo = RepoFixture::new();
    let git = repo.open();
    let base = repo.commit(&repo.app(), "late", "late\n");
    let acquired = repo.acquire(&git, "t1", "orange-tasks/t1");
    assert_eq!(acquired.freshness, Freshness::NoRemote);
    assert_eq!(on(&acquired.head), ("orange-tasks/t1", &*base));
    assert!(acquired.is_new_branch && !acquired.was_acquired);
    // Acquiring twice is the same as once, whatever the agent has changed meanwhile.
    fs::write(repo.slot().join("late"), "changed\n").unwrap();
    let before = files(&repo.slot());
    let again = repo.acquire(&git, "t1", "orange-tasks/t1");
    assert!(again.was_acquired && !again.is_new_branch);
    assert_eq!(files(&repo.slot()), before);
    assert_eq!(
        repo.refusal(&git, "t2", "other"),
        AcquireRefusal::HasOtherTask(TaskId::new("t1"))
    );
}

#[test]
fn lesson_46_the_base_is_as_fresh_as_the_remote() {
    let repo = RepoFixture::new();
    add_remote(&repo);
    let pushed = push(&repo, "main");
    let own = repo.git(&repo.app(), &["rev-parse", "main"]);
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "fix");
    assert_eq!(acquired.freshness, Freshness::Fresh);
    assert_eq!(acquired.base.commit.as_str(), pushed);
    assert_eq!(on(&acquired.head), ("fix", &*pushed));
    assert_eq!(
        repo.git(&repo.app(), &["rev-parse", "main"]),
        own,
        "no branch moves"
    );
}

#[test]
fn a_relative_remote_path_is_relative_to_the_checkout() {
    let repo = RepoFixture::new();
    add_remote(&repo);
    let set = ["remote", "set-url", "origin", "../remote.git"];
    repo.git(&repo.app(), &set);
    let pushed = push(&repo, "main");
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "fix");
    assert_eq!(acquired.freshness, Freshness::Fresh);
    assert_eq!(acquired.base.commit.as_str(), pushed);
}

#[test]
fn own_commits_on_the_default_branch_count_unless_others_have_more() {
    let repo = RepoFixture::new();
    add_remote(&repo);
    let own = repo.commit(&repo.app(), "own", "own\n");
    let git = repo.open();
    let base = repo.acquire(&git, "t1", "fix").base;
    assert_eq!((base.commit.as_str(), base.is_diverged), (&*own, false));
    let pushed = push(&repo, "main");
    let base = repo.acquire(&git, "t1", "fix").base;
    assert_eq!((base.commit.as_str(), base.is_diverged), (&*pushed, true));
}

#[test]
fn work_starts_from_the_local_branch_if_merges_are_not_pushed() {
    let mut repo = RepoFixture::new();
    repo.merges_stay_here = true;
    add_remote(&repo);
    let merged = repo.commit(&repo.app(), "merged", "by an earlier task\n");
    push(&repo, "main");
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "fix");
    let base = &acquired.base;
    assert_eq!((base.commit.as_str(), base.is_diverged), (&*merged, true));
    assert_eq!(acquired.head.commit(), Some(&base.commit));
    // What was merged before is not this task's own work.
    let conditions = |git: &Git| {
        let facts = git.worktree(&repo.slot()).unwrap().facts(&FactsRequest {
            branch: &BranchName::new("fix"),
            default: &BranchName::new("main"),
            task_file: "TASK.md",
            start: None,
            commit: None,
        });
        facts.unwrap().met_conditions
    };
    assert!(!conditions(&git).contains(&GitCondition::CommitsAhead));
    repo.commit(&repo.slot(), "own", "own\n");
    assert!(conditions(&git).contains(&GitCondition::CommitsAhead));
    let diff = git.worktree(&repo.slot()).unwrap().diff(&DiffRequest {
        branch: &BranchName::new("fix"),
        default: &BranchName::new("main"),
        start: None,
        merged: None,
        stat: true,
        colour: false,
    });
    let diff = String::from_utf8(diff.unwrap().committed.text).unwrap();
    assert!(diff.contains("own") && !diff.contains("merged"), "{diff}");
}

#[test]
fn an_unreachable_remote_is_data() {
    let repo = RepoFixture::new();
    let remote = add_remote(&repo);
    fs::remove_dir_all(remote).unwrap();
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "fix");
    let Freshness::Stale(words) = &acquired.freshness else {
        panic!("{:?}", acquired.freshness);
    };
    assert!(words.contains("remote.git"), "{words}");
    assert!(!words.contains("fetch"), "{words}");
    assert_eq!(acquired.head.branch().unwrap().as_str(), "fix");
}

#[test]
fn a_branch_that_exists_is_reused_and_never_moved() {
    let repo = RepoFixture::new();
    add_remote(&repo);
    let remote_commit = push(&repo, "theirs");
    repo.git(&repo.app(), &["branch", "mine"]);
    let mine = repo.git(&repo.app(), &["rev-parse", "mine"]);
    push(&repo, "main");
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "theirs");
    assert_eq!(on(&acquired.head), ("theirs", &*remote_commit));
    assert_eq!(
        repo.release(&git, "t1"),
        ReleaseResult::Free {
            rescues: Vec::new()
        }
    );
    let acquired = repo.acquire(&git, "t2", "mine");
    assert_eq!(on(&acquired.head), ("mine", mine.trim()));
    assert!(!acquired.is_new_branch);
}

#[test]
fn no_refspec_can_overwrite_a_local_branch() {
    let repo = RepoFixture::new();
    add_remote(&repo);
    let own = repo.commit(&repo.app(), "own", "own\n");
    repo.git(
        &repo.app(),
        &[
            "config",
            "remote.origin.fetch",
            "+refs/heads/*:refs/heads/*",
        ],
    );
    push(&repo, "main");
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    assert_eq!(repo.git(&repo.app(), &["rev-parse", "main"]).trim(), own);
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.git(&repo.app(), &["switch", "-q", "-c", "mine"]);
    let elsewhere = AcquireRefusal::CheckedOutElsewhere(repo.app().canonicalize().unwrap());
    for _twice in 0..2 {
        let refusal = repo.refusal(&git, "t1", "mine");
        assert_eq!(refusal, elsewhere);
        assert!(refusal.hint().contains("switch --detach"));
    }
    assert_eq!(
        repo.refusal(&git, "t1", "main"),
        AcquireRefusal::DefaultBranch(BranchName::new("main"))
    );
    repo.acquire(&git, "t1", "another");
}

#[test]
fn a_branch_in_another_workspace_is_not_taken_from_its_agent() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    // As another home has it.
    fs::create_dir(repo.path("other")).unwrap();
    let other = repo.path("other").join("app--1");
    let (slot, other) = (repo.slot(), other.to_str().unwrap());
    let slot = slot.to_str().unwrap();
    // Twice `--force`, because it is locked; the lock stays.
    let words = ["worktree", "move", "--force", "--force", slot, other];
    repo.git(&repo.app(), &words);
    let refusal = repo.refusal(&git, "t2", "fix");
    assert_eq!(refusal, AcquireRefusal::HasOtherWorkspace(other.into()));
    assert!(
        !refusal.hint().contains("switch --detach"),
        "{}",
        refusal.hint()
    );
}

#[test]
fn lesson_32_a_branch_that_is_being_rebased_is_checked_out_there() {
    let repo = RepoFixture::new();
    repo.git(&repo.app(), &["switch", "-q", "-c", "mine"]);
    repo.commit(&repo.app(), "a", "a\n");
    repo.commit(&repo.app(), "b", "b\n");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    repo.git(&repo.app(), &["-c", sequence, "rebase", "-q", "-i", "main"]);
    let git = repo.open();
    let elsewhere = AcquireRefusal::CheckedOutElsewhere(repo.app().canonicalize().unwrap());
    assert_eq!(repo.refusal(&git, "t1", "mine"), elsewhere);
}

#[test]
fn lesson_32_a_rebase_in_the_workspace_is_still_the_branch() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    repo.commit(&repo.slot(), "a", "a\n");
    repo.commit(&repo.slot(), "b", "b\n");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    repo.git(
        &repo.slot(),
        &["-c", sequence, "rebase", "-q", "-i", "main"],
    );
    let again = repo.acquire(&git, "t1", "fix");
    assert!(again.was_acquired && matches!(again.head, Head::Detached(_)));
    assert_eq!(again.operations, [Operation::Rebase]);
}

#[test]
fn lesson_33_a_renamed_branch_is_found_by_its_new_name_only() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "orange-tasks/t1");
    repo.git(
        &repo.slot(),
        &["branch", "-m", "orange-tasks/t1", "meaningful"],
    );
    let before = repo.branches();
    let refusal = repo.refusal(&git, "t1", "orange-tasks/t1");
    assert!(
        matches!(refusal, AcquireRefusal::OnAnotherBranch { .. }),
        "{refusal:?}"
    );
    assert!(repo.acquire(&git, "t1", "meaningful").was_acquired);
    assert_eq!(repo.branches(), before);
}

#[test]
fn a_repository_with_a_task_file_of_its_own_is_refused() {
    let repo = RepoFixture::new();
    repo.commit(&repo.app(), "TASK.md", "theirs\n");
    let git = repo.open();
    let refusal = repo.refusal(&git, "t1", "fix");
    let file = "TASK.md".to_owned();
    assert_eq!(refusal, AcquireRefusal::TaskFileTracked { file });
    assert!(refusal.hint().contains("another name"));
    assert!(!repo.slot().exists());
}

#[test]
fn lesson_47_a_committed_task_file_is_reported() {
    let repo = RepoFixture::new();
    let git = repo.open();
    assert!(!repo.acquire(&git, "t1", "fix").is_task_file_tracked);
    repo.commit(&repo.slot(), "TASK.md", "committed by force\n");
    assert!(repo.acquire(&git, "t1", "fix").is_task_file_tracked);
}

#[test]
fn excludes_are_added_once_and_removed_without_the_other_lines() {
    let repo = RepoFixture::new();
    let exclude = repo.app().join(".git/info/exclude");
    fs::write(&exclude, "# mine\n*.mine").unwrap();
    let git = repo.open();
    git.exclude(&["TASK.md", "NOTES.md"]).unwrap();
    git.exclude(&["TASK.md", "NOTES.md"]).unwrap();
    let text = fs::read_to_string(&exclude).unwrap();
    let lines: Vec<&str> = text.lines().filter(|it| !it.contains("orange")).collect();
    assert_eq!(lines, ["# mine", "*.mine", "/TASK.md", "/NOTES.md"]);
    fs::write(&exclude, format!("{text}/TASK.md.mine\n/BY-HAND.md\n")).unwrap();
    assert_eq!(git.added_excludes().unwrap(), ["/TASK.md", "/NOTES.md"]);
    git.remove_excludes().unwrap();
    git.remove_excludes().unwrap();
    let text = fs::read_to_string(&exclude).unwrap();
    assert_eq!(text, "# mine\n*.mine\n/TASK.md.mine\n/BY-HAND.md\n");
    fs::remove_dir_all(exclude.parent().unwrap()).unwrap();
    git.exclude(&["TASK.md"]).unwrap();
    let text = fs::read_to_string(&exclude).unwrap();
    assert!(text.ends_with("\n/TASK.md\n"), "{text}");
    assert!(git.exclude(&["../TASK.md"]).is_err());
    fs::remove_file(&exclude).unwrap();
    fs::create_dir(&exclude).unwrap();
    assert!(git.exclude(&["TASK.md"]).is_err());
}

#[test]
fn ignored_files_are_never_overwritten() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.git(&repo.app(), &["switch", "-q", "-c", "tracks-it"]);
    repo.commit(&repo.app(), "x.log", "tracked there\n");
    repo.git(&repo.app(), &["switch", "-q", "main"]);
    repo.acquire(&git, "t1", "fix");
    fs::write(repo.slot().join("x.log"), "precious\n").unwrap();
    repo.release(&git, "t1");
    for _twice in 0..2 {
        let refusal = repo.refusal(&git, "t2", "tracks-it");
        let AcquireRefusal::IgnoredFilesInTheWay { worktree, message } = &refusal else {
            panic!("{refusal:?}");
        };
        assert!(message.contains("x.log"), "{message}");
        assert!(!message.contains('\n'), "{message}");
        assert_eq!(*worktree, repo.slot().canonicalize().unwrap());
        assert_eq!(fs::read(repo.slot().join("x.log")).unwrap(), b"precious\n");
    }
    repo.acquire(&git, "t3", "fix");
}

#[test]
fn files_that_are_no_longer_ignored_are_moved_aside() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    repo.commit(&repo.slot(), ".gitignore", "*\n");
    fs::write(repo.slot().join("leftover"), "ignored\n").unwrap();
    repo.release(&git, "t1");
    let acquired = repo.acquire(&git, "t2", "next");
    assert_eq!(acquired.moved_aside, [PathBuf::from("leftover")]);
    assert_eq!(acquired.changes, [] as [PathBuf; 0]);
    assert!(!repo.slot().join("leftover").exists());
    let aside = repo.slot().with_extension("aside");
    assert_eq!(fs::read(aside.join("leftover")).unwrap(), b"ignored\n");
}

#[test]
fn an_idle_workspace_with_unsaved_work_is_refused() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    repo.release(&git, "t1");
    let rests: [&dyn Fn(&Path); 3] = [
        &|at| fs::write(at.join("mine"), "mine\n").unwrap(),
        &|at| drop(repo.git(at, &["switch", "-q", "-c", "mine"])),
        &|at| drop(repo.commit(at, "adrift", "adrift\n")),
    ];
    for make in rests {
        make(&repo.slot());
        let before = files(&repo.slot());
        let refusal = repo.refusal(&git, "t2", "next");
        assert!(
            matches!(refusal, AcquireRefusal::NotClean { .. }),
            "{refusal:?}"
        );
        assert_eq!(files(&repo.slot()), before);
        let _mine = fs::remove_file(repo.slot().join("mine"));
        repo.git(&repo.slot(), &["switch", "-q", "--detach", "main"]);
    }
    repo.acquire(&git, "t2", "next");
}

#[test]
fn shallow_clones_work() {
    let repo = RepoFixture::new();
    repo.commit(&repo.app(), "second", "second\n");
    let from = format!("file://{}", repo.app().display());
    fs::rename(repo.app(), repo.path("origin")).unwrap();
    let from = from.replace("/app", "/origin");
    repo.git(&repo.path(""), &["clone", "-q", "--depth=1", &from, "app"]);
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "fix");
    assert_eq!(acquired.freshness, Freshness::Fresh);
    assert!(acquired.worktree.condition().unwrap().is_shallow);
    fs::write(repo.slot().join("new"), "new\n").unwrap();
    let ReleaseResult::Free { rescues } = repo.release(&git, "t1") else {
        panic!("it can be released");
    };
    assert_eq!(rescues.len(), 1);
}

#[test]
fn hostile_names_are_refused_before_anything_happens() {
    let repo = RepoFixture::new();
    let git = repo.open();
    for name in [
        "",
        "-f",
        "a..b",
        "..",
        "a b",
        "a\nb",
        "HEAD",
        "x.lock",
        "a~1",
        &"a".repeat(9999),
    ] {
        assert!(repo.try_acquire(&git, "t1", name).is_err(), "{name}");
        assert!(repo.try_acquire(&git, name, "fix").is_err(), "{name}");
        assert!(repo.try_release(&git, name).is_ok() || !repo.slot().exists());
    }
    assert!(!repo.slot().exists());
    for name in ["(detached)", "ä/🦀", "refs/heads/x", "a'b\"c"] {
        let acquired = match repo.try_acquire(&git, "t1", name).unwrap() {
            AcquireResult::Acquired(acquired) => *acquired,
            AcquireResult::Refused(refusal) => panic!("{refusal:?}"),
        };
        assert_eq!(acquired.head.branch().unwrap().as_str(), name);
        repo.release(&git, "t1");
    }
}

#[test]
fn a_branch_that_cannot_be_created_reports_gits_error() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.git(&repo.app(), &["branch", "a"]);
    let error = repo.try_acquire(&git, "t1", "a/b").unwrap_err().to_string();
    assert!(error.contains("refs/heads/a"), "{error}");
    assert!(!repo.slot().exists(), "nothing was created");
    assert_eq!(repo.release(&git, "t1"), ReleaseResult::Absent);
    // The next attempt may be for another branch.
    repo.acquire(&git, "t1", "b");
}

#[test]
fn a_detached_head_in_the_workspace_is_not_taken_for_the_branch() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    repo.git(&repo.slot(), &["switch", "-q", "--detach"]);
    fs::write(repo.slot().join("README"), "unsaved\n").unwrap();
    let before = files(&repo.slot());
    let refusal = repo.refusal(&git, "t1", "fix");
    assert!(
        matches!(
            refusal,
            AcquireRefusal::OnAnotherBranch {
                head: Head::Detached(_)
            }
        ),
        "{refusal:?}"
    );
    assert_eq!(files(&repo.slot()), before);
    // The user's own checkout may be on any branch.
    repo.git(&repo.app(), &["switch", "-q", "--detach"]);
    repo.git(&repo.slot(), &["switch", "-q", "fix"]);
    assert!(repo.acquire(&git, "t1", "fix").was_acquired);
}

#[test]
fn a_sparse_checkout_stays_sparse_for_the_next_task() {
    let repo = RepoFixture::new();
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    let set = ["sparse-checkout", "set", "--no-cone", "/*", "!/src/"];
    repo.git(&repo.slot(), &set);
    repo.release(&git, "t1");
    repo.git(&repo.app(), &["switch", "-q", "-c", "other"]);
    repo.commit(&repo.app(), "src/more.rs", "more\n");
    repo.commit(&repo.app(), "root", "root\n");
    repo.git(&repo.app(), &["switch", "-q", "main"]);
    let git = repo.open();
    let acquired = repo.acquire(&git, "t2", "other");
    assert_eq!(acquired.changes, [] as [PathBuf; 0]);
    assert!(acquired.worktree.condition().unwrap().is_sparse);
    assert!(repo.slot().join("root").is_file() && !repo.slot().join("src").exists());
    fs::write(repo.slot().join("root"), "changed\n").unwrap();
    let ReleaseResult::Free { rescues } = repo.release(&git, "t2") else {
        panic!("it can be released");
    };
    assert_eq!(
        git.rescue_paths(&rescues[0]).unwrap(),
        [PathBuf::from("root")]
    );
}

#[test]
fn a_large_repository_is_checked_out_and_released() {
    const FILES: usize = 20_000;
    let repo = RepoFixture::new();
    let mut stream = String::from("commit refs/heads/large\ncommitter A <a@b.c> 0 +0000\n");
    stream += "data 5\nlarge\nfrom refs/heads/main^0\n";
    for number in 0..FILES {
        let path = format!(
            "many/{:02}/a-rather-long-name-of-a-file-{number}.txt",
            number % 100
        );
        let file = format!("M 644 inline {path}\ndata 6\n{number:05}\n\n");
        stream.push_str(&file);
    }
    fs::write(repo.path("stream"), stream).unwrap();
    let mut import = std::process::Command::new("git");
    import
        .current_dir(repo.app())
        .args(["fast-import", "--quiet"]);
    import.stdin(fs::File::open(repo.path("stream")).unwrap());
    assert!(import.status().unwrap().success());
    let git = repo.open();
    let acquired = repo.acquire(&git, "t1", "large");
    assert_eq!(acquired.changes, [] as [PathBuf; 0]);
    // Change a tenth of them at once.
    for number in 0..FILES / 10 {
        let path = format!(
            "many/{:02}/a-rather-long-name-of-a-file-{number}.txt",
            number % 100
        );
        fs::write(repo.slot().join(path), format!("changed {number}\n")).unwrap();
    }
    let before = files(&repo.slot());
    let ReleaseResult::Free { rescues } = repo.release(&git, "t1") else {
        panic!("it can be released");
    };
    let saved = crate::repo_fixture::commit_files(&repo, rescues[0].commit.as_str());
    assert_eq!(saved, before);
}
