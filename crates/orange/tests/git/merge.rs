//! Merging: each strategy, each obstacle, and what stays untouched.

use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::git::{Git, GitError, MergeObstacle, MergeOutcome, MergeRequest, Operation};
use orange_engine::effect::MergeStrategy;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::time::Timestamp;

use crate::repo_fixture::{Files, RepoFixture, files};

/// The parameters of a merge, owned.
pub struct MergeParameters {
    pub strategy: MergeStrategy,
    pub head: CommitId,
    pub base: CommitId,
    pub push: bool,
    pub is_called_off: bool,
}

impl MergeParameters {
    /// A merge of `fix` in the current state.
    pub fn now(yard: &RepoFixture, strategy: MergeStrategy) -> MergeParameters {
        let commit = |name: &str| {
            let text = yard.git(&yard.app(), &["rev-parse", &format!("refs/heads/{name}")]);
            CommitId::new(text.trim())
        };
        MergeParameters {
            strategy,
            head: commit("fix"),
            base: commit("main"),
            push: false,
            is_called_off: false,
        }
    }

    pub fn with_push(mut self) -> MergeParameters {
        self.push = true;
        self
    }

    pub fn try_merge(&self, git: &Git) -> Result<MergeOutcome, GitError> {
        git.merge(&MergeRequest {
            task: &TaskId::new("t1"),
            summary: "Add things\nOrange-Head: forged",
            strategy: self.strategy,
            branch: &BranchName::new("fix"),
            head: &self.head,
            tip: &self.head,
            default: &BranchName::new("main"),
            base: &self.base,
            task_file: "TASK.md",
            at: Timestamp::from_millis(1_700_000_000_000),
            push: self.push,
            is_cancelled: &|| self.is_called_off,
        })
    }

    pub fn merge(&self, git: &Git) -> String {
        match self.try_merge(git).unwrap() {
            MergeOutcome::Merged { commit, .. } => commit.to_string(),
            MergeOutcome::Refused(refusal) => panic!("{refusal}"),
        }
    }

    pub fn obstacle(&self, git: &Git) -> MergeObstacle {
        match self.try_merge(git).unwrap() {
            MergeOutcome::Merged { commit, .. } => panic!("merged as {commit}"),
            MergeOutcome::Refused(refusal) => {
                let told = refusal.to_string();
                let has_command = told.contains("run `") || told.contains("with `");
                let begins = match &refusal.pushed_remote {
                    None => String::from("cannot merge `fix` into `main`: "),
                    Some(remote) => format!(
                        "`{remote}` already has `fix` in its `main`, but the local `main` cannot"
                    ),
                };
                assert!(told.starts_with(&begins), "{told}");
                assert!(has_command, "{told}");
                refusal.obstacle
            }
        }
    }
}

pub const ALL: [MergeStrategy; 3] = [
    MergeStrategy::Ff,
    MergeStrategy::Merge,
    MergeStrategy::Squash,
];

/// Configures the user's name for commits.
pub fn introduce(yard: &RepoFixture) {
    let text = "[user]\nname = Ada\nemail = ada@example.org\n";
    fs::write(yard.path("home/.gitconfig"), text).unwrap();
}

/// A branch `fix` with two commits, checked out in a worktree.
pub fn branch(yard: &RepoFixture) {
    introduce(yard);
    let git = yard.open();
    yard.acquire(&git, "t1", "fix");
    yard.commit(&yard.slot(), "one", "one of fix\n");
    fs::create_dir_all(yard.slot().join("src/new")).unwrap();
    yard.commit(&yard.slot(), "src/new/two", "two of fix\n");
    yard.git(&yard.slot(), &["rm", "-q", "src/deep/old.txt"]);
    yard.commit(&yard.slot(), "README", "one\ntwo\nthree and more\n");
}

/// A commit on `main` that `fix` lacks.
pub fn advance(yard: &RepoFixture) {
    yard.commit(&yard.app(), "elsewhere", "other work\n");
}

/// A bare remote with the same content as the repository.
pub fn add_remote(yard: &RepoFixture) -> PathBuf {
    let clone = ["clone", "-q", "--bare", "app", "remote.git"];
    yard.git(&yard.path(""), &clone);
    let remote = yard.path("remote.git");
    let at = remote.display().to_string();
    yard.git(&yard.app(), &["remote", "add", "origin", &at]);
    yard.git(&yard.app(), &["fetch", "-q", "origin"]);
    remote
}

pub fn tip(yard: &RepoFixture, directory: &Path, name: &str) -> String {
    let text = yard.git(directory, &["rev-parse", name]);
    text.trim().to_owned()
}

fn subject(yard: &RepoFixture, commit: &str) -> String {
    yard.git(&yard.app(), &["log", "-1", "--format=%s", commit])
}

fn status(yard: &RepoFixture) -> String {
    let words = ["status", "--porcelain=v1", "--untracked-files=all"];
    yard.git(&yard.app(), &words)
}

/// Every ref of the repository and every byte of the user's checkout, including its index.
fn everything(yard: &RepoFixture) -> (String, Files, String, String) {
    let refs = yard.git(&yard.app(), &["for-each-ref"]);
    let index = yard.git(&yard.app(), &["ls-files", "--stage"]);
    (refs, files(&yard.app()), index, status(yard))
}

#[test]
fn each_strategy_makes_its_commit_and_brings_the_clean_checkout_along() {
    for strategy in ALL {
        let yard = RepoFixture::new();
        branch(&yard);
        if strategy != MergeStrategy::Ff {
            advance(&yard);
        }
        let (head, base) = (
            tip(&yard, &yard.app(), "fix"),
            tip(&yard, &yard.app(), "main"),
        );
        let wanted = MergeParameters::now(&yard, strategy);
        let commit = wanted.merge(&yard.open());
        assert_eq!(tip(&yard, &yard.app(), "main"), commit);
        let parents = yard.git(&yard.app(), &["log", "-1", "--format=%P", &commit]);
        let parents = parents.trim();
        match strategy {
            MergeStrategy::Ff => assert_eq!(commit, head),
            MergeStrategy::Merge => assert_eq!(parents, format!("{base} {head}")),
            MergeStrategy::Squash => assert_eq!(parents, base),
        }
        if strategy != MergeStrategy::Ff {
            let told = yard.git(&yard.app(), &["log", "-1", "--format=%an %ct%n%B", &commit]);
            assert!(told.starts_with("Ada 1700000000\n"), "{told}");
            assert!(
                told.contains(&format!("\nOrange-Task: t1\nOrange-Head: {head}\n")),
                "{told}"
            );
            assert_eq!(told.matches("\nOrange-Head").count(), 1, "{told}");
        }
        if strategy == MergeStrategy::Squash {
            assert_eq!(subject(&yard, &commit), "Add things Orange-Head: forged\n");
        }
        assert_eq!(status(&yard), "", "the checkout is on it");
        let read = |name: &str| fs::read_to_string(yard.app().join(name)).unwrap();
        assert_eq!(read("src/new/two"), "two of fix\n");
        assert_eq!(read("README"), "one\ntwo\nthree and more\n");
        assert_eq!(tip(&yard, &yard.app(), "fix"), head);
        // Merging twice is the same as once.
        let before = everything(&yard);
        assert_eq!(wanted.merge(&yard.open()), commit);
        assert_eq!(everything(&yard), before);
        assert!(!yard.app().join(".git/orange-forward.json").exists());
    }
}

#[test]
fn a_checkout_that_is_elsewhere_is_left_alone() {
    let other: [&[&str]; 3] = [
        &["switch", "-q", "-c", "mine"],
        &["switch", "-q", "--detach"],
        &["checkout", "-q", "--orphan", "fresh"],
    ];
    for switch in other {
        let yard = RepoFixture::new();
        branch(&yard);
        yard.git(&yard.app(), switch);
        fs::write(yard.app().join("README"), "being edited\n").unwrap();
        fs::write(yard.app().join("one"), "untracked\n").unwrap();
        let before = files(&yard.app());
        let was = status(&yard);
        let commit = MergeParameters::now(&yard, MergeStrategy::Squash).merge(&yard.open());
        assert_eq!(tip(&yard, &yard.app(), "main"), commit);
        assert_eq!(files(&yard.app()), before);
        assert_eq!(status(&yard), was);
    }
}

#[test]
fn untracked_files_that_the_merge_does_not_touch_stay() {
    let yard = RepoFixture::new();
    branch(&yard);
    fs::write(yard.app().join("notes"), "mine\n").unwrap();
    fs::write(yard.app().join("x.log"), "ignored\n").unwrap();
    MergeParameters::now(&yard, MergeStrategy::Ff).merge(&yard.open());
    assert_eq!(status(&yard), "?? notes\n");
    assert_eq!(fs::read(yard.app().join("x.log")).unwrap(), b"ignored\n");
}

/// What a user has left in their checkout, and what the refusal names.
type DirtyCheckout = (&'static str, fn(&RepoFixture), &'static [&'static str]);

fn write(yard: &RepoFixture, name: &str, text: &str) {
    let path = yard.app().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const DIRT: [DirtyCheckout; 11] = [
    (
        "a change",
        |yard| write(yard, "src/main.rs", "mine\n"),
        &["src/main.rs"],
    ),
    (
        "a change where the merge writes",
        |yard| write(yard, "README", "mine\n"),
        &["README"],
    ),
    (
        "a staged change",
        |yard| {
            write(yard, "data.bin", "mine\n");
            yard.git(&yard.app(), &["add", "data.bin"]);
            write(yard, "data.bin", "mine again\n");
        },
        &["data.bin"],
    ),
    (
        "a staged new file",
        |yard| {
            write(yard, "mine", "mine\n");
            yard.git(&yard.app(), &["add", "mine"]);
        },
        &["mine"],
    ),
    (
        "a deletion",
        |yard| fs::remove_file(yard.app().join("src/main.rs")).unwrap(),
        &["src/main.rs"],
    ),
    (
        "a hidden change",
        |yard| {
            yard.git(
                &yard.app(),
                &["update-index", "--assume-unchanged", "README"],
            );
            write(yard, "README", "hidden\n");
        },
        &["README"],
    ),
    (
        "an untracked file",
        |yard| write(yard, "one", "mine\n"),
        &["one"],
    ),
    (
        "an untracked folder",
        |yard| write(yard, "one/mine", "mine\n"),
        &["one/mine"],
    ),
    (
        "an untracked file for a folder",
        |yard| write(yard, "src/new", "mine\n"),
        &["src/new"],
    ),
    (
        "an ignored file",
        |yard| {
            write(yard, ".git/info/exclude", "/one\n");
            write(yard, "one", "ignored\n");
        },
        &["one"],
    ),
    (
        "an ignored folder",
        |yard| {
            write(yard, ".git/info/exclude", "/one\n");
            write(yard, "one/deep/mine", "ignored\n");
        },
        &["one/deep/mine"],
    ),
];

#[test]
fn lesson_2_a_dirty_checkout_is_refused_and_keeps_every_byte() {
    for (what, dirty, named) in DIRT {
        let yard = RepoFixture::new();
        branch(&yard);
        dirty(&yard);
        let before = everything(&yard);
        for strategy in ALL {
            let obstacle = MergeParameters::now(&yard, strategy).obstacle(&yard.open());
            let (MergeObstacle::UncommittedChanges { checkout, files }
            | MergeObstacle::UntrackedFiles { checkout, files }) = obstacle
            else {
                panic!("{what}: {obstacle:?}");
            };
            assert_eq!(checkout, yard.app().canonicalize().unwrap());
            let names: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let expected: Vec<&Path> = named.iter().map(Path::new).collect();
            assert_eq!(names, expected, "{what}");
            assert_eq!(everything(&yard), before, "{what}");
        }
    }
}

#[test]
fn an_operation_in_progress_is_refused() {
    let yard = RepoFixture::new();
    branch(&yard);
    yard.git(&yard.app(), &["branch", "side"]);
    advance(&yard);
    yard.git(&yard.app(), &["switch", "-q", "side"]);
    yard.commit(&yard.app(), "elsewhere", "conflicting\n");
    yard.git(&yard.app(), &["switch", "-q", "main"]);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    for (start, end, operation) in [
        (["merge", "side"], ["merge", "--abort"], Operation::Merge),
        (["rebase", "side"], ["rebase", "--abort"], Operation::Rebase),
        (
            ["cherry-pick", "side"],
            ["cherry-pick", "--abort"],
            Operation::CherryPick,
        ),
    ] {
        assert!(!yard.try_git(&yard.app(), &start).status.success());
        let before = everything(&yard);
        let MergeObstacle::OperationInProgress { operations, .. } = wanted.obstacle(&yard.open())
        else {
            panic!("{start:?} was not seen");
        };
        assert_eq!(operations, [operation]);
        assert_eq!(everything(&yard), before);
        yard.git(&yard.app(), &end);
    }
    wanted.merge(&yard.open());
}

#[test]
fn conflicts_are_named_and_everything_is_as_it_was() {
    let yard = RepoFixture::new();
    branch(&yard);
    yard.commit(&yard.app(), "README", "one\ntwo\nthree, differently\n");
    yard.commit(&yard.app(), "one", "one of main\n");
    let before = everything(&yard);
    let work = files(&yard.slot());
    for strategy in [MergeStrategy::Merge, MergeStrategy::Squash] {
        let MergeObstacle::Conflicts(files) =
            MergeParameters::now(&yard, strategy).obstacle(&yard.open())
        else {
            panic!("no conflict");
        };
        assert_eq!(files, [Path::new("README"), Path::new("one")]);
    }
    let obstacle = MergeParameters::now(&yard, MergeStrategy::Ff).obstacle(&yard.open());
    assert_eq!(obstacle, MergeObstacle::NotFastForward);
    assert_eq!(everything(&yard), before);
    assert_eq!(files(&yard.slot()), work);
}

#[test]
fn what_moved_since_the_decision_is_not_merged() {
    let yard = RepoFixture::new();
    branch(&yard);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    advance(&yard);
    let before = everything(&yard);
    let obstacle = wanted.obstacle(&yard.open());
    assert!(
        matches!(obstacle, MergeObstacle::DefaultMoved { .. }),
        "{obstacle:?}"
    );
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    assert_eq!(everything(&yard), before);
    yard.commit(&yard.slot(), "late", "late\n");
    let obstacle = wanted.obstacle(&yard.open());
    let MergeObstacle::BranchMoved { found, .. } = obstacle else {
        panic!("{obstacle:?}");
    };
    assert_eq!(found.unwrap().as_str(), tip(&yard, &yard.slot(), "HEAD"));
}

#[test]
fn lesson_32_a_branch_that_is_being_rebased_is_merged_by_its_name() {
    let yard = RepoFixture::new();
    branch(&yard);
    let head = tip(&yard, &yard.app(), "fix");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    let rebase = ["-c", sequence, "rebase", "-q", "-i", "HEAD~2"];
    yard.git(&yard.slot(), &rebase);
    assert_eq!(
        MergeParameters::now(&yard, MergeStrategy::Ff).merge(&yard.open()),
        head
    );
    assert_eq!(
        yard.try_git(&yard.app(), &["rev-parse", "refs/heads/HEAD"])
            .status
            .code(),
        Some(128)
    );
}

#[test]
fn lesson_47_a_committed_task_file_is_refused() {
    let yard = RepoFixture::new();
    branch(&yard);
    yard.commit(&yard.slot(), "TASK.md", "mine\n");
    let before = everything(&yard);
    for strategy in ALL {
        let obstacle = MergeParameters::now(&yard, strategy).obstacle(&yard.open());
        assert_eq!(obstacle, MergeObstacle::TaskFile("TASK.md".to_owned()));
    }
    assert_eq!(everything(&yard), before);
    yard.git(&yard.slot(), &["rm", "-q", "--cached", "TASK.md"]);
    yard.git(&yard.slot(), &["commit", "-q", "-m", "out"]);
    // Its history still has it, which no gate allows either.
    for strategy in ALL {
        let obstacle = MergeParameters::now(&yard, strategy).obstacle(&yard.open());
        assert_eq!(obstacle, MergeObstacle::TaskFile("TASK.md".to_owned()));
    }
    yard.git(&yard.slot(), &["reset", "-q", "--soft", "HEAD~2"]);
    let commit = MergeParameters::now(&yard, MergeStrategy::Squash).merge(&yard.open());
    let listed = yard.git(&yard.app(), &["log", "--name-only", "--format=", &commit]);
    assert!(!listed.contains("TASK.md"), "{listed}");
}

#[test]
fn a_squash_is_recognised_by_its_content_and_within_its_attempt() {
    let yard = RepoFixture::new();
    branch(&yard);
    advance(&yard);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Squash);
    // Another commit claims that it was merged.
    let claim = format!("claimed\n\nOrange-Task: t1\nOrange-Head: {}", wanted.head);
    yard.git(
        &yard.app(),
        &["commit", "-q", "--allow-empty", "-m", &claim],
    );
    let obstacle = wanted.obstacle(&yard.open());
    assert!(
        matches!(obstacle, MergeObstacle::DefaultMoved { .. }),
        "{obstacle:?}"
    );
    let wanted = MergeParameters::now(&yard, MergeStrategy::Squash);
    let commit = wanted.merge(&yard.open());
    advance_again(&yard);
    let count = yard.git(&yard.app(), &["rev-list", "--count", "main"]);
    assert!(matches!(
        wanted.try_merge(&yard.open()).unwrap(),
        MergeOutcome::Merged {
            was_there: true,
            ..
        }
    ));
    assert_eq!(
        yard.git(&yard.app(), &["rev-list", "--count", "main"]),
        count
    );
    // Reverted since, it takes another attempt to bring it again.
    yard.git(&yard.app(), &["revert", "--no-edit", &commit]);
    let again = MergeParameters::now(&yard, MergeStrategy::Squash).merge(&yard.open());
    assert_ne!(again, commit);
    assert_eq!(fs::read(yard.app().join("one")).unwrap(), b"one of fix\n");
    // And with nothing left to merge there is nothing to commit.
    let nothing = MergeParameters::now(&yard, MergeStrategy::Squash).merge(&yard.open());
    assert_eq!(nothing, again);
}

fn advance_again(yard: &RepoFixture) {
    yard.commit(&yard.app(), "later", "later work\n");
}

#[test]
fn without_a_name_the_person_is_told_what_to_configure() {
    let yard = RepoFixture::new();
    branch(&yard);
    fs::remove_file(yard.path("home/.gitconfig")).unwrap();
    let before = everything(&yard);
    let failed = MergeParameters::now(&yard, MergeStrategy::Squash).try_merge(&yard.open());
    let error = failed.unwrap_err();
    assert!(matches!(error, GitError::NoIdentity(_)), "{error}");
    assert!(
        error.to_string().contains("git config --global user.name"),
        "{error}"
    );
    assert_eq!(everything(&yard), before);
    // A fast-forward needs no committer name.
    MergeParameters::now(&yard, MergeStrategy::Ff).merge(&yard.open());
}

#[test]
fn a_git_that_cannot_merge_without_a_worktree_is_named() {
    let yard = RepoFixture::new();
    branch(&yard);
    let script = "if [ \"$2\" = merge-tree ]; then echo usage >&2; exit 129; fi\n\
                  if [ \"$2\" = version ]; then echo git version 2.30.2; exit; fi\n\
                  exec $real \"$@\"";
    let old = yard.wrapper("old-git", script);
    let failed = MergeParameters::now(&yard, MergeStrategy::Merge).try_merge(&yard.open_with(old));
    let error = failed.unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot merge: git version 2.30.2 is older than 2.38; install a newer git"
    );
}

#[test]
fn two_merges_at_once_take_turns() {
    let yard = RepoFixture::new();
    branch(&yard);
    advance(&yard);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    let commits: Vec<String> = std::thread::scope(|scope| {
        let merges: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| wanted.merge(&yard.open())))
            .collect();
        merges.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(commits.iter().all(|it| *it == commits[0]), "{commits:?}");
    assert_eq!(status(&yard), "");
    assert_eq!(tip(&yard, &yard.app(), "main"), commits[0]);
}

#[test]
fn a_linked_checkout_of_the_default_branch_comes_along_or_is_in_the_way() {
    let yard = RepoFixture::new();
    branch(&yard);
    yard.git(&yard.app(), &["switch", "-q", "--detach"]);
    let linked = yard.path("linked");
    let at = linked.display().to_string();
    yard.git(&yard.app(), &["worktree", "add", "-q", &at, "main"]);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Squash);
    fs::write(linked.join("README"), "mine\n").unwrap();
    let obstacle = wanted.obstacle(&yard.open());
    assert!(
        matches!(obstacle, MergeObstacle::UncommittedChanges { .. }),
        "{obstacle:?}"
    );
    yard.git(&linked, &["checkout", "-q", "--", "README"]);
    wanted.merge(&yard.open());
    assert_eq!(yard.git(&linked, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(linked.join("one")).unwrap(), b"one of fix\n");
    // A worktree whose directory is gone may be on a disk that is not mounted.
    yard.commit(&yard.slot(), "late", "late\n");
    fs::rename(&linked, yard.path("away")).unwrap();
    let wanted = MergeParameters::now(&yard, MergeStrategy::Squash);
    let before = yard.branches();
    let obstacle = wanted.obstacle(&yard.open());
    assert!(
        matches!(obstacle, MergeObstacle::Unusable { .. }),
        "{obstacle:?}"
    );
    assert_eq!(yard.branches(), before);
    yard.git(&yard.app(), &["worktree", "prune"]);
    wanted.merge(&yard.open());
}

#[test]
fn a_bare_repository_is_merged_in() {
    let yard = RepoFixture::new();
    branch(&yard);
    yard.git(&yard.app(), &["switch", "-q", "--detach"]);
    yard.git(
        &yard.path(""),
        &["clone", "-q", "--bare", "app", "bare.git"],
    );
    let git = Git::open("git", &yard.path("bare.git"), &yard.environment()).unwrap();
    let commit = MergeParameters::now(&yard, MergeStrategy::Merge).merge(&git);
    assert_eq!(tip(&yard, &yard.path("bare.git"), "main"), commit);
}

#[test]
fn a_submodule_that_moved_is_an_uncommitted_change() {
    let yard = RepoFixture::new();
    branch(&yard);
    let inner = yard.path("inner");
    yard.git(&yard.path(""), &["clone", "-q", "app", "inner"]);
    let at = inner.display().to_string();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        &at,
        "sub",
    ];
    yard.git(&yard.app(), &add);
    yard.git(&yard.app(), &["commit", "-q", "-m", "sub"]);
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    yard.commit(&yard.app().join("sub"), "inside", "inside\n");
    let MergeObstacle::UncommittedChanges { files, .. } = wanted.obstacle(&yard.open()) else {
        panic!("it was not seen");
    };
    assert_eq!(files, [Path::new("sub")]);
    yard.git(
        &yard.app(),
        &["-C", "sub", "reset", "-q", "--hard", "HEAD~1"],
    );
    // Changes inside the submodule are none of the merge's business.
    fs::write(yard.app().join("sub/README"), "mine\n").unwrap();
    wanted.merge(&yard.open());
    assert_eq!(fs::read(yard.app().join("sub/README")).unwrap(), b"mine\n");
}

#[test]
fn a_checkout_that_another_program_has_locked_is_waited_for_and_never_unlocked() {
    let yard = RepoFixture::new();
    branch(&yard);
    let lock = yard.app().join(".git/index.lock");
    fs::write(&lock, "an editor's\n").unwrap();
    let wanted = MergeParameters::now(&yard, MergeStrategy::Merge);
    let before = (yard.branches(), files(&yard.app()));
    let failed = wanted.try_merge(&yard.open());
    assert!(matches!(failed, Err(GitError::Locked { .. })), "{failed:?}");
    assert_eq!(fs::read(&lock).unwrap(), b"an editor's\n");
    assert_eq!((yard.branches(), files(&yard.app())), before);
    fs::remove_file(lock).unwrap();
    // A repository without a remote has nowhere to push to, and that is fine.
    wanted.with_push().merge(&yard.open());
}
