//! Merging: each strategy, each obstacle, and what stays untouched.

use std::fs;
use std::path::{Path, PathBuf};

use orange_effects::git::{
    Git, GitError, MergeObstacle, MergeOutcome, MergeRequest, Operation, Verify,
};
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
    pub assisted_by: Vec<String>,
}

impl MergeParameters {
    /// A merge of `fix` in the current state.
    pub fn now(repo: &RepoFixture, strategy: MergeStrategy) -> MergeParameters {
        let commit = |name: &str| {
            let text = repo.git(&repo.app(), &["rev-parse", &format!("refs/heads/{name}")]);
            CommitId::new(text.trim())
        };
        MergeParameters {
            strategy,
            head: commit("fix"),
            base: commit("main"),
            push: false,
            is_called_off: false,
            assisted_by: Vec::new(),
        }
    }

    pub fn with_push(mut self) -> MergeParameters {
        self.push = true;
        self
    }

    pub fn try_merge(&self, git: &Git) -> Result<MergeOutcome, GitError> {
        self.with_request(None, |merge| git.merge(merge))
    }

    /// Does something with the request that these parameters describe.
    pub fn with_request<T>(
        &self,
        verify: Option<&Verify<'_>>,
        work: impl FnOnce(&MergeRequest<'_>) -> T,
    ) -> T {
        work(&MergeRequest {
            task: &TaskId::new("t1"),
            summary: "Add things\nOrange-Head: forged",
            assisted_by: &self.assisted_by,
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
            verify,
            is_trial: false,
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
                let text = refusal.to_string();
                let has_command = text.contains("run `") || text.contains("with `");
                let begins = match &refusal.pushed_remote {
                    None => String::from("cannot merge `fix` into `main`: "),
                    Some(remote) => format!(
                        "`{remote}` already has `fix` in its `main`, but the local `main` cannot"
                    ),
                };
                assert!(text.starts_with(&begins), "{text}");
                assert!(has_command, "{text}");
                refusal.obstacle
            }
        }
    }
}

pub const ALL: [MergeStrategy; 5] = [
    MergeStrategy::Auto,
    MergeStrategy::Ff,
    MergeStrategy::Merge,
    MergeStrategy::Rebase,
    MergeStrategy::Squash,
];

/// Configures the user's name for commits.
pub fn configure_identity(repo: &RepoFixture) {
    let text = "[user]\nname = Ada\nemail = ada@example.org\n";
    fs::write(repo.path("home/.gitconfig"), text).unwrap();
}

/// A branch `fix` with two commits, checked out in a worktree.
pub fn branch(repo: &RepoFixture) {
    configure_identity(repo);
    let git = repo.open();
    repo.acquire(&git, "t1", "fix");
    repo.commit(&repo.slot(), "one", "one of fix\n");
    fs::create_dir_all(repo.slot().join("src/new")).unwrap();
    repo.commit(&repo.slot(), "src/new/two", "two of fix\n");
    repo.git(&repo.slot(), &["rm", "-q", "src/deep/old.txt"]);
    repo.commit(&repo.slot(), "README", "one\ntwo\nthree and more\n");
}

/// A commit on `main` that `fix` lacks.
pub fn advance(repo: &RepoFixture) {
    repo.commit(&repo.app(), "elsewhere", "other work\n");
}

/// A bare remote with the same content as the repository.
pub fn add_remote(repo: &RepoFixture) -> PathBuf {
    let clone = ["clone", "-q", "--bare", "app", "remote.git"];
    repo.git(&repo.path(""), &clone);
    let remote = repo.path("remote.git");
    let at = remote.display().to_string();
    repo.git(&repo.app(), &["remote", "add", "origin", &at]);
    repo.git(&repo.app(), &["fetch", "-q", "origin"]);
    remote
}

pub fn tip(repo: &RepoFixture, directory: &Path, name: &str) -> String {
    let text = repo.git(directory, &["rev-parse", name]);
    text.trim().to_owned()
}

fn subject(repo: &RepoFixture, commit: &str) -> String {
    repo.git(&repo.app(), &["log", "-1", "--format=%s", commit])
}

fn status(repo: &RepoFixture) -> String {
    let words = ["status", "--porcelain=v1", "--untracked-files=all"];
    repo.git(&repo.app(), &words)
}

/// Every ref of the repository and every byte of the user's checkout, including its index.
fn repo_state(repo: &RepoFixture) -> (String, Files, String, String) {
    let refs = repo.git(&repo.app(), &["for-each-ref"]);
    let index = repo.git(&repo.app(), &["ls-files", "--stage"]);
    (refs, files(&repo.app()), index, status(repo))
}

#[test]
fn each_strategy_makes_its_commit_and_updates_a_clean_checkout() {
    for strategy in ALL {
        let repo = RepoFixture::new();
        branch(&repo);
        if strategy != MergeStrategy::Ff {
            advance(&repo);
        }
        let (head, base) = (
            tip(&repo, &repo.app(), "fix"),
            tip(&repo, &repo.app(), "main"),
        );
        let parameters = MergeParameters::now(&repo, strategy);
        let commit = parameters.merge(&repo.open());
        assert_eq!(tip(&repo, &repo.app(), "main"), commit);
        let parents = repo.git(&repo.app(), &["log", "-1", "--format=%P", &commit]);
        let parents = parents.trim();
        match strategy {
            MergeStrategy::Ff => assert_eq!(commit, head),
            MergeStrategy::Auto | MergeStrategy::Merge => {
                assert_eq!(parents, format!("{base} {head}"));
            }
            MergeStrategy::Rebase => {
                let added = format!("{base}..{commit}");
                let added = repo.git(&repo.app(), &["log", "--format=%s", "--reverse", &added]);
                assert_eq!(added, "one of fix\ntwo of fix\none two three and more\n");
            }
            MergeStrategy::Squash => assert_eq!(parents, base),
        }
        if strategy != MergeStrategy::Ff {
            let output = repo.git(&repo.app(), &["log", "-1", "--format=%cn %ct%n%B", &commit]);
            assert!(output.starts_with("Ada 1700000000\n"), "{output}");
            assert!(
                output.contains(&format!("\nOrange-Task: t1\nOrange-Head: {head}\n")),
                "{output}"
            );
            assert_eq!(output.matches("\nOrange-Head").count(), 1, "{output}");
        }
        if strategy == MergeStrategy::Squash {
            assert_eq!(subject(&repo, &commit), "Add things Orange-Head: forged\n");
        }
        assert_eq!(status(&repo), "", "the checkout is on it");
        let read = |name: &str| fs::read_to_string(repo.app().join(name)).unwrap();
        assert_eq!(read("src/new/two"), "two of fix\n");
        assert_eq!(read("README"), "one\ntwo\nthree and more\n");
        assert_eq!(tip(&repo, &repo.app(), "fix"), head);
        // Merging twice is the same as once.
        let before = repo_state(&repo);
        assert_eq!(parameters.merge(&repo.open()), commit);
        assert_eq!(repo_state(&repo), before);
        assert!(!repo.app().join(".git/orange-forward.json").exists());
    }
}

#[test]
fn a_checkout_of_another_branch_is_left_alone() {
    let other: [&[&str]; 3] = [
        &["switch", "-q", "-c", "mine"],
        &["switch", "-q", "--detach"],
        &["checkout", "-q", "--orphan", "fresh"],
    ];
    for switch in other {
        let repo = RepoFixture::new();
        branch(&repo);
        repo.git(&repo.app(), switch);
        fs::write(repo.app().join("README"), "being edited\n").unwrap();
        fs::write(repo.app().join("one"), "untracked\n").unwrap();
        let before = files(&repo.app());
        let was = status(&repo);
        let commit = MergeParameters::now(&repo, MergeStrategy::Squash).merge(&repo.open());
        assert_eq!(tip(&repo, &repo.app(), "main"), commit);
        assert_eq!(files(&repo.app()), before);
        assert_eq!(status(&repo), was);
    }
}

#[test]
fn untracked_files_that_the_merge_does_not_touch_stay() {
    let repo = RepoFixture::new();
    branch(&repo);
    fs::write(repo.app().join("notes"), "mine\n").unwrap();
    fs::write(repo.app().join("x.log"), "ignored\n").unwrap();
    MergeParameters::now(&repo, MergeStrategy::Ff).merge(&repo.open());
    assert_eq!(status(&repo), "?? notes\n");
    assert_eq!(fs::read(repo.app().join("x.log")).unwrap(), b"ignored\n");
}

/// What a user has left in their checkout, and what the refusal names.
type DirtyCheckout = (&'static str, fn(&RepoFixture), &'static [&'static str]);

fn write(repo: &RepoFixture, name: &str, text: &str) {
    let path = repo.app().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const DIRT: [DirtyCheckout; 11] = [
    (
        "a change",
        |repo| write(repo, "src/main.rs", "mine\n"),
        &["src/main.rs"],
    ),
    (
        "a change where the merge writes",
        |repo| write(repo, "README", "mine\n"),
        &["README"],
    ),
    (
        "a staged change",
        |repo| {
            write(repo, "data.bin", "mine\n");
            repo.git(&repo.app(), &["add", "data.bin"]);
            write(repo, "data.bin", "mine again\n");
        },
        &["data.bin"],
    ),
    (
        "a staged new file",
        |repo| {
            write(repo, "mine", "mine\n");
            repo.git(&repo.app(), &["add", "mine"]);
        },
        &["mine"],
    ),
    (
        "a deletion",
        |repo| fs::remove_file(repo.app().join("src/main.rs")).unwrap(),
        &["src/main.rs"],
    ),
    (
        "a hidden change",
        |repo| {
            repo.git(
                &repo.app(),
                &["update-index", "--assume-unchanged", "README"],
            );
            write(repo, "README", "hidden\n");
        },
        &["README"],
    ),
    (
        "an untracked file",
        |repo| write(repo, "one", "mine\n"),
        &["one"],
    ),
    (
        "an untracked folder",
        |repo| write(repo, "one/mine", "mine\n"),
        &["one/mine"],
    ),
    (
        "an untracked file for a folder",
        |repo| write(repo, "src/new", "mine\n"),
        &["src/new"],
    ),
    (
        "an ignored file",
        |repo| {
            write(repo, ".git/info/exclude", "/one\n");
            write(repo, "one", "ignored\n");
        },
        &["one"],
    ),
    (
        "an ignored folder",
        |repo| {
            write(repo, ".git/info/exclude", "/one\n");
            write(repo, "one/deep/mine", "ignored\n");
        },
        &["one/deep/mine"],
    ),
];

#[test]
fn lesson_2_a_dirty_checkout_is_refused_and_keeps_every_byte() {
    for (what, dirty, named) in DIRT {
        let repo = RepoFixture::new();
        branch(&repo);
        dirty(&repo);
        let before = repo_state(&repo);
        for strategy in ALL {
            let obstacle = MergeParameters::now(&repo, strategy).obstacle(&repo.open());
            let (MergeObstacle::UncommittedChanges { checkout, files }
            | MergeObstacle::HiddenChanges { checkout, files }
            | MergeObstacle::UntrackedFiles { checkout, files }) = obstacle
            else {
                panic!("{what}: {obstacle:?}");
            };
            assert_eq!(checkout, repo.app().canonicalize().unwrap());
            let names: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let expected: Vec<&Path> = named.iter().map(Path::new).collect();
            assert_eq!(names, expected, "{what}");
            assert_eq!(repo_state(&repo), before, "{what}");
        }
    }
}

#[test]
fn a_change_that_git_overlooks_hinders_only_a_merge_that_writes_its_file() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repo = RepoFixture::new();
        branch(&repo);
        repo.git(&repo.app(), &["update-index", flag, "src/main.rs"]);
        write(&repo, "src/main.rs", "my own settings\n");
        MergeParameters::now(&repo, MergeStrategy::Squash).merge(&repo.open());
        let kept = fs::read(repo.app().join("src/main.rs")).unwrap();
        assert_eq!(kept, b"my own settings\n", "{flag}");
        assert_eq!(status(&repo), "");
    }
}

#[test]
fn ignored_files_in_a_folder_that_the_merge_replaces_are_kept() {
    let ends: [fn(&Path); 2] = [
        |path| fs::write(path, "a file\n").unwrap(),
        |path| std::os::unix::fs::symlink("README", path).unwrap(),
    ];
    for make in ends {
        let repo = RepoFixture::new();
        fs::create_dir(repo.app().join("config")).unwrap();
        repo.commit(&repo.app(), "config/shared", "shared\n");
        branch(&repo);
        repo.git(&repo.slot(), &["merge", "-q", "main"]);
        repo.git(&repo.slot(), &["rm", "-rq", "config"]);
        make(&repo.slot().join("config"));
        repo.git(&repo.slot(), &["add", "config"]);
        repo.git(&repo.slot(), &["commit", "-qm", "one file"]);
        write(&repo, ".git/info/exclude", "secret*\n");
        write(&repo, "config/secret.key", "mine\n");
        write(&repo, "config/deep/secret", "mine\n");
        let before = repo_state(&repo);
        let obstacle = MergeParameters::now(&repo, MergeStrategy::Ff).obstacle(&repo.open());
        let MergeObstacle::UntrackedFiles { files, .. } = obstacle else {
            panic!("{obstacle:?}");
        };
        let expected = ["config/deep/secret", "config/secret.key"].map(PathBuf::from);
        assert_eq!(files, expected);
        assert_eq!(repo_state(&repo), before);
        fs::remove_file(repo.app().join("config/secret.key")).unwrap();
        fs::remove_dir_all(repo.app().join("config/deep")).unwrap();
        MergeParameters::now(&repo, MergeStrategy::Ff).merge(&repo.open());
    }
}

#[test]
fn an_operation_in_progress_is_refused() {
    let repo = RepoFixture::new();
    branch(&repo);
    repo.git(&repo.app(), &["branch", "side"]);
    advance(&repo);
    repo.git(&repo.app(), &["switch", "-q", "side"]);
    repo.commit(&repo.app(), "elsewhere", "conflicting\n");
    repo.git(&repo.app(), &["switch", "-q", "main"]);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    for (start, end, operation) in [
        (["merge", "side"], ["merge", "--abort"], Operation::Merge),
        (["rebase", "side"], ["rebase", "--abort"], Operation::Rebase),
        (
            ["cherry-pick", "side"],
            ["cherry-pick", "--abort"],
            Operation::CherryPick,
        ),
    ] {
        assert!(!repo.try_git(&repo.app(), &start).status.success());
        let before = repo_state(&repo);
        let MergeObstacle::OperationInProgress { operations, .. } =
            parameters.obstacle(&repo.open())
        else {
            panic!("{start:?} was not seen");
        };
        assert_eq!(operations, [operation]);
        assert_eq!(repo_state(&repo), before);
        repo.git(&repo.app(), &end);
    }
    parameters.merge(&repo.open());
}

#[test]
fn conflicts_are_listed_and_nothing_changes() {
    let repo = RepoFixture::new();
    branch(&repo);
    repo.commit(&repo.app(), "README", "one\ntwo\nthree, differently\n");
    repo.commit(&repo.app(), "one", "one of main\n");
    let before = repo_state(&repo);
    let work = files(&repo.slot());
    for strategy in ALL {
        let obstacle = MergeParameters::now(&repo, strategy).obstacle(&repo.open());
        let expected = match strategy {
            MergeStrategy::Ff => MergeObstacle::NotFastForward,
            // Its first commit conflicts.
            MergeStrategy::Rebase => MergeObstacle::Conflicts(vec![PathBuf::from("one")]),
            _ => MergeObstacle::Conflicts(vec![PathBuf::from("README"), PathBuf::from("one")]),
        };
        assert_eq!(obstacle, expected);
    }
    assert_eq!(repo_state(&repo), before);
    assert_eq!(files(&repo.slot()), work);
}

#[test]
fn a_branch_that_moved_since_the_decision_is_not_merged() {
    let repo = RepoFixture::new();
    branch(&repo);
    // Its history may have been rewritten; that the default branch has advanced is fine.
    repo.commit(&repo.app(), "late", "late\n");
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    repo.git(&repo.app(), &["reset", "-q", "--hard", "HEAD^"]);
    let before = repo_state(&repo);
    let obstacle = parameters.obstacle(&repo.open());
    assert!(
        matches!(obstacle, MergeObstacle::DefaultMoved { .. }),
        "{obstacle:?}"
    );
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    assert_eq!(repo_state(&repo), before);
    repo.commit(&repo.slot(), "late", "late\n");
    let obstacle = parameters.obstacle(&repo.open());
    let MergeObstacle::BranchMoved { found, .. } = obstacle else {
        panic!("{obstacle:?}");
    };
    assert_eq!(found.unwrap().as_str(), tip(&repo, &repo.slot(), "HEAD"));
}

#[test]
fn lesson_32_a_branch_that_is_being_rebased_is_merged_by_its_name() {
    let repo = RepoFixture::new();
    branch(&repo);
    let head = tip(&repo, &repo.app(), "fix");
    let sequence = "sequence.editor=sed -i -e 's/^pick/edit/'";
    let rebase = ["-c", sequence, "rebase", "-q", "-i", "HEAD~2"];
    repo.git(&repo.slot(), &rebase);
    assert_eq!(
        MergeParameters::now(&repo, MergeStrategy::Ff).merge(&repo.open()),
        head
    );
    assert_eq!(
        repo.try_git(&repo.app(), &["rev-parse", "refs/heads/HEAD"])
            .status
            .code(),
        Some(128)
    );
}

#[test]
fn lesson_47_a_committed_task_file_is_refused() {
    let repo = RepoFixture::new();
    branch(&repo);
    repo.commit(&repo.slot(), "TASK.md", "mine\n");
    let before = repo_state(&repo);
    for strategy in ALL {
        let obstacle = MergeParameters::now(&repo, strategy).obstacle(&repo.open());
        assert_eq!(obstacle, MergeObstacle::TaskFile("TASK.md".to_owned()));
    }
    assert_eq!(repo_state(&repo), before);
    repo.git(&repo.slot(), &["rm", "-q", "--cached", "TASK.md"]);
    repo.git(&repo.slot(), &["commit", "-q", "-m", "out"]);
    // Its history still has it, which no gate allows either.
    for strategy in ALL {
        let obstacle = MergeParameters::now(&repo, strategy).obstacle(&repo.open());
        assert_eq!(obstacle, MergeObstacle::TaskFile("TASK.md".to_owned()));
    }
    repo.git(&repo.slot(), &["reset", "-q", "--soft", "HEAD~2"]);
    let commit = MergeParameters::now(&repo, MergeStrategy::Squash).merge(&repo.open());
    let listed = repo.git(&repo.app(), &["log", "--name-only", "--format=", &commit]);
    assert!(!listed.contains("TASK.md"), "{listed}");
}

#[test]
fn a_squash_is_recognised_by_its_content_and_within_its_attempt() {
    let repo = RepoFixture::new();
    branch(&repo);
    advance(&repo);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Squash);
    // Another commit claims that it was merged.
    let claim = format!(
        "claimed\n\nOrange-Task: t1\nOrange-Head: {}",
        parameters.head
    );
    repo.git(
        &repo.app(),
        &["commit", "-q", "--allow-empty", "-m", &claim],
    );
    let claimed = tip(&repo, &repo.app(), "main");
    let commit = parameters.merge(&repo.open());
    assert_ne!(commit, claimed, "the claim is not believed");
    assert_eq!(fs::read(repo.app().join("one")).unwrap(), b"one of fix\n");
    advance_again(&repo);
    let count = repo.git(&repo.app(), &["rev-list", "--count", "main"]);
    assert!(matches!(
        parameters.try_merge(&repo.open()).unwrap(),
        MergeOutcome::Merged {
            was_there: true,
            ..
        }
    ));
    assert_eq!(
        repo.git(&repo.app(), &["rev-list", "--count", "main"]),
        count
    );
    // Reverted since, it takes another attempt to bring it again.
    repo.git(&repo.app(), &["revert", "--no-edit", &commit]);
    let again = MergeParameters::now(&repo, MergeStrategy::Squash).merge(&repo.open());
    assert_ne!(again, commit);
    assert_eq!(fs::read(repo.app().join("one")).unwrap(), b"one of fix\n");
    // And with nothing left to merge there is nothing to commit.
    let nothing = MergeParameters::now(&repo, MergeStrategy::Squash).merge(&repo.open());
    assert_eq!(nothing, again);
}

fn advance_again(repo: &RepoFixture) {
    repo.commit(&repo.app(), "later", "later work\n");
}

#[test]
fn without_a_git_identity_the_error_names_the_settings() {
    let repo = RepoFixture::new();
    branch(&repo);
    fs::remove_file(repo.path("home/.gitconfig")).unwrap();
    let before = repo_state(&repo);
    let failed = MergeParameters::now(&repo, MergeStrategy::Squash).try_merge(&repo.open());
    let error = failed.unwrap_err();
    assert!(matches!(error, GitError::NoIdentity(_)), "{error}");
    assert!(
        error.to_string().contains("git config --global user.name"),
        "{error}"
    );
    assert_eq!(repo_state(&repo), before);
    // A fast-forward needs no committer name.
    MergeParameters::now(&repo, MergeStrategy::Ff).merge(&repo.open());
}

#[test]
fn a_git_without_merge_tree_is_reported() {
    let repo = RepoFixture::new();
    branch(&repo);
    let script = "if [ \"$2\" = merge-tree ]; then echo usage >&2; exit 129; fi\n\
                  if [ \"$2\" = version ]; then echo git version 2.30.2; exit; fi\n\
                  exec $real \"$@\"";
    let old = repo.wrapper("old-git", script);
    let failed = MergeParameters::now(&repo, MergeStrategy::Merge).try_merge(&repo.open_with(old));
    let error = failed.unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot merge: git version 2.30.2 is older than 2.38; install a newer git"
    );
}

#[test]
fn two_merges_at_once_take_turns() {
    let repo = RepoFixture::new();
    branch(&repo);
    advance(&repo);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    let commits: Vec<String> = std::thread::scope(|scope| {
        let merges: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| parameters.merge(&repo.open())))
            .collect();
        merges.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(commits.iter().all(|it| *it == commits[0]), "{commits:?}");
    assert_eq!(status(&repo), "");
    assert_eq!(tip(&repo, &repo.app(), "main"), commits[0]);
}

#[test]
fn a_linked_checkout_of_the_default_branch_is_updated_or_blocks() {
    let repo = RepoFixture::new();
    branch(&repo);
    repo.git(&repo.app(), &["switch", "-q", "--detach"]);
    let linked = repo.path("linked");
    let at = linked.display().to_string();
    repo.git(&repo.app(), &["worktree", "add", "-q", &at, "main"]);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Squash);
    fs::write(linked.join("README"), "mine\n").unwrap();
    let obstacle = parameters.obstacle(&repo.open());
    assert!(
        matches!(obstacle, MergeObstacle::UncommittedChanges { .. }),
        "{obstacle:?}"
    );
    repo.git(&linked, &["checkout", "-q", "--", "README"]);
    parameters.merge(&repo.open());
    assert_eq!(repo.git(&linked, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(linked.join("one")).unwrap(), b"one of fix\n");
    // A worktree whose directory is gone may be on a disk that is not mounted.
    repo.commit(&repo.slot(), "late", "late\n");
    fs::rename(&linked, repo.path("away")).unwrap();
    let parameters = MergeParameters::now(&repo, MergeStrategy::Squash);
    let before = repo.branches();
    let obstacle = parameters.obstacle(&repo.open());
    assert!(
        matches!(obstacle, MergeObstacle::Unusable { .. }),
        "{obstacle:?}"
    );
    assert_eq!(repo.branches(), before);
    repo.git(&repo.app(), &["worktree", "prune"]);
    parameters.merge(&repo.open());
}

#[test]
fn a_merge_works_in_a_bare_repository() {
    let repo = RepoFixture::new();
    branch(&repo);
    repo.git(&repo.app(), &["switch", "-q", "--detach"]);
    repo.git(
        &repo.path(""),
        &["clone", "-q", "--bare", "app", "bare.git"],
    );
    let git = Git::open("git", &repo.path("bare.git"), &repo.environment()).unwrap();
    let commit = MergeParameters::now(&repo, MergeStrategy::Merge).merge(&git);
    assert_eq!(tip(&repo, &repo.path("bare.git"), "main"), commit);
}

#[test]
fn a_submodule_with_a_commit_of_its_own_blocks_a_merge_and_an_outdated_one_does_not() {
    let repo = RepoFixture::new();
    branch(&repo);
    let inner = repo.path("inner");
    repo.git(&repo.path(""), &["clone", "-q", "app", "inner"]);
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
    repo.git(&repo.app(), &add);
    repo.git(&repo.app(), &["commit", "-q", "-m", "sub"]);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    repo.commit(&repo.app().join("sub"), "inside", "inside\n");
    let moved = |parameters: &MergeParameters| {
        let MergeObstacle::MovedSubmodules { submodules, .. } = parameters.obstacle(&repo.open())
        else {
            panic!("it was not seen");
        };
        assert_eq!(submodules, [Path::new("sub")]);
    };
    moved(&parameters);
    // A commit of the submodule that is staged is an uncommitted change, wherever it comes from.
    repo.git(&repo.app(), &["add", "sub"]);
    moved(&parameters);
    repo.git(&repo.app(), &["commit", "-q", "-m", "bump"]);
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    // Now it is at the commit that the branch recorded before, as after a merge of that bump.
    repo.git(
        &repo.app(),
        &["-C", "sub", "reset", "-q", "--hard", "HEAD~1"],
    );
    repo.git(&repo.app(), &["add", "sub"]);
    moved(&parameters);
    repo.git(&repo.app(), &["reset", "-q"]);
    let status = repo.git(&repo.app(), &["status", "--short"]);
    assert!(status.contains("M sub"), "{status}");
    // Changes inside the submodule are none of the merge's business.
    fs::write(repo.app().join("sub/README"), "mine\n").unwrap();
    parameters.merge(&repo.open());
    assert_eq!(fs::read(repo.app().join("sub/README")).unwrap(), b"mine\n");
}

#[test]
fn a_locked_checkout_is_waited_for_and_never_unlocked() {
    let repo = RepoFixture::new();
    branch(&repo);
    let lock = repo.app().join(".git/index.lock");
    fs::write(&lock, "an editor's\n").unwrap();
    let parameters = MergeParameters::now(&repo, MergeStrategy::Merge);
    let before = (repo.branches(), files(&repo.app()));
    let failed = parameters.try_merge(&repo.open());
    assert!(matches!(failed, Err(GitError::Locked { .. })), "{failed:?}");
    assert_eq!(fs::read(&lock).unwrap(), b"an editor's\n");
    assert_eq!((repo.branches(), files(&repo.app())), before);
    fs::remove_file(lock).unwrap();
    // A repository without a remote has nowhere to push to, and that is fine.
    parameters.with_push().merge(&repo.open());
}

#[test]
fn a_locked_branch_is_named_and_the_checkout_stays_as_it_was() {
    let repo = RepoFixture::new();
    repo.acquire(&repo.open(), "t1", "fix");
    repo.commit(&repo.slot(), "one", "one\n");
    let before = files(&repo.app());
    let lock = repo.app().join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let parameters = MergeParameters::now(&repo, MergeStrategy::Ff);
    let error = parameters.try_merge(&repo.open()).unwrap_err().to_string();
    assert!(error.contains("main.lock`"), "{error}");
    assert_eq!(files(&repo.app()), before);
    assert_eq!(repo.git(&repo.app(), &["status", "--porcelain"]), "");
    fs::remove_file(&lock).unwrap();
    parameters.merge(&repo.open());
    assert!(repo.app().join("one").is_file());
}
