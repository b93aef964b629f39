//! `orange exec-run`: runs in a pane, then becomes the agent.

use std::ffi::OsString;
use std::path::PathBuf;

use orange_config::Environment;
use orange_driver::{AgentExit, exec_run};
use signal_hook::low_level::{emulate_default_handler, raise};

use crate::cli::{Error, Exit};
use crate::output::Output;

/// Become the agent that a run file describes.
///
/// In a sandbox, the agent runs below this process, which ends as the agent ends. orange starts
/// this in a pane; you do not need it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run file, which only your user can read.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `permit` decides which calls of orange an agent in a sandbox may make.
pub fn run(
    args: &Args,
    environment: &Environment,
    output: &mut Output,
    permit: fn(&[OsString]) -> Result<(), String>,
) -> Result<Exit, Error> {
    let notify_user = |line: &str| {
        // The agent starts even if the pane is gone and this line cannot be printed.
        let _gone = output.answer_exactly(format!("{line}\n").as_bytes());
    };
    match exec_run(&args.file, environment, notify_user, Box::new(permit)) {
        Ok(exit) => Ok(end_as(exit)),
        Err(error) => Err(Error::not_started(error)),
    }
}

/// Ends this process as the agent ended.
pub fn end_as(exit: AgentExit) -> Exit {
    match exit {
        AgentExit::Code(code) => Exit::Other(code),
        AgentExit::Signal(signal) => {
            end_by_signal(signal);
            // The signal did not end this process.
            Exit::Other(u8::try_from(128 + signal).unwrap_or(u8::MAX))
        }
    }
}

/// Ends this process by the signal that ended the agent. The agent has written its core file.
fn end_by_signal(signal: i32) {
    let no_core = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _unlimited = rustix::process::setrlimit(rustix::process::Resource::Core, no_core);
    let _alive = emulate_default_handler(signal);
    // Signals that the library does not know or takes for harmless; nothing handles them.
    let _alive = raise(signal);
}
