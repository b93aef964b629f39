//! What a sandbox adds to the start of an agent.
//!
//! Run with `cargo bench -p orange --bench sandbox`. `orange exec-run` starts `true`, bare and in a
//! sandbox by turns. It fails when the medians differ by 15 ms or more.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark measures time and prints what it measured"
)]

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this system has no sandbox for orange");
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use orange_config::{Environment, Harness, Home, StartMode};
    use orange_effects::run::Launch;
    use orange_effects::sandbox::{Capabilities, DescribeRequest, Description, Network, describe};
    use orange_engine::language::workflow::Permissions;
    use orange_engine::names::{RunId, TaskId};
    use orange_engine::role::Role;
    use tempfile::TempDir;

    /// How often each is measured; the medians count.
    const ROUNDS: usize = 100;

    /// The most that a sandbox may add.
    const LIMIT: Duration = Duration::from_millis(15);

    struct Bench {
        root: TempDir,
        environment: Environment,
        harness: Harness,
        sandbox: Description,
    }

    impl Bench {
        fn new() -> Bench {
            let root = TempDir::with_prefix("o-bench-").unwrap();
            let path = |name: &str| root.path().join(name);
            for folder in ["ada", "w", "private", "orange"] {
                fs::create_dir_all(path(folder)).unwrap();
            }
            let variables = [
                ("PATH", std::env::var_os("PATH").unwrap()),
                ("HOME", path("ada").into()),
                ("ORANGE_HOME", path("orange").into()),
            ];
            let environment = Environment::of(variables);
            let capabilities = Capabilities::find(&environment, &[]);
            let Some(bwrap) = capabilities.startable_bwrap() else {
                panic!("no sandbox here: {:?}", capabilities.gaps);
            };
            let sandbox = describe(&DescribeRequest {
                bwrap: Some(bwrap),
                orange: Path::new(env!("CARGO_BIN_EXE_orange")),
                user_home: &path("ada"),
                orange_home: &path("orange"),
                private_home: Some(&path("private")),
                temporary: None,
                program: Path::new("/bin/true"),
                path: environment.variable("PATH"),
                read: Vec::new(),
                own: Vec::new(),
                given: Vec::new(),
                copy: Vec::new(),
                share: Vec::new(),
                writable: vec![path("w"), path("orange")],
                worktree: None,
                others: Vec::new(),
                network: Network::Open,
                login: None,
            });
            let text = "name = \"true\"\nbinary = \"/bin/true\"\n[args]\nfull = []\n";
            Bench {
                sandbox: sandbox.unwrap(),
                harness: Harness::parse("true.toml", text).unwrap(),
                environment,
                root,
            }
        }

        fn run_file(&self, sandbox: Option<&Description>) -> PathBuf {
            let launch = Launch {
                run: &RunId::new("bench"),
                task: &TaskId::new("t1"),
                role: &Role::Worker,
                proof: "proof",
                harness: &self.harness,
                start_mode: StartMode::Interactive,
                output: None,
                permissions: Permissions::Full,
                prompt: "do it",
                model: None,
                effort: None,
                session_id: None,
                resumed_id: None,
                directory: &self.root.path().join("w"),
                home: &Home::resolve(&self.environment).unwrap(),
                environment: &self.environment,
                freezable: false,
                sandbox,
            };
            launch.write(&self.root.path().join("run")).unwrap()
        }

        fn measure(&self, sandbox: Option<&Description>) -> Duration {
            let file = self.run_file(sandbox);
            let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
            orange.arg("exec-run").arg(file).env_clear();
            orange.stdin(Stdio::null()).stdout(Stdio::null());
            let start = Instant::now();
            assert!(orange.status().unwrap().success());
            start.elapsed()
        }
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort();
        times[times.len() / 2]
    }

    pub fn main() {
        let bench = Bench::new();
        let (mut bare, mut inside) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(bench.measure(None));
            inside.push(bench.measure(Some(&bench.sandbox)));
        }
        let fastest = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
        println!("start of `true` through `orange exec-run`, {ROUNDS} times each:");
        println!(
            "  bare    {:>8.1?} (fastest {:.1?})",
            median(bare.clone()),
            fastest(&bare)
        );
        println!(
            "  sandbox {:>8.1?} (fastest {:.1?})",
            median(inside.clone()),
            fastest(&inside)
        );
        let added = median(inside).saturating_sub(median(bare));
        println!("  added   {added:>8.1?} (limit {LIMIT:.1?})");
        assert!(added < LIMIT, "a sandbox adds {added:?}");
    }
}
