//! Runs git on bare repositories, without the user's own configuration.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is for tests and has its own door to git"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::stop::stop;

/// Runs git, which must succeed; returns its output without the last line break.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    git_with(folder, arguments, "")
}

/// Like `git`, with this standard input.
#[track_caller]
pub fn git_with(folder: &Path, arguments: &[&str], input: &str) -> String {
    match run(folder, arguments, input, &[]) {
        Ok(output) => output,
        Err(error) => stop(&format!("`git {}` failed: {error}", arguments.join(" "))),
    }
}

/// Runs git; returns its output or its error message.
pub fn try_git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    run(folder, arguments, "", &[])
}

/// Runs git with more variables, for example an index of its own.
pub fn run(
    folder: &Path,
    arguments: &[&str],
    input: &str,
    variables: &[(&str, &str)],
) -> Result<String, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut child = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|it| (it, "Scripted Forge")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|it| (it, "forge@example.invalid")))
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start git: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // git may exit without reading; then its own message is what counts.
        let _unread = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|it| it.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned();
    if output.status.success() {
        return Ok(text);
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}{text}", error.trim_end()))
}
