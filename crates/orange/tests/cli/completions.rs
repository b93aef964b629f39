//! `orange completions`, tested in real shells.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Stage, Terminal};

/// Completes the way bash does when Tab is pressed.
const BASH: &str = r#"
source <(orange completions bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMP_POINT=0
_clap_complete_orange orange "${@: -1}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Completes the way fish does.
const FISH: &str = "orange completions fish | source; complete -C \"$argv\"";

/// What a user puts into `.zshrc`.
const ZSH: &str = "autoload -U compinit && compinit -u -D && source <(orange completions zsh)";

impl Stage {
    /// Runs a shell script in which `orange` is the program under test; `None` if the shell is not
    /// installed.
    fn shell(&self, shell: &str, script: &str, words: &[&str]) -> Option<Vec<String>> {
        let mut command = Command::new(shell);
        command.arg("-c").arg(script);
        if shell == "bash" {
            command.arg("bash");
        }
        command.args(words).current_dir(self.path("repo"));
        command.env_clear().envs(self.environment.variables());
        command.env("PATH", path_with_orange()).stdin(Stdio::null());
        let output = match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                skip(shell);
                return None;
            }
            output => output.unwrap(),
        };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}: {text}");
        Some(text.lines().map(str::to_owned).collect())
    }
}

/// A `PATH` on which the program under test comes first.
fn path_with_orange() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_orange"));
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", program.parent().unwrap().display())
}

/// A missing shell is no failure on a developer's machine, but it is one in the CI.
fn skip(shell: &str) {
    let is_ci = std::env::var_os("CI").is_some();
    assert!(!is_ci, "{shell} is not installed; `.ci/run` installs it");
    let text = format!("SKIPPED: {shell} is not installed\n");
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
}

#[test]
fn bash_completes_ids_statuses_and_names() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line", "--branch", "a-branch"]);
    let ask = |words: &[&str]| stage.shell("bash", BASH, words).unwrap();
    let tasks = ask(&["orange", "task", "show", ""]);
    assert!(tasks.contains(&id.to_string()), "{tasks:?}");
    let statuses = ask(&["orange", "task", "update", id.as_str(), "--status", ""]);
    assert!(statuses.contains(&"cancelled".to_owned()), "{statuses:?}");
    assert!(
        !statuses.contains(&"agent-review".to_owned()),
        "only those of its workflow: {statuses:?}"
    );
    let has = |words: &[&str], name: &str| {
        let found = ask(words);
        assert!(found.contains(&name.to_owned()), "{words:?}: {found:?}");
    };
    has(&["orange", "task", "list", "--project", ""], "app");
    has(
        &["orange", "task", "create", "x", "--workflow", "res"],
        "respawn",
    );
    has(
        &["orange", "task", "create", "x", "--harness", ""],
        "script",
    );
    has(
        &["orange", "task", "create", "x", "--branch", "a"],
        "a-branch",
    );
    has(&["orange", "task", "sp"], "spawn");
    for kind in ["human", "terminal"] {
        has(&["orange", "task", "wait", "x", "--until", ""], kind);
    }
    has(&["orange", "task", "list", "--status", ""], "agent-review");
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    for reader in ["diff", "history", "logs", "restore", "reopen"] {
        has(&["orange", "task", reader, ""], id.as_str());
    }
    let live = ask(&["orange", "task", "attach", ""]);
    assert!(!live.contains(&id.to_string()), "{live:?}");
}

#[test]
fn fish_completes_ids_statuses_and_names() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line", "--branch", "a-branch"]);
    for (line, candidate) in [
        ("orange task show ", format!("{id}\tAdd a line")),
        ("orange task sp", String::from("spawn\t")),
        ("orange task list --project ", String::from("app")),
        (
            "orange task create x --workflow res",
            String::from("respawn"),
        ),
        ("orange task create x --harness ", String::from("script")),
        ("orange task create x --branch a", String::from("a-branch")),
        (
            "orange task update a-branch --status canc",
            String::from("cancelled"),
        ),
    ] {
        let Some(said) = stage.shell("fish", FISH, &[line]) else {
            return;
        };
        let is_there = said.iter().any(|it| it.starts_with(&candidate));
        assert!(is_there, "{line}: {said:?}");
    }
}

#[test]
fn zsh_completes_ids_and_names_when_tab_is_pressed() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line", "--branch", "a-branch"]);
    if stage.shell("zsh", "exit 0", &[]).is_none() {
        return;
    }
    let line = format!("PATH='{}' PS1='> ' zsh -f", path_with_orange());
    let terminal = Terminal::start(&stage, "zsh", 100, &line);
    terminal.wait_for(">");
    terminal.press(&[&format!("{ZSH} && echo re'a'dy"), "Enter"]);
    terminal.wait_for("ready");
    for (typed, completed) in [
        (
            "orange task show a-",
            String::from("orange task show a-branch"),
        ),
        (
            "orange task create x --workflow res",
            String::from("orange task create x --workflow respawn"),
        ),
        ("orange task unbl", String::from("orange task unblock")),
        (
            "orange task list --project a",
            String::from("orange task list --project app"),
        ),
    ] {
        terminal.press(&[typed]);
        terminal.wait_for(typed);
        terminal.press(&["Tab"]);
        terminal.wait_for(&completed);
        terminal.press(&["C-u"]);
    }
    // Every candidate is shown with its description.
    terminal.press(&["orange task show ", "Tab"]);
    terminal.wait_for(id.as_str());
    terminal.wait_for("Add a line");
}
