//! Runs programs in a sandbox that has the private repository.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_effects::command::{CommandExit, CommandOutput, Invocation};
use orange_effects::git::{
    Git, GitError, Import, ImportRequest, Inside, InsidePaths, PrivateRepository, PrivateRequest,
    PrivateResult, Refresh,
};
use orange_engine::names::{BranchName, TaskId};

use crate::repo_fixture::RepoFixture;

/// The largest pack that tests import.
pub const MAX_BYTES: u64 = 50_000_000;

/// The task, and its branch.
pub const TASK: &str = "t1";
pub const BRANCH: &str = "fix";

/// The sandbox of one task, whose worktree is the fixture's.
pub struct Sandbox {
    pub repository: PrivateRepository,
    arguments: Vec<OsString>,
}

pub fn inside_paths() -> InsidePaths<'static> {
    InsidePaths {
        objects: Path::new("/run/orange/objects"),
        upstream: Path::new("/run/orange/upstream"),
    }
}

/// Where the private repository is stored.
pub fn folder(repo: &RepoFixture) -> PathBuf {
    repo.path("task/git")
}

/// A fixture whose workspace is on the task's branch, with a user who has a name.
pub fn worktree_fixture() -> RepoFixture {
    let repo = RepoFixture::new();
    crate::merge::configure_identity(&repo);
    let git = repo.open();
    repo.acquire(&git, TASK, BRANCH);
    repo
}

pub fn create(repo: &RepoFixture, git: &Git) -> PrivateResult {
    let worktree = git.worktree(&repo.slot()).unwrap();
    let request = PrivateRequest {
        task: &TaskId::new(TASK),
        branch: &BranchName::new(BRANCH),
        folder: &folder(repo),
        inside: inside_paths(),
    };
    worktree.create_private(&request).unwrap()
}

impl Sandbox {
    /// Creates the private repository, unless an earlier run has.
    pub fn new(repo: &RepoFixture) -> Sandbox {
        let git = repo.open();
        let repository = match create(repo, &git) {
            PrivateResult::Created { repository, .. } | PrivateResult::Exists(repository) => {
                repository
            }
            PrivateResult::Uncovered(why) => panic!("{why:?}"),
        };
        Sandbox::around(repo, &git, repository)
    }

    /// A sandbox with a private repository that exists.
    pub fn around(repo: &RepoFixture, git: &Git, repository: PrivateRepository) -> Sandbox {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str], paths: &[&Path]| {
            arguments.extend(words.iter().map(OsString::from));
            arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
        };
        let isolation = "--cap-drop ALL --unshare-user --unshare-pid --unshare-ipc --unshare-uts \
                         --unshare-net --die-with-parent --ro-bind /usr /usr --symlink usr/bin \
                         /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc \
                         /etc --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run --dir /tmp/home";
        let words: Vec<&str> = isolation.split_whitespace().collect();
        add(&words, &[]);
        let slot = repo.slot();
        add(&["--bind"], &[&slot, &slot]);
        add(&["--ro-bind"], &[&slot.join(".git"), &slot.join(".git")]);
        for mount in repository.mounts(git, &inside_paths()) {
            let option = if mount.is_read_only {
                "--ro-bind"
            } else {
                "--bind"
            };
            add(&[option], &[&mount.outside, &mount.inside]);
        }
        add(&["--chdir"], &[&slot]);
        Sandbox {
            repository,
            arguments,
        }
    }

    /// A program in the sandbox.
    pub fn program(&self, words: &[&str]) -> Invocation {
        let path = "/usr/local/bin:/usr/bin:/bin";
        let variables = [
            ("PATH", path),
            ("HOME", "/tmp/home"),
            ("LC_ALL", "C"),
            ("GIT_EDITOR", "true"),
        ];
        let variables: BTreeMap<OsString, OsString> = variables
            .map(|(name, value)| (name.into(), value.into()))
            .into();
        Invocation::new("bwrap", variables)
            .arguments(&self.arguments)
            .arguments(["--"])
            .arguments(words)
            .timeout(Duration::from_mins(1))
    }

    pub fn git(&self, words: &[&str]) -> Invocation {
        self.program(&[&["git"], words].concat())
    }

    /// Runs a shell script, whatever its exit status.
    pub fn try_run(&self, script: &str) -> CommandOutput {
        let output = self.program(&["sh", "-ec", script]).run();
        output.unwrap_or_else(|error| {
            panic!("these tests need bubblewrap and user namespaces: {error}")
        })
    }

    /// Runs a shell script; fails the test when it fails.
    pub fn run(&self, script: &str) -> String {
        let output = self.try_run(script);
        let errors = String::from_utf8_lossy(&output.stderr.bytes);
        let text = String::from_utf8_lossy(&output.stdout.bytes).into_owned();
        assert_eq!(
            output.ending,
            CommandExit::Code(0),
            "{script}: {text}{errors}"
        );
        text
    }

    /// The commit that a name has inside.
    pub fn tip(&self, name: &str) -> String {
        self.run(&format!("git rev-parse {name}")).trim().to_owned()
    }

    pub fn import(&self, repo: &RepoFixture) -> Import {
        self.try_import(&repo.open(), repo, &|words| self.git(words), MAX_BYTES)
            .unwrap()
    }

    pub fn try_import(
        &self,
        git: &Git,
        repo: &RepoFixture,
        inside: Inside<'_>,
        max_bytes: u64,
    ) -> Result<Import, GitError> {
        git.worktree(&repo.slot())?.import_private(&ImportRequest {
            repository: &self.repository,
            inside,
            default: Some(&BranchName::new("main")),
            max_bytes,
        })
    }

    pub fn refresh(&self, repo: &RepoFixture) -> Refresh {
        let git = repo.open();
        git.refresh_private(&self.repository, &|words| self.git(words))
            .unwrap()
    }

    /// Imports, and checks that the branch outside is that inside.
    pub fn import_all(&self, repo: &RepoFixture, what: &str) {
        let tip = self.tip("refs/heads/fix");
        match self.import(repo) {
            Import::Imported { commit, .. } | Import::Unchanged(commit) => {
                assert_eq!(commit.as_str(), tip, "{what}");
            }
            Import::Refused(refusal) => panic!("{what}: {refusal:?}"),
        }
        assert_eq!(
            crate::merge::tip(repo, &repo.app(), "refs/heads/fix"),
            tip,
            "{what}"
        );
    }
}

/// Checks that git finds nothing wrong with the real repository, and that its `gc` keeps what is
/// needed.
pub fn check_repository(repo: &RepoFixture, what: &str) {
    let fsck = ["fsck", "--strict", "--full", "--no-dangling"];
    let found = repo.try_git(&repo.app(), &fsck);
    let text = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success() && text.is_empty(), "{what}: {text}");
}

pub fn collect_garbage(repo: &RepoFixture) {
    repo.git(&repo.app(), &["gc", "-q", "--prune=now"]);
}
