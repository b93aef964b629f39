//! The README's first session, exactly as printed there.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const README: &str = include_str!("../../../../../README.md");

/// A user's directory, and the tmux server that orange starts in it.
struct User(TempDir);

impl Drop for User {
    fn drop(&mut self) {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.0.path().join("orange/tmux.sock"));
        let _ended = tmux.arg("kill-server").output();
    }
}

/// The text of the first code block in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_first_session_is_as_the_readme_shows_it() {
    let person = User(TempDir::with_prefix("o-").unwrap());
    let home = person.0.path();
    fs::create_dir_all(home.join("orange/harnesses")).unwrap();
    fs::write(home.join("orange/harnesses/robot.toml"), block("toml")).unwrap();
    let git = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n";
    fs::write(home.join(".gitconfig"), git).unwrap();
    let shown = block("console");
    let commands: Vec<&str> = shown
        .lines()
        .filter_map(|it| it.strip_prefix("$ "))
        .collect();
    assert!((5..10).contains(&commands.len()), "{commands:?}");
    let told = |command: &&str| format!("cat <<'END'\n$ {command}\nEND\n{command} || exit\n");
    let script: Vec<String> = commands.iter().map(told).collect();
    let script = script.concat();
    let orange = std::path::Path::new(env!("CARGO_BIN_EXE_orange"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", orange.parent().unwrap().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{script}")]);
    shell.current_dir(home).env_clear().stdin(Stdio::null());
    shell.env("PATH", path).env("HOME", home);
    shell.env("LANG", "C.UTF-8").env("SHELL", "/bin/sh");
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let id = text
        .lines()
        .find_map(|line| line.split_once(": from `pending`"));
    let text = text.replace(id.unwrap().0, "tp7a");
    let text = text.replace(home.to_str().unwrap(), "/home/ada");
    let commit = text.split_once("merged as ").unwrap().1;
    let commit = commit.split(' ').next().unwrap().to_owned();
    assert!(commit.len() == 12, "{text}");
    let text = text.replace(&commit, "5d0c2f9e41ab");
    let base = text.split_once("Committed: ").unwrap().1;
    let base = base.split("..").next().unwrap().to_owned();
    let text = text.replace(&base, "3f6c8d9e0a12");
    // The agent may be faster than the answer.
    let text = text.replace(", now in `reviewing`", "");
    assert_eq!(text, shown);
}
