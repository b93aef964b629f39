//! Calls of `orange` inside a sandbox, which run outside.
//!
//! The agent's side uses this list to answer at once; `orange exec-run`, which runs the calls, uses
//! it to refuse everything else.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};

use orange_config::Environment;
use orange_driver::{CallResult, OutputStream, call_outside};

use super::answer::error::Error;
use super::answer::exit::Exit;
use super::arguments::{Arguments, Command, EarlyExit};
use super::task::{self, Short, create};
use super::{agent_event, note};
use crate::output::Output;

/// The variants that stand for the standard input and for a file.
const STDIN: &str = "-";
const FILE: char = '@';

/// Whether a command needs no home of orange, so that it runs inside.
pub fn is_local(command: Option<&Command>) -> bool {
    // Its tools make their calls themselves.
    #[cfg(feature = "mcp")]
    if matches!(command, Some(Command::Mcp(_))) {
        return true;
    }
    matches!(
        command,
        Some(
            Command::Workflow(_)
                | Command::Schema(_)
                | Command::Completions(_)
                | Command::Man(_)
                | Command::SandboxAttempts(_)
                | Command::SandboxInit(_)
                | Command::SandboxConfine(_)
        )
    )
}

/// Decides outside whether an agent in a sandbox may make this call.
pub fn permit(words: &[OsString]) -> Result<(), String> {
    let typed: Vec<OsString> = [OsString::from("orange")]
        .into_iter()
        .chain(words.iter().cloned())
        .collect();
    let arguments = Arguments::parse(&typed, None).map_err(|error| match error {
        EarlyExit::Help(_) => String::from("help is printed inside"),
        EarlyExit::Usage(error) => error.message,
    })?;
    let command = arguments.command.as_ref();
    let named_file = command.and_then(creation).is_some_and(names_file);
    match input_of(command) {
        Some(_) if named_file => Err(String::from("a file is read inside, not outside")),
        Some(_) => Ok(()),
        None => Err(refusal(&typed)),
    }
}

/// Makes a call from inside a sandbox.
pub fn run(
    command: Option<&Command>,
    typed: &[OsString],
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let is_hook = agent_event::is_hook_call(typed);
    let result = call(command, typed, environment, output);
    // A hook that fails can stop its agent.
    if is_hook { Ok(Exit::Ok) } else { result }
}

fn call(
    command: Option<&Command>,
    typed: &[OsString],
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let Some(input) = input_of(command) else {
        return Err(refused(refusal(typed)));
    };
    let mut words: Vec<OsString> = typed.iter().skip(1).cloned().collect();
    let file = command
        .and_then(creation)
        .map(|args| take_file(args, &mut words));
    let input: Option<Box<dyn Read + Send>> = match (file.transpose()?.flatten(), input) {
        (Some(file), _) => Some(Box::new(file)),
        (None, Input::Stdin) => Some(Box::new(io::stdin())),
        (None, Input::None) => None,
    };
    let result = call_outside(environment, &words, input, |stream, bytes| match stream {
        OutputStream::Stdout => output.answer_foreign(bytes),
        OutputStream::Stderr => output.narrate_foreign(bytes),
    });
    match result {
        Ok(CallResult::Exit(code)) => Ok(Exit::Other(code)),
        Ok(CallResult::Refused(reason)) => Err(refused(reason)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = "orange cannot be called here: only the sandbox of an agent can call it";
            Err(refused(reason.to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a call reads.
enum Input {
    None,
    Stdin,
}

/// What an agent's call reads; `None` for a command that only the user runs.
fn input_of(command: Option<&Command>) -> Option<Input> {
    use task::Command as Task;
    Some(match command? {
        Command::Short(Short::New(args)) | Command::Task(Task::Create(args)) => {
            if reads_stdin(args) {
                Input::Stdin
            } else {
                Input::None
            }
        }
        Command::AgentEvent(args) if args.payload.is_none() => Input::Stdin,
        Command::AgentAsk(_) => Input::Stdin,
        Command::AgentEvent(_)
        | Command::Inbox(_)
        | Command::Attention(_)
        | Command::Note(note::Command::Add(_) | note::Command::List(_))
        | Command::Short(
            Short::Ls(_) | Short::Diff(_) | Short::Why(_) | Short::Logs(_) | Short::Tell(_),
        )
        | Command::Task(
            Task::List(_)
            | Task::Show(_)
            | Task::Why(_)
            | Task::History(_)
            | Task::Logs(_)
            | Task::Wait(_)
            | Task::Update(_)
            | Task::Diff(_)
            | Task::Path(_)
            | Task::Complete(_)
            | Task::Stuck(_)
            | Task::RequestChanges(_)
            | Task::Tell(_),
        ) => Input::None,
        _ => return None,
    })
}

fn creation(command: &Command) -> Option<&create::Args> {
    match command {
        Command::Short(Short::New(args)) | Command::Task(task::Command::Create(args)) => Some(args),
        _ => None,
    }
}

fn reads_stdin(args: &create::Args) -> bool {
    [&args.context, &args.from]
        .iter()
        .any(|it| it.as_deref() == Some(STDIN))
}

/// Whether the arguments name a file to read.
fn names_file(args: &create::Args) -> bool {
    file_of(args).is_some()
}

/// The option that names a file, its value, and the path.
fn file_of(args: &create::Args) -> Option<(&'static str, &str, &str)> {
    let context = args.context.as_deref();
    let context = context.and_then(|value| Some(("--context", value, value.strip_prefix(FILE)?)));
    let from = args.from.as_deref().filter(|it| *it != STDIN);
    context.or(from.map(|path| ("--from", path, path)))
}

/// Opens the file that the arguments name, and makes them read the standard input instead.
fn take_file(args: &create::Args, words: &mut [OsString]) -> Result<Option<File>, Error> {
    let Some((option, value, path)) = file_of(args) else {
        return Ok(None);
    };
    let file = File::open(path).map_err(|error| {
        let reason = orange_config::reason(&error);
        Error::usage(format!("cannot read `{path}`: {reason}"))
    })?;
    let joined = format!("{option}={value}");
    for index in 0..words.len() {
        if words[index] == *joined {
            words[index] = format!("{option}={STDIN}").into();
        } else if index > 0 && words[index - 1] == *option && words[index] == *value {
            words[index] = STDIN.into();
        }
    }
    Ok(Some(file))
}

fn refusal(typed: &[OsString]) -> String {
    let words = typed.iter().skip(1);
    let mut words = words.filter(|word| !word.to_string_lossy().starts_with('-'));
    let first = words.next().map(|it| it.to_string_lossy().into_owned());
    let second = words.next().map(|it| it.to_string_lossy().into_owned());
    let name = match (first.as_deref(), second) {
        (None, _) => String::from("the dashboard"),
        (Some("task" | "project" | "workspace" | "note" | "job"), Some(second)) => {
            format!("`orange {} {second}`", first.unwrap_or_default())
        }
        (Some(first), _) => format!("`orange {first}`"),
    };
    format!("{name} is not available in a sandbox; it is for the user")
}

fn refused(reason: String) -> Error {
    Error::new(Exit::Refused, "not-in-sandbox", reason).hint(
        "agents can use `orange inbox`, `orange task show`, `orange task update` and the like",
    )
}
