//! `orange agent-event`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use orange_config::Environment;
use orange_driver::HookEvent;

use super::request::requests::driver;
use crate::cli::{Error, Exit};

/// How many bytes of stdin are kept.
const PAYLOAD_LIMIT: u64 = 1024 * 1024;

/// How long to wait for the payload on stdin.
const STDIN_TIMEOUT: Duration = Duration::from_millis(250);

/// Report what an agent is doing.
///
/// A coding agent calls this from its hooks, in the environment that orange gave it. `orange task
/// show`, `orange task why` and `orange attention` show the reports, and a report can confirm that
/// the agent received a message. A report never changes the status. Only `failed` has an effect: if
/// the reason is a missing quota or login, the agent counts as exited.
///
/// The events are `session-start`, `prompt-submitted`, `working`, `permission-wait`, `input-wait`,
/// `idle`, `failed` and `session-end`. JSON on the standard input is kept; orange takes
/// the conversation's id and file from it.
///
/// This command never disturbs the agent: it prints nothing, waits for nothing, and always
/// succeeds. An event that cannot be recorded, such as one from outside an agent's session, is only
/// logged; see `orange log`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The event.
    #[arg(value_name = "EVENT")]
    pub kind: String,
    /// The hook's JSON, instead of the standard input.
    #[arg(value_name = "JSON")]
    pub payload: Option<String>,
    /// The event's number for this agent [default: the order of the calls].
    #[arg(long, value_name = "NUMBER")]
    pub sequence: Option<u64>,
    /// The agent's own id for its conversation.
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    /// The file with the agent's conversation.
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<String>,
}

pub fn run(args: &Args, environment: &Environment) -> Exit {
    let Ok(driver) = driver(environment) else {
        // Without a home there is no log in which to report this.
        return Exit::Ok;
    };
    let payload = args.payload.clone().map(String::into_bytes);
    driver.agents.store_agent_event(HookEvent {
        kind: args.kind.clone(),
        sequence: args.sequence,
        session_id: args.session_id.clone(),
        transcript: args.transcript.clone(),
        payload: payload.or_else(|| read_stdin(STDIN_TIMEOUT)),
        request: None,
    });
    Exit::Ok
}

/// Whether an invalid command line is the call of an agent's hook. Such a call must not fail: some
/// agents stop when a hook fails.
pub fn is_hook_call(typed: &[OsString]) -> bool {
    let mut words = typed.iter().skip(1);
    let first = words.find(|word| !word.to_string_lossy().starts_with('-'));
    first.is_some_and(|word| word == "agent-event" || word == "agent-ask")
}

/// Logs an invalid call of a hook.
pub fn log_invalid_call(error: &Error, environment: &Environment) {
    if let Ok(driver) = driver(environment) {
        driver.agents.store_agent_event(HookEvent {
            kind: error.message.clone(),
            ..HookEvent::default()
        });
    }
}

/// The payload on stdin, if it arrives in time; a terminal is not read.
pub fn read_stdin(timeout: Duration) -> Option<Vec<u8>> {
    if io::stdin().is_terminal() {
        return None;
    }
    let (sender, receiver) = mpsc::channel();
    // A thread of its own, because a writer may never close the pipe. The thread is not joined; it
    // ends when the process exits.
    let reader = move || {
        let mut bytes = Vec::new();
        let mut input = io::stdin().lock();
        let read_result = input.by_ref().take(PAYLOAD_LIMIT).read_to_end(&mut bytes);
        // Drain the rest too, so that the agent never gets a broken pipe.
        if read_result.is_ok() && io::copy(&mut input, &mut io::sink()).is_ok() {
            let _late = sender.send(bytes);
        }
    };
    let thread = thread::Builder::new().spawn(reader);
    thread
        .ok()
        .and_then(|_| receiver.recv_timeout(timeout).ok())
}
