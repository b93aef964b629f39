//! A home, a directory and nothing else for one run of `orange`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::schema_check::judge;

/// A workflow with three problems, in three places.
pub const BROKEN: &str = "\
name: broken
version: 1
states:
  open: { kind: queued }
  closed: { kind: terminal }
transitions:
  - from: open
    to: shut
  - from: closed
    to: open
  - from: open
    to: closed
    when: review_round <
";

/// A workflow without problems.
pub const SMALL: &str = "\
name: small
version: 1
description: Open, then closed.
states:
  open: { kind: queued }
  closed: { kind: terminal }
transitions:
  - from: open
    to: closed
";

/// Everything a run can see.
pub struct Sandbox {
    root: TempDir,
}

impl Sandbox {
    /// An empty working directory, a user directory, and a home that does not exist.
    pub fn new() -> Self {
        let root = TempDir::with_prefix("orange-").unwrap();
        for folder in ["work", "person"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a workflow into the home.
    pub fn with_workflow(self, file: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = self.home().join("workflows");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), content).unwrap();
        self
    }

    /// Writes a file into the working directory.
    pub fn with_file(self, file: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.work().join(file), content).unwrap();
        self
    }

    /// The program, with only a home in its environment.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orange"));
        command
            .args(line.split_whitespace())
            .current_dir(self.work())
            .env_clear()
            .env("HOME", self.root().join("person"))
            .env("ORANGE_HOME", self.home())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    pub fn run_with_input(&self, line: &str, input: &[u8]) -> Output {
        let mut command = self.command(line);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    /// What a user would see: the command, its answer, its narration, its exit code.
    pub fn transcript(&self, line: &str) -> String {
        self.transcript_of(line, &self.run(line))
    }

    pub fn transcript_of(&self, line: &str, output: &Output) -> String {
        let answer = utf8(&output.stdout);
        let narration = match utf8(&output.stderr) {
            text if text.is_empty() => text,
            text => format!("[stderr]\n{text}"),
        };
        let exit = code(output);
        let command = format!("orange {line}");
        let command = command.trim_end();
        self.without_paths(&format!("$ {command}\n{answer}{narration}[exit {exit}]\n"))
    }

    /// The text with run-specific paths replaced.
    pub fn without_paths(&self, text: &str) -> String {
        let home = self.home();
        text.replace(home.to_str().unwrap(), "[ORANGE_HOME]")
            .replace(self.root().to_str().unwrap(), "[ROOT]")
    }

    /// The JSON answer of a command, and its exit code.
    pub fn json(&self, line: &str) -> (Value, i32) {
        let output = self.run(line);
        assert_eq!(utf8(&output.stderr), "", "narration beside JSON");
        (parse(&output), code(&output))
    }
}

pub fn parse(output: &Output) -> Value {
    let text = utf8(&output.stdout);
    let answer = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    judge(&answer);
    answer
}

/// Every command that the help leads to, by its long name. A group is followed to its commands, and
/// a short form is left out.
pub fn every_command(help: impl Fn(&str) -> String) -> Vec<String> {
    let overview = help("--help");
    let mut names = Vec::new();
    for line in overview.lines() {
        if let Some((parent, _)) = line.split_once(" … ") {
            names.push(parent);
            continue;
        }
        let (heading, rest) = line.split_once(':').unwrap_or(("", line));
        match heading {
            "Oversight" | "Automation" | "Setup" | "Plumbing" => {
                names.extend(rest.split(',').map(str::trim));
            }
            "" if line.starts_with("  ") && !line.starts_with("   ") => {
                names.extend(line.split_whitespace().next());
            }
            _ => {}
        }
    }
    let mut commands = Vec::new();
    for name in names {
        let text = help(&format!("help {name}"));
        if text.contains("Short for ") {
            continue;
        }
        match text.split_once("\nCommands:\n") {
            None => commands.push(name.to_owned()),
            Some((_, inner)) => {
                // It does something without one of its commands too.
                if text.contains(" [COMMAND]") {
                    commands.push(name.to_owned());
                }
                let inner = inner.lines().take_while(|line| !line.is_empty());
                let inner = inner.filter(|line| !line.starts_with("    "));
                let inner = inner.filter_map(|line| line.split_whitespace().next());
                commands.extend(inner.map(|it| format!("{name} {it}")));
            }
        }
    }
    assert!(commands.len() > 30, "{commands:?}");
    commands
}

pub fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// The keys of an object, sorted alphabetically.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

pub fn everything_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}
