//! `orange agent-event`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use orange_config::Environment;
use orange_driver::Told;

use super::request::driving::driver;
use crate::cli::{Error, Exit};

/// How much of stdin is kept.
const LOOKED_AT: u64 = 1024 * 1024;

/// How long to wait for the payload on stdin.
const PATIENCE: Duration = Duration::from_millis(250);

/// Tell what an agent is doing.
///
/// A coding agent that can call a program when something happens calls this, in the environment
/// that orange gave it. What it tells is shown by `orange task show`, `orange task why` and
/// `orange attention`, and confirms that a message was taken in. It asks for no status. Only `failed`
/// is acted on: where its reason means no quota or no login, the agent counts as ended.
///
/// The events are `session-start`, `prompt-submitted`, `working`, `permission-wait`, `input-wait`,
/// `idle`, `failed` and `session-end`. JSON on the standard input is kept as evidence, and the
/// conversation and its file are taken from it.
///
/// It never disturbs the agent: it prints nothing, waits for nothing, and always succeeds. What
/// cannot be kept, such as an event from outside an agent's session, is told by `orange log`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What happened.
    #[arg(value_name = "EVENT")]
    pub kind: String,
    /// What the hook was given, instead of the standard input.
    #[arg(value_name = "JSON")]
    pub payload: Option<String>,
    /// Its place among the events of this agent; the order of the calls when left out.
    #[arg(long, value_name = "NUMBER")]
    pub sequence: Option<u64>,
    /// The agent's own name for its conversation.
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    /// Where the agent keeps its conversation.
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<String>,
}

pub fn run(args: &Args, environment: &Environment) -> Exit {
    let Ok(driver) = driver(environment) else {
        // Without a home there is no log in which to report this.
        return Exit::Ok;
    };
    let given = args.payload.clone().map(String::into_bytes);
    driver.agents.keep_agent_event(Told {
        kind: args.kind.clone(),
        sequence: args.sequence,
        session_id: args.session_id.clone(),
        transcript: args.transcript.clone(),
        payload: given.or_else(standard_input),
    });
    Exit::Ok
}

/// Whether an invalid command line is a call of `orange agent-event`, which must not fail: some
/// agents stop when a hook fails.
pub fn is_meant(typed: &[OsString]) -> bool {
    let mut words = typed.iter().skip(1);
    let first = words.find(|word| !word.to_string_lossy().starts_with('-'));
    first.is_some_and(|word| word == "agent-event")
}

/// Logs an invalid call of `orange agent-event`.
pub fn drop(error: &Error, environment: &Environment) {
    if let Ok(driver) = driver(environment) {
        driver.agents.keep_agent_event(Told {
            kind: error.message.clone(),
            ..Told::default()
        });
    }
}

/// The payload on stdin, if it arrives in time; a terminal is not read.
fn standard_input() -> Option<Vec<u8>> {
    if io::stdin().is_terminal() {
        return None;
    }
    let (sender, read) = mpsc::channel();
    // A writer that never closes its end is not waited for: the thread ends with the process.
    let reader = move || {
        let mut bytes = Vec::new();
        let mut input = io::stdin().lock();
        let looked_at = input.by_ref().take(LOOKED_AT).read_to_end(&mut bytes);
        // Drain the rest too, so that the agent never gets a broken pipe.
        if looked_at.is_ok() && io::copy(&mut input, &mut io::sink()).is_ok() {
            let _late = sender.send(bytes);
        }
    };
    let thread = thread::Builder::new().spawn(reader);
    thread.ok().and_then(|_| read.recv_timeout(PATIENCE).ok())
}
