//! `orange completions`.

use clap::ValueEnum;
use clap_complete::env::Shells;

use super::complete::VARIABLE;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Print what makes a shell complete.
///
/// Task ids with their summaries, statuses, branches, projects, workflows and harnesses are asked
/// for anew whenever you press Tab. Let every shell read it when it starts:
///
/// bash: `source <(orange completions bash)` in ~/.bashrc
///
/// zsh: `source <(orange completions zsh)` in ~/.zshrc, after `compinit`
///
/// fish: `orange completions fish | source` in ~/.config/fish/config.fish
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// A shell that can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    let name = match args.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
    };
    let program = std::env::current_exe()?;
    let program = program.to_string_lossy();
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(name) {
        shell.write_registration(VARIABLE, "orange", "orange", &program, &mut script)?;
    }
    output.answer_exactly(&script)?;
    Ok(Exit::Ok)
}
