//! Acquiring a workspace: which commit, which branch, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::git::{
    AcquireRefusal, AcquireResult, Freshness, Head, Operation, ReleaseResult,
};
use orange_engine::names::{BranchName, TaskId};

use crate::repo_fixture::{RepoFixture, files};

/// A bare remote with the same content as the repository.
fn add_remote(yard: &RepoFixture) -> PathBuf {
    let remote = yard.path("remote.git");
    yard.git(
        &yard.path(""),
        &["clone", "-q", "--bare", "app", "remote.git"],
    );
    let at = remote.display().to_string();
    yard.git(&yard.app(), &["remote", "add", "origin", &at]);
    yard.git(&yard.app(), &["fetch", "-q", "origin"]);
    remote
}

/// A commit pushed from another clone.
fn push(yard: &RepoFixture, branch: &str) -> String {
    let other = yard.path("other");
    if !other.exists() {
        yard.git(&yard.path(""), &["clone", "-q", "remote.git", "other"]);
    }
    let known = yard.git(&other, &["branch", "--list", branch]);
    let switch: &[&str] = if known.is_empty() {
        &["switch", "-q", "-c", branch]
    } else {
        &["switch", "-q", branch]
    };
    yard.git(&other, switch);
    let commit = yard.commit(&other, "pushed", branch);
    yard.git(&other, &["push", "-q", "origin", branch]);
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
    let yard = RepoFixture::new();
    let git = yard.open();
    let base = yard.commit(&yard.app(), "late", "late\n");
    let acquired = yard.acquire(&git, "t1", "orange-tasks/t1");
    assert_eq!(acquired.freshness, Freshness::NoRemote);
    assert_eq!(on(&acquired.head), ("orange-tasks/t1", &*base));
    assert!(acquired.is_new_branch && !acquired.was_acquired);
    // Acquiring twice is the same as once, whatever the agent has changed meanwhile.
    fs::write(yard.slot().join("late"), "changed\n").unwrap();
    let before = files(&yard.slot());
    let again = yard.acquire(&git, "t1", "orange-tasks/t1");
    assert!(again.was_acquired && !again.is_new_branch);
    assert_eq!(files(&yard.slot()), before);
    assert_eq!(
        yard.refusal(&git, "t2", "other"),
        AcquireRefusal::HasOtherTask(TaskId::new("t1"))
    );
}

#[test]
fn lesson_46_the_base_is_as_fresh_as_the_remote() {
    let yard = RepoFixture::new();
    add_remote(&yard);
    let pushed = push(&yard, "main");
    let own = yard.git(&yard.app(), &["rev-parse", "main"]);
    let git = yard.open();
    let acquired = yard.acquire(&git, "t1", "fix");
    assert_eq!(acquired.freshness, Freshness::Fresh);
    assert_eq!(acquired.base.commit.as_str(), pushed);
    assert_eq!(on(&acquired.head), ("fix", &*pushed));
    assert_eq!(
        yard.git(&yard.app(), &["rev-parse", "main"]),
        own,
        "no branch moves"
    );
}

#[test]
fn a_remote_that_is_a_relative_path_is_meant_from_the_checkout() {
    let yard = RepoFixture::new();
    add_remote(&yard);
    let set = ["remote", "set-url", "origin", "../remote.git"];
    yard.git(&yard.app(), &set);
    let pushed = push(&yard, "main");
    let git = yard.open();
    let acquired = yard.acquire(&git, "t1", "fix");
    assert_eq!(acquired.freshness, Freshness::Fresh);
    assert_eq!(acquired.base.commit.as_str(), pushed);
}

#[test]
fn own_commits_on_the_default_branch_count_unless_others_have_more() {
    let yard = RepoFixture::new();
    add_remote(&yard);
    let own = yard.commit(&yard.app(), "own", "own\n");
    let git = yard.open();
    let base = yard.acquire(&git, "t1", "fix").base;
    assert_eq!((base.commit.as_str(), base.is_diverged), (&*own, false));
    let pushed = push(&yard, "main");
    let base = yard.acquire(&git, "t1", "fix").base;
    assert_eq!((base.commit.as_str(), base.is_diverged), (&*pushed, true));
}

#[test]
fn a_remote_that_cannot_be_asked_is_data() {
    let yard = RepoFixture::new();
    let remote = add_remote(&yard);
    fs::remove_dir_all(remote).unwrap();
    let git = yard.open();
    let acquired = yard.acquire(&git, "t1", "fix");
    let Freshness::Stale(words) = &acquired.freshness else {
        panic!("{:?}", acquired.freshness);
    };
    assert!(words.contains("git"), "{words}");
    assert_eq!(acquired.head.branch().unwrap().as_str(), "fix");
}

#[test]
fn a_branch_that_exists_is_reused_and_never_moved() {
    let yard = RepoFixture::new();
    add_remote(&yard);
    let theirs = push(&yard, "theirs");
    yard.git(&yard.app(), &["branch", "mine"]);
    let mine = yard.git(&yard.app(), &["rev-parse", "mine"]);
    push(&yard, "main");
    let git = yard.open();
    let acquired = yard.acquire(&git, "t1", "theirs");
    assert_eq!(on(&acquired.head), ("theirs", &*theirs));
    assert_eq!(
        yard.release(&git, "t1"),
        ReleaseResult::Free {
            rescues: Vec::new()
        }
    );
    let acquired = yard.acquire(&git, "t2", "mine");
    assert_eq!(on(&acquired.head), ("mine", mine.trim()));
    assert!(!acquired.is_new_branch);
}

#[test]
fn whatever_the_refspecs_say_no_branch_of_ours_is_fetched_over() {
    let yard = RepoFixture::new();
    add_remote(&yard);
    let own = yard.commit(&yard.app(), "own", "own\n");
    yard.git(
        &yard.app(),
        &[
            "config",
            "remote.origin.fetch",
            "+refs/heads/*:refs/heads/*",
        ],
    );
    push(&yard, "main");
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    assert_eq!(yard.git(&yard.app(), &["rev-parse", "main"]).trim(), own);
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.git(&yard.app(), &["switch", "-q", "-c", "mine"]);
    let elsewhere = AcquireRefusal::CheckedOutElsewhere(yard.app().canonicalize().unwrap());
    for _twice in 0..2 {
        let refusal = yard.refusal(&git, "t1", "mine");
        assert_eq!(refusal, elsewhere);
        assert!(refusal.hint().contains("switch --detach"));
    }
    assert_eq!(
        yard.refusal(&git, "t1", "main"),
        AcquireRefusal::DefaultBranch(BranchName::new("main"))
    );
    yard.acquire(&git, "t1", "another");
}

#[test]
fn lesson_32_a_branch_that_is_being_rebased_is_checked_out_there() {
    let yard = RepoFixture::new();
    yard.git(&yard.app(), &["switch", "-q", "-c", "mine"]);
    yard.commit(&yard.app(), "a", "a\n");
    yard.commit(&yard.app(), "b", "b\n");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    yard.git(&yard.app(), &["-c", sequence, "rebase", "-q", "-i", "main"]);
    let git = yard.open();
    let elsewhere = AcquireRefusal::CheckedOutElsewhere(yard.app().canonicalize().unwrap());
    assert_eq!(yard.refusal(&git, "t1", "mine"), elsewhere);
}

#[test]
fn lesson_32_a_rebase_in_the_workspace_is_still_the_branch() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    yard.commit(&yard.slot(), "a", "a\n");
    yard.commit(&yard.slot(), "b", "b\n");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    yard.git(
        &yard.slot(),
        &["-c", sequence, "rebase", "-q", "-i", "main"],
    );
    let again = yard.acquire(&git, "t1", "fix");
    assert!(again.was_acquired && matches!(again.head, Head::Detached(_)));
    assert_eq!(again.operations, [Operation::Rebase]);
}

#[test]
fn lesson_33_a_renamed_branch_is_found_by_its_new_name_only() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "orange-tasks/t1");
    yard.git(
        &yard.slot(),
        &["branch", "-m", "orange-tasks/t1", "meaningful"],
    );
    let before = yard.branches();
    let refusal = yard.refusal(&git, "t1", "orange-tasks/t1");
    assert!(
        matches!(refusal, AcquireRefusal::OnAnotherBranch { .. }),
        "{refusal:?}"
    );
    assert!(yard.acquire(&git, "t1", "meaningful").was_acquired);
    assert_eq!(yard.branches(), before);
}

#[test]
fn a_repository_with_a_task_file_of_its_own_is_refused() {
    let yard = RepoFixture::new();
    yard.commit(&yard.app(), "TASK.md", "theirs\n");
    let git = yard.open();
    let refusal = yard.refusal(&git, "t1", "fix");
    let file = "TASK.md".to_owned();
    assert_eq!(refusal, AcquireRefusal::TaskFileTracked { file });
    assert!(refusal.hint().contains("another name"));
    assert!(!yard.slot().exists());
}

#[test]
fn lesson_47_a_committed_task_file_is_reported() {
    let yard = RepoFixture::new();
    let git = yard.open();
    assert!(!yard.acquire(&git, "t1", "fix").is_task_file_tracked);
    yard.commit(&yard.slot(), "TASK.md", "committed by force\n");
    assert!(yard.acquire(&git, "t1", "fix").is_task_file_tracked);
}

#[test]
fn excludes_are_added_once_and_other_lines_stay() {
    let yard = RepoFixture::new();
    let exclude = yard.app().join(".git/info/exclude");
    fs::write(&exclude, "# mine\n*.mine").unwrap();
    let git = yard.open();
    git.exclude(&["TASK.md", "NOTES.md"]).unwrap();
    git.exclude(&["TASK.md", "NOTES.md"]).unwrap();
    let text = fs::read_to_string(&exclude).unwrap();
    assert_eq!(text, "# mine\n*.mine\n/TASK.md\n/NOTES.md\n");
    fs::remove_dir_all(exclude.parent().unwrap()).unwrap();
    git.exclude(&["TASK.md"]).unwrap();
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "/TASK.md\n");
    assert!(git.exclude(&["../TASK.md"]).is_err());
    fs::remove_file(&exclude).unwrap();
    fs::create_dir(&exclude).unwrap();
    assert!(git.exclude(&["TASK.md"]).is_err());
}

#[test]
fn ignored_files_are_never_overwritten() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.git(&yard.app(), &["switch", "-q", "-c", "tracks-it"]);
    yard.commit(&yard.app(), "x.log", "tracked there\n");
    yard.git(&yard.app(), &["switch", "-q", "main"]);
    yard.acquire(&git, "t1", "fix");
    fs::write(yard.slot().join("x.log"), "precious\n").unwrap();
    yard.release(&git, "t1");
    for _twice in 0..2 {
        let refusal = yard.refusal(&git, "t2", "tracks-it");
        let AcquireRefusal::IgnoredFilesInTheWay(words) = &refusal else {
            panic!("{refusal:?}");
        };
        assert!(words.contains("x.log"), "{words}");
        assert_eq!(fs::read(yard.slot().join("x.log")).unwrap(), b"precious\n");
    }
    yard.acquire(&git, "t3", "fix");
}

#[test]
fn what_was_ignored_and_is_not_any_more_is_reported_and_stays() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    yard.commit(&yard.slot(), ".gitignore", "*\n");
    fs::write(yard.slot().join("leftover"), "ignored\n").unwrap();
    yard.release(&git, "t1");
    let acquired = yard.acquire(&git, "t2", "next");
    assert_eq!(acquired.changes, [PathBuf::from("leftover")]);
    assert_eq!(
        fs::read(yard.slot().join("leftover")).unwrap(),
        b"ignored\n"
    );
}

#[test]
fn an_idle_workspace_with_somebodys_work_is_refused() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    yard.release(&git, "t1");
    let rests: [&dyn Fn(&Path); 3] = [
        &|at| fs::write(at.join("mine"), "mine\n").unwrap(),
        &|at| drop(yard.git(at, &["switch", "-q", "-c", "mine"])),
        &|at| drop(yard.commit(at, "adrift", "adrift\n")),
    ];
    for make in rests {
        make(&yard.slot());
        let before = files(&yard.slot());
        let refusal = yard.refusal(&git, "t2", "next");
        assert!(
            matches!(refusal, AcquireRefusal::NotClean { .. }),
            "{refusal:?}"
        );
        assert_eq!(files(&yard.slot()), before);
        let _mine = fs::remove_file(yard.slot().join("mine"));
        yard.git(&yard.slot(), &["switch", "-q", "--detach", "main"]);
    }
    yard.acquire(&git, "t2", "next");
}

#[test]
fn shallow_clones_work() {
    let yard = RepoFixture::new();
    yard.commit(&yard.app(), "second", "second\n");
    let from = format!("file://{}", yard.app().display());
    fs::rename(yard.app(), yard.path("origin")).unwrap();
    let from = from.replace("/app", "/origin");
    yard.git(&yard.path(""), &["clone", "-q", "--depth=1", &from, "app"]);
    let git = yard.open();
    let acquired = yard.acquire(&git, "t1", "fix");
    assert_eq!(acquired.freshness, Freshness::Fresh);
    assert!(acquired.worktree.condition().unwrap().is_shallow);
    fs::write(yard.slot().join("new"), "new\n").unwrap();
    let ReleaseResult::Free { rescues } = yard.release(&git, "t1") else {
        panic!("it can be released");
    };
    assert_eq!(rescues.len(), 1);
}

#[test]
fn hostile_names_are_refused_before_anything_happens() {
    let yard = RepoFixture::new();
    let git = yard.open();
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
        assert!(yard.try_acquire(&git, "t1", name).is_err(), "{name}");
        assert!(yard.try_acquire(&git, name, "fix").is_err(), "{name}");
        assert!(yard.try_release(&git, name).is_ok() || !yard.slot().exists());
    }
    assert!(!yard.slot().exists());
    for name in ["(detached)", "ä/🦀", "refs/heads/x", "a'b\"c"] {
        let acquired = match yard.try_acquire(&git, "t1", name).unwrap() {
            AcquireResult::Acquired(acquired) => acquired,
            AcquireResult::Refused(refusal) => panic!("{refusal:?}"),
        };
        assert_eq!(acquired.head.branch().unwrap().as_str(), name);
        yard.release(&git, "t1");
    }
}

#[test]
fn a_branch_that_cannot_be_made_is_an_error_in_gits_words() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.git(&yard.app(), &["branch", "a"]);
    let error = yard.try_acquire(&git, "t1", "a/b").unwrap_err().to_string();
    assert!(error.contains("refs/heads/a"), "{error}");
    // The next attempt may be for another branch.
    assert_eq!(
        yard.release(&git, "t1"),
        ReleaseResult::Free {
            rescues: Vec::new()
        }
    );
    yard.acquire(&git, "t1", "b");
}

#[test]
fn a_detached_head_in_the_workspace_is_not_taken_for_the_branch() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    yard.git(&yard.slot(), &["switch", "-q", "--detach"]);
    fs::write(yard.slot().join("README"), "unsaved\n").unwrap();
    let before = files(&yard.slot());
    let refusal = yard.refusal(&git, "t1", "fix");
    assert!(
        matches!(
            refusal,
            AcquireRefusal::OnAnotherBranch {
                head: Head::Detached(_)
            }
        ),
        "{refusal:?}"
    );
    assert_eq!(files(&yard.slot()), before);
    // The user's own checkout may be on any branch.
    yard.git(&yard.app(), &["switch", "-q", "--detach"]);
    yard.git(&yard.slot(), &["switch", "-q", "fix"]);
    assert!(yard.acquire(&git, "t1", "fix").was_acquired);
}

#[test]
fn a_sparse_checkout_stays_sparse_for_the_next_task() {
    let yard = RepoFixture::new();
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    let set = ["sparse-checkout", "set", "--no-cone", "/*", "!/src/"];
    yard.git(&yard.slot(), &set);
    yard.release(&git, "t1");
    yard.git(&yard.app(), &["switch", "-q", "-c", "other"]);
    yard.commit(&yard.app(), "src/more.rs", "more\n");
    yard.commit(&yard.app(), "root", "root\n");
    yard.git(&yard.app(), &["switch", "-q", "main"]);
    let git = yard.open();
    let acquired = yard.acquire(&git, "t2", "other");
    assert_eq!(acquired.changes, [] as [PathBuf; 0]);
    assert!(acquired.worktree.condition().unwrap().is_sparse);
    assert!(yard.slot().join("root").is_file() && !yard.slot().join("src").exists());
    fs::write(yard.slot().join("root"), "changed\n").unwrap();
    let ReleaseResult::Free { rescues } = yard.release(&git, "t2") else {
        panic!("it can be released");
    };
    assert_eq!(
        git.rescue_paths(&rescues[0]).unwrap(),
        [PathBuf::from("root")]
    );
}

#[test]
fn a_large_repository_is_checked_out_and_given_back() {
    const FILES: usize = 20_000;
    let yard = RepoFixture::new();
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
    fs::write(yard.path("stream"), stream).unwrap();
    let mut import = std::process::Command::new("git");
    import
        .current_dir(yard.app())
        .args(["fast-import", "--quiet"]);
    import.stdin(fs::File::open(yard.path("stream")).unwrap());
    assert!(import.status().unwrap().success());
    let git = yard.open();
    let acquired = yard.acquire(&git, "t1", "large");
    assert_eq!(acquired.changes, [] as [PathBuf; 0]);
    // Change a tenth of them at once.
    for number in 0..FILES / 10 {
        let path = format!(
            "many/{:02}/a-rather-long-name-of-a-file-{number}.txt",
            number % 100
        );
        fs::write(yard.slot().join(path), format!("changed {number}\n")).unwrap();
    }
    let before = files(&yard.slot());
    let ReleaseResult::Free { rescues } = yard.release(&git, "t1") else {
        panic!("it can be released");
    };
    let saved = crate::repo_fixture::commit_files(&yard, rescues[0].commit.as_str());
    assert_eq!(saved, before);
}
