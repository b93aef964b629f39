//! How long a task's private repository takes: creating it, importing a commit.
//!
//! Run with `cargo bench -p orange --bench private_repository`. The repository has 10,000 refs, each
//! at a commit of its own, and 5,000 files. git inside runs in a real sandbox without a network, so
//! `bwrap` has to be installed. Each figure includes opening the repository. It fails when the 95th
//! percentile of either is over its limit.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark measures time and prints what it measured"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use orange_config::Environment;
use orange_effects::command::Invocation;
use orange_effects::git::{
    Git, Import, ImportRequest, InsidePaths, PrivateRepository, PrivateRequest, PrivateResult,
};
use orange_engine::names::{BranchName, TaskId};
use tempfile::TempDir;

/// How often each is measured.
const ROUNDS: usize = 40;

const REFS: usize = 10_000;
const FILES: usize = 5_000;

/// The limits of the 95th percentiles.
const CREATE: Duration = Duration::from_millis(50);
const IMPORT: Duration = Duration::from_millis(100);

const INSIDE: [&str; 2] = ["/run/orange/objects", "/run/orange/upstream"];

struct Bench {
    root: TempDir,
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn git(&self, words: &[&str], input: &str) {
        let mut command = Command::new("git");
        command.args(words).current_dir(self.path("app"));
        command.env("HOME", self.root.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        assert!(child.wait().unwrap().success(), "{words:?}");
    }

    /// A repository with many refs and files, and a worktree of it.
    fn new() -> Bench {
        let bench = Bench {
            root: TempDir::with_prefix("o-bench-").unwrap(),
        };
        let user = "[user]\nname = Ada\nemail = ada@example.org\n";
        fs::write(bench.path(".gitconfig"), user).unwrap();
        fs::create_dir(bench.path("app")).unwrap();
        bench.git(&["init", "-q", "-b", "main"], "");
        let mut stream = String::new();
        for file in 0..FILES {
            let text = format!("the content of file {file}\n");
            let mark = file + 1;
            let _never_fails = write!(stream, "blob\nmark :{mark}\ndata {}\n{text}\n", text.len());
        }
        let person = "committer Ada <ada@example.org> 1700000000 +0000\ndata 1\nx\n";
        let _never_fails = write!(stream, "commit refs/heads/main\n{person}");
        for file in 0..FILES {
            let folder = file % 200;
            let _never_fails = writeln!(stream, "M 100644 :{} d{folder}/f{file}", file + 1);
        }
        for number in 0..REFS {
            let name = match number % 4 {
                0 => format!("refs/tags/v{number}"),
                1 => format!("refs/heads/topic/{number}"),
                _ => format!("refs/remotes/origin/b{number}"),
            };
            let _never_fails = write!(
                stream,
                "commit {name}\n{person}from refs/heads/main\nM 100644 inline n\ndata 6\n{number:06}\n"
            );
        }
        bench.git(&["fast-import", "--quiet"], &stream);
        bench.git(&["remote", "add", "origin", "/nowhere"], "");
        bench.git(&["pack-refs", "--all"], "");
        bench.git(&["reset", "-q", "--hard"], "");
        let slot = bench.path("slot").display().to_string();
        bench.git(&["worktree", "add", "-q", "-b", "task", &slot, "main"], "");
        bench
    }

    fn open(&self) -> Git {
        let path = std::env::var_os("PATH").unwrap();
        let environment = Environment::of([("PATH", path), ("HOME", self.root.path().into())]);
        Git::open("git", &self.path("app"), &environment).unwrap()
    }

    fn create(&self) -> PrivateRepository {
        let git = self.open();
        let request = PrivateRequest {
            task: &TaskId::new("t1"),
            branch: &BranchName::new("task"),
            folder: &self.path("task"),
            inside: inside_paths(),
        };
        let worktree = git.worktree(&self.path("slot")).unwrap();
        match worktree.create_private(&request).unwrap() {
            PrivateResult::Created { repository, .. } => repository,
            other => panic!("{other:?}"),
        }
    }

    /// A program in the sandbox.
    fn inside(&self, repository: &PrivateRepository, words: &[&str]) -> Invocation {
        let isolation = "--cap-drop ALL --unshare-user --unshare-pid --unshare-ipc --unshare-uts \
                         --unshare-net --die-with-parent --ro-bind /usr /usr --symlink usr/bin \
                         /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc \
                         /etc --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run";
        let slot = self.path("slot");
        let mut paths: Vec<OsString> =
            vec!["--bind".into(), slot.clone().into(), slot.clone().into()];
        for mount in repository.mounts(&self.open(), &inside_paths()) {
            let option = if mount.is_read_only {
                "--ro-bind"
            } else {
                "--bind"
            };
            paths.extend([option.into(), mount.outside.into(), mount.inside.into()]);
        }
        let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp")];
        let variables: BTreeMap<OsString, OsString> = variables
            .map(|(name, value)| (name.into(), value.into()))
            .into();
        Invocation::new("bwrap", variables)
            .arguments(isolation.split_whitespace())
            .arguments(paths)
            .arguments(["--chdir".into(), slot.into_os_string(), "--".into()])
            .arguments(words)
    }

    fn import(&self, repository: &PrivateRepository) -> Import {
        // What the mounts are is known before, so it does not count.
        let inside = |words: &[&str]| self.inside(repository, &[&["git"], words].concat());
        let git = self.open();
        let worktree = git.worktree(&self.path("slot")).unwrap();
        let request = ImportRequest {
            repository,
            inside: &inside,
            default: Some(&BranchName::new("main")),
            max_bytes: 1_000_000_000,
        };
        worktree.import_private(&request).unwrap()
    }
}

fn inside_paths() -> InsidePaths<'static> {
    let [objects, upstream] = INSIDE.map(Path::new);
    InsidePaths { objects, upstream }
}

/// Prints a row, and returns whether it is within its limit.
fn report(what: &str, mut times: Vec<Duration>, limit: Option<Duration>) -> bool {
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:7.1} ms", time.as_secs_f64() * 1000.0);
    let bound = limit.map_or_else(String::new, |limit| format!("   limit{}", shown(limit)));
    println!(
        "{what:<28} p50{}   p95{}{bound}",
        shown(at(50)),
        shown(at(95))
    );
    limit.is_none_or(|limit| at(95) <= limit)
}

fn main() {
    let bench = Bench::new();
    let timed = |act: &mut dyn FnMut()| {
        let start = Instant::now();
        act();
        start.elapsed()
    };
    let mut created = Vec::new();
    for _ in 0..ROUNDS {
        let _first = fs::remove_dir_all(bench.path("task"));
        created.push(timed(&mut || drop(bench.create())));
    }
    let _last = fs::remove_dir_all(bench.path("task"));
    let repository = bench.create();
    let (mut imported, mut unchanged) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let script = format!("echo {round} >>d0/f0; git commit -q -a -m {round}");
        let commit = bench.inside(&repository, &["sh", "-ec", &script]);
        commit.require_success().unwrap();
        imported.push(timed(&mut || {
            let import = bench.import(&repository);
            assert!(matches!(import, Import::Imported { .. }), "{import:?}");
        }));
        unchanged.push(timed(&mut || {
            let import = bench.import(&repository);
            assert!(matches!(import, Import::Unchanged(_)), "{import:?}");
        }));
    }
    println!("{REFS} refs, {FILES} files, {ROUNDS} rounds");
    let is_fast = [
        report("create", created, Some(CREATE)),
        report("import one commit", imported, Some(IMPORT)),
        report("import, nothing new", unchanged, None),
    ];
    assert!(is_fast.iter().all(|it| *it), "over the limit");
}
