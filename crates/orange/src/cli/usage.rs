//! Explains what is wrong with a command line, in our own words.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::Error;

/// The error for a command line that `program` rejected.
pub fn error(refused: &clap::Error, program: Command) -> Error {
    let (name, usage) = meant(refused, program);
    Error::usage(message(refused, &name)).hints(hints(refused, &name, &usage))
}

/// The error for an argument that clap itself would accept.
pub fn unknown_argument(argument: &str, program: &mut Command) -> clap::Error {
    let mut refused = program.error(ErrorKind::UnknownArgument, argument);
    let argument = ContextValue::String(argument.to_owned());
    refused.insert(ContextKind::InvalidArg, argument);
    refused
}

/// The command on the line, as far as clap understood it, and its usage.
fn meant(refused: &clap::Error, mut program: Command) -> (String, String) {
    program.build();
    let line = text(refused, ContextKind::Usage).unwrap_or_default();
    let words = line.trim_start_matches("Usage:").split_whitespace().skip(1);
    let mut command = &program;
    for word in words {
        let Some(next) = command.find_subcommand(word) else {
            break;
        };
        command = next;
    }
    let mut command = command.clone();
    let name = command.get_bin_name().unwrap_or("orange").to_owned();
    let usage = command.render_usage().to_string();
    (name, usage.trim_start_matches("Usage:").trim().to_owned())
}

fn message(refused: &clap::Error, command: &str) -> String {
    let argument = text(refused, ContextKind::InvalidArg);
    let subcommand = text(refused, ContextKind::InvalidSubcommand);
    match (refused.kind(), argument, subcommand) {
        (ErrorKind::InvalidSubcommand, _, Some(subcommand)) => {
            format!("`{command}` has no command `{subcommand}`")
        }
        (ErrorKind::UnknownArgument, Some(argument), _) => {
            format!("`{command}` takes no argument `{argument}`")
        }
        (ErrorKind::MissingRequiredArgument, Some(argument), _) => {
            format!("`{command}` needs `{argument}`")
        }
        (ErrorKind::TooManyValues, Some(argument), _) => {
            format!("`{argument}` of `{command}` takes no value")
        }
        // The first paragraph is clap's message; we give our own hints instead of its tips.
        _ => {
            let rendered = refused.render().to_string();
            let paragraph = rendered.split("\n\n").next().unwrap_or_default();
            paragraph.trim_start_matches("error: ").trim().to_owned()
        }
    }
}

fn hints(refused: &clap::Error, command: &str, usage: &str) -> Vec<String> {
    let mut hints = Vec::new();
    if let Some(subcommand) = text(refused, ContextKind::SuggestedSubcommand) {
        hints.push(format!("did you mean `{command} {subcommand}`?"));
    }
    if let Some(argument) = text(refused, ContextKind::SuggestedArg) {
        hints.push(format!("did you mean `{argument}`?"));
    }
    hints.push(format!("it is used as `{usage}`"));
    hints.push(format!("`{command} --help` explains it"));
    hints
}

fn text(refused: &clap::Error, kind: ContextKind) -> Option<String> {
    match refused.get(kind)? {
        ContextValue::Strings(values) => values.first().cloned(),
        ContextValue::None => None,
        value => Some(value.to_string()),
    }
}
