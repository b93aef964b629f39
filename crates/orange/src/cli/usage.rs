//! Explains what is wrong with a command line, in our own words.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::suggestion::suggest;
use crate::cli::Error;

/// The error for a command line that `program` rejected.
pub fn error(clap_error: &clap::Error, typed: &[OsString], mut program: Command) -> Error {
    program.build();
    let command = find_command(typed, &program);
    let name = command.get_bin_name().unwrap_or("orange").to_owned();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let mut hints = Vec::new();
    let subcommand = text(clap_error, ContextKind::InvalidSubcommand);
    if let Some(meant) = subcommand.and_then(|it| suggest(&it, command, &program)) {
        hints.push(format!("did you mean `{meant}`?"));
    }
    if let Some(argument) = text(clap_error, ContextKind::SuggestedArg) {
        hints.push(format!("did you mean `{argument}`?"));
    }
    hints.push(format!("usage: `{usage}`"));
    // `orange help` has no help of its own.
    let details = name.trim_end_matches(" help");
    hints.push(format!("run `{details} --help` for details"));
    Error::usage(message(clap_error, &name)).hints(hints)
}

/// The error for an argument that is invalid here although clap accepts it.
pub fn unknown_argument(argument: &str, program: &mut Command) -> clap::Error {
    let mut clap_error = program.error(ErrorKind::UnknownArgument, argument);
    let argument = ContextValue::String(argument.to_owned());
    clap_error.insert(ContextKind::InvalidArg, argument);
    clap_error
}

/// The innermost command that the command line names, up to the first unknown word.
fn find_command<'a>(typed: &[OsString], program: &'a Command) -> &'a Command {
    let words = typed.iter().skip(1);
    let words = words.filter(|word| !word.to_string_lossy().starts_with('-'));
    let mut command = program;
    for word in words {
        let Some(next) = command.find_subcommand(word) else {
            break;
        };
        command = next;
    }
    command
}

fn message(clap_error: &clap::Error, command: &str) -> String {
    let argument = text(clap_error, ContextKind::InvalidArg);
    let subcommand = text(clap_error, ContextKind::InvalidSubcommand);
    match (clap_error.kind(), argument, subcommand) {
        (ErrorKind::InvalidSubcommand, _, Some(subcommand)) => {
            format!("`{command}` has no command `{subcommand}`")
        }
        (ErrorKind::UnknownArgument, Some(argument), _) => {
            format!("`{command}` takes no argument `{argument}`")
        }
        (ErrorKind::MissingRequiredArgument, Some(argument), _) => {
            format!("`{command}` needs {}", missing_argument(&argument))
        }
        (ErrorKind::TooManyValues, Some(argument), _) => {
            format!("`{argument}` of `{command}` takes no value")
        }
        // The first paragraph is clap's message; we give our own hints instead of its tips.
        _ => {
            let rendered = clap_error.render().to_string();
            let paragraph = rendered.split("\n\n").next().unwrap_or_default();
            let paragraph = paragraph.trim_start_matches("error: ").trim();
            // This is the standard library's message about an invalid number.
            paragraph.replace("invalid digit found in string", "it must be a whole number")
        }
    }
}

/// The missing argument; for a group such as `<--status <STATUS>|--summary <TEXT>>`, its flags.
fn missing_argument(argument: &str) -> String {
    let group = argument.strip_prefix('<').filter(|it| it.starts_with("--"));
    let Some(group) = group else {
        return format!("`{argument}`");
    };
    let flags = group.split('|').filter_map(|it| it.split(' ').next());
    let flags: Vec<String> = flags.map(|flag| format!("`{flag}`")).collect();
    format!("one of {}", flags.join(", "))
}

fn text(clap_error: &clap::Error, kind: ContextKind) -> Option<String> {
    match clap_error.get(kind)? {
        ContextValue::Strings(values) => values.first().cloned(),
        ContextValue::None => None,
        value => Some(value.to_string()),
    }
}
