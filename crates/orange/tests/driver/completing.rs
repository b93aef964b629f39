//! Completion, asked for by real shells.

use std::process::{Command, Stdio};

use crate::stage::Stage;

/// Asks as bash does when Tab is pressed.
const BASH: &str = r#"
source <(orange completions bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMP_POINT=0
_clap_complete_orange orange "${@: -1}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Asks as fish does.
const FISH: &str = "orange completions fish | source; complete -C \"$argv\"";

/// Only whether zsh takes the script: its completion needs a terminal.
const ZSH: &str = "autoload -U compinit; compinit -u; source <(orange completions zsh); \
                   print $_comps[orange]";

impl Stage {
    /// Runs a script of a shell in which `orange` is the program under test; nothing when the shell
    /// is not installed.
    fn shell(&self, shell: &str, script: &str, words: &[&str]) -> Option<Vec<String>> {
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_orange"));
        let path = std::env::join_paths(
            [program.parent().unwrap().to_owned()]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut command = Command::new(shell);
        command.arg("-c").arg(script);
        if shell == "bash" {
            command.arg("bash");
        }
        command.args(words).current_dir(self.path("repo"));
        command.env_clear().envs(self.environment.variables());
        command.env("PATH", path.unwrap()).stdin(Stdio::null());
        let output = match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let told = format!("SKIPPED: {shell} is not installed\n");
                std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes()).unwrap();
                return None;
            }
            output => output.unwrap(),
        };
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}: {text}");
        Some(text.lines().map(str::to_owned).collect())
    }
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
}

#[test]
fn zsh_and_fish_take_the_script() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["Add a line"]);
    if let Some(said) = stage.shell("zsh", ZSH, &[]) {
        assert!(said.concat().contains("orange"), "{said:?}");
    }
    if let Some(said) = stage.shell("fish", FISH, &["orange task show "]) {
        let line = format!("{id}\tAdd a line");
        assert!(said.contains(&line), "{said:?}");
    }
}
