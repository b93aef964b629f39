//! `orange agent-ask`: an agent's hook asks for permission.

use std::time::Duration;

use orange_config::Environment;

use crate::cli::Exit;
use crate::cli::agent_event::read_stdin;
use crate::cli::request::requests::driver;
use crate::output::Output;

/// How long to wait for the payload on stdin; without it there is nothing to ask.
const STDIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Ask the user for permission.
///
/// A coding agent calls this from the hook that it runs before it asks for permission, with the
/// hook's JSON on the standard input. The request waits in `orange attention` until you answer it
/// with `orange allow` or `orange deny`, and the answer is printed in the form that Claude Code and
/// Codex expect. Without an answer it prints nothing, and the agent asks in its own terminal.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The agent shows its own dialog meanwhile, and ends this command with it.
    #[arg(long)]
    pub dialog: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Exit {
    // A hook that fails can stop its agent, so this always succeeds.
    let Ok(driver) = driver(environment) else {
        return Exit::Ok;
    };
    let payload = read_stdin(STDIN_TIMEOUT);
    let decision = driver
        .agents
        .ask_permission(payload, args.dialog, output.descriptor());
    let Some(decision) = decision else {
        return Exit::Ok;
    };
    let printed = match decision.hook_output() {
        Some(text) => output.answer_exactly(format!("{text}\n").as_bytes()),
        None => Ok(()),
    };
    if printed.is_ok() {
        decision.confirm();
    }
    Exit::Ok
}
