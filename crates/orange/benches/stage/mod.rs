//! A home and a project for benches of the real program.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Agents that do nothing.
const HARNESS: &str = "name = \"script\"\nbinary = \"/bin/sleep\"\n[args]\nfull = [\"600\"]\n\
                       reduced = [\"600\"]\n";

pub struct Stage {
    root: TempDir,
}

impl Stage {
    /// A home with these settings and without a sandbox, and the project `repo` with one empty commit.
    pub fn new(settings: &str) -> Stage {
        let stage = Stage {
            root: TempDir::with_prefix("o-bench-").unwrap(),
        };
        for folder in ["home/harnesses", "home/workflows", "repo"] {
            fs::create_dir_all(stage.path(folder)).unwrap();
        }
        fs::write(stage.path("home/harnesses/script.toml"), HARNESS).unwrap();
        let settings = format!("{settings}\n[sandbox]\nmode = \"off\"\n");
        fs::write(stage.path("home/config.toml"), settings).unwrap();
        for line in [
            "init -q -b main",
            "config user.email ada@example.org",
            "config user.name Ada",
            "commit -q --allow-empty -m first",
        ] {
            timed(stage.command("git").args(line.split(' ')));
        }
        let words = ["project", "add", "--harness", "script"];
        timed(stage.orange(&words).args(["--workflow", "minimal"]));
        stage
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// A program in the repository, with the variables of this home alone.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("repo")).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.root.path())
            .env("ORANGE_HOME", self.path("home"))
            .env("SHELL", "/bin/sh");
        command
    }

    pub fn orange(&self, words: &[&str]) -> Command {
        let mut orange = self.command(env!("CARGO_BIN_EXE_orange"));
        orange.args(words);
        orange
    }
}

/// How long a command takes; it must succeed.
pub fn timed(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    assert!(output.status.success(), "{command:?}: {output:?}");
    took
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
