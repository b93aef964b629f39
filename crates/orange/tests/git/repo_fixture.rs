//! A repository, a pool of workspaces and a user for one test.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use orange_config::Environment;
use orange_effects::git::{
    AcquireRefusal, AcquireRequest, AcquireResult, AcquiredWorkspace, Git, GitError,
    ReleaseRequest, ReleaseResult, Slot,
};
use orange_engine::names::{BranchName, TaskId, WorkspaceName};
use tempfile::TempDir;

/// The workspace that tests use.
pub const WORKSPACE: &str = "app--1";

/// What is at a path: its mode in git's terms, and its bytes.
pub type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Everything one test needs, removed afterwards.
pub struct RepoFixture {
    root: PathBuf,
    /// Whether merges are not pushed.
    pub merges_stay_here: bool,
    _gone_afterwards: Option<TempDir>,
}

impl RepoFixture {
    /// A repository with one commit on `main`.
    pub fn new() -> Self {
        // Saving syncs to the disk, which no test can see but every test would wait for.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            TempDir::with_prefix_in("o-git-", memory)
        } else {
            TempDir::with_prefix("o-git-")
        };
        let folder = folder.unwrap();
        let repo = Self {
            root: folder.path().join("yard"),
            merges_stay_here: false,
            _gone_afterwards: Some(folder),
        };
        fs::create_dir_all(repo.path("home")).unwrap();
        fs::create_dir_all(repo.app().join("src/deep")).unwrap();
        repo.git(&repo.root, &["init", "-q", "-b", "main", "app"]);
        let app = repo.app();
        fs::write(app.join("README"), "one\ntwo\nthree\n").unwrap();
        fs::write(app.join("src/main.rs"), "fn main() {}\n").unwrap();
        fs::write(app.join("src/deep/old.txt"), "old\n").unwrap();
        fs::write(app.join("data.bin"), [0, 1, 2, 255, 254, 0, 10]).unwrap();
        fs::write(app.join(OsStr::from_bytes(b"n\xffn")), "not UTF-8\n").unwrap();
        fs::write(app.join("kept.log"), "tracked although ignored\n").unwrap();
        fs::write(app.join(".gitignore"), "*.log\ncache/\n.env\n").unwrap();
        fs::write(app.join("tool.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(app.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("README", app.join("link")).unwrap();
        repo.git(&app, &["add", "-A", "-f"]);
        repo.git(&app, &["commit", "-q", "-m", "one"]);
        repo
    }

    /// The same fixture in another process, which does not remove it.
    pub fn at(root: PathBuf) -> Self {
        Self {
            root,
            merges_stay_here: false,
            _gone_afterwards: None,
        }
    }

    /// Saves a copy of the current state.
    pub fn save(&self) {
        copy(&self.root, &self.root.with_file_name("kept"));
    }

    /// Restores the saved state, which is faster than setting everything up again.
    pub fn reset(&self) {
        fs::remove_dir_all(&self.root).unwrap();
        copy(&self.root.with_file_name("kept"), &self.root);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The user's own checkout.
    pub fn app(&self) -> PathBuf {
        self.path("app")
    }

    /// The directory of the workspace.
    pub fn slot(&self) -> PathBuf {
        self.path("workspaces").join(WORKSPACE)
    }

    /// The environment of a user without any configuration.
    pub fn environment(&self) -> Environment {
        environment(&self.root)
    }

    /// Runs git directly, bypassing the code under test; fails the test when git fails.
    pub fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.try_git(directory, arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {text}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn try_git(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.current_dir(directory).args(arguments);
        git.env_clear().stdin(Stdio::null());
        let environment = self.environment();
        git.envs(environment.variables());
        for name in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{name}_NAME"), "Ada");
            git.env(format!("GIT_{name}_EMAIL"), "ada@example.org");
        }
        git.env("GIT_EDITOR", "true");
        git.output().unwrap()
    }

    pub fn open(&self) -> Git {
        self.open_with("git")
    }

    /// The repository, accessed through another git program.
    pub fn open_with(&self, program: impl Into<OsString>) -> Git {
        let git = Git::open(program, &self.app(), &self.environment()).unwrap();
        let network = Duration::from_secs(20);
        git.timeouts(Duration::from_mins(1), network, Duration::from_millis(100))
    }

    pub fn commit(&self, directory: &Path, file: &str, text: &str) -> String {
        fs::write(directory.join(file), text).unwrap();
        self.git(directory, &["add", "-f", file]);
        self.git(directory, &["commit", "-q", "-m", text]);
        self.git(directory, &["rev-parse", "HEAD"])
            .trim()
            .to_owned()
    }

    /// Every branch and its commit.
    pub fn branches(&self) -> String {
        self.git(
            &self.app(),
            &["for-each-ref", "refs/heads", "refs/tags", "refs/stash"],
        )
    }

    pub fn acquire<'a>(&self, git: &'a Git, task: &str, branch: &str) -> AcquiredWorkspace<'a> {
        match self.try_acquire(git, task, branch).unwrap() {
            AcquireResult::Acquired(acquired) => *acquired,
            AcquireResult::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    pub fn refusal(&self, git: &Git, task: &str, branch: &str) -> AcquireRefusal {
        match self.try_acquire(git, task, branch).unwrap() {
            AcquireResult::Acquired(acquired) => panic!("{acquired:?}"),
            AcquireResult::Refused(refusal) => refusal,
        }
    }

    pub fn try_acquire<'a>(
        &self,
        git: &'a Git,
        task: &str,
        branch: &str,
    ) -> Result<AcquireResult<'a>, GitError> {
        git.acquire(&AcquireRequest {
            slot: Slot {
                name: &WorkspaceName::new(WORKSPACE),
                path: &self.slot(),
            },
            task: &TaskId::new(task),
            branch: &BranchName::new(branch),
            known_commit: None,
            default: None,
            merges_stay_here: self.merges_stay_here,
            task_file: "TASK.md",
            excluded: &[],
            aside: &self.slot().with_extension("aside"),
        })
    }

    pub fn release(&self, git: &Git, task: &str) -> ReleaseResult {
        self.try_release(git, task).unwrap()
    }

    pub fn try_release(&self, git: &Git, task: &str) -> Result<ReleaseResult, GitError> {
        git.release(&ReleaseRequest {
            slot: Slot {
                name: &WorkspaceName::new(WORKSPACE),
                path: &self.slot(),
            },
            task: &TaskId::new(task),
            branch: None,
            default: None,
        })
    }

    /// A program that runs a script around git; in it, `real` is git and "$@" its arguments.
    pub fn wrapper(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        let git = real_git_path();
        fs::write(&path, format!("#!/bin/sh\nreal={git}\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    assert!(copy.arg("-a").arg(from).arg(to).status().unwrap().success());
}

pub fn environment(root: &Path) -> Environment {
    let path = std::env::var_os("PATH").unwrap();
    Environment::of([("PATH", path), ("HOME", root.join("home").into())])
}

fn real_git_path() -> String {
    let path = std::env::var_os("PATH").unwrap();
    let mut folders = std::env::split_paths(&path).map(|folder| folder.join("git"));
    folders
        .find(|git| git.is_file())
        .unwrap()
        .display()
        .to_string()
}

/// Every file and link below a directory, without git's own.
pub fn files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if name == Path::new(".git") {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(name, (0o120_000, target.as_os_str().as_bytes().to_vec()));
            } else if kind.is_file() {
                let mode = if kind.permissions().mode() & 0o100 == 0 {
                    0o100_644
                } else {
                    0o100_755
                };
                found.insert(name, (mode, fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// The files of a commit, byte for byte.
pub fn commit_files(repo: &RepoFixture, commit: &str) -> Files {
    let listing = repo.try_git(&repo.app(), &["ls-tree", "-r", "-z", commit]);
    let mut listed = Vec::new();
    let mut ids = String::new();
    for part in listing.stdout.split(|byte| *byte == 0) {
        let Some(tab) = part.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let fields = String::from_utf8(part[..tab].to_vec()).unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        if fields[1] == "blob" {
            let mode = u32::from_str_radix(fields[0], 8).unwrap();
            listed.push((PathBuf::from(OsStr::from_bytes(&part[tab + 1..])), mode));
            ids += fields[2];
            ids += "\n";
        }
    }
    let file = repo.path("ids");
    fs::write(&file, ids).unwrap();
    let mut git = Command::new("git");
    git.current_dir(repo.app()).args(["cat-file", "--batch"]);
    git.stdin(fs::File::open(file).unwrap());
    let output = git.output().unwrap().stdout;
    let mut rest = output.as_slice();
    let mut found = Files::new();
    for (path, mode) in listed {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let header = String::from_utf8(rest[..end].to_vec()).unwrap();
        let size: usize = header.split(' ').nth(2).unwrap().parse().unwrap();
        found.insert(path, (mode, rest[end + 1..end + 1 + size].to_vec()));
        rest = &rest[end + size + 2..];
    }
    found
}

/// Starts to count the calls of a wrapper in a folder.
pub fn begin_count(folder: &Path) {
    let _first = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
}

/// The start of a wrapper's script that gives its call a number `n`, even when several run at the
/// same time.
pub fn numbering_script(folder: &Path) -> String {
    let folder = folder.display();
    format!("n=1; while ! mkdir {folder}/$n 2>/dev/null; do n=$((n+1)); done\n")
}

/// How many calls there were.
pub fn counted(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}
