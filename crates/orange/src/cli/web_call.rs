//! Runs a command for a request of the web API.

use orange_config::Environment;
use orange_web::{Call, Reply};

use super::captured_call;

/// Runs the command, and returns its answer in JSON.
pub fn run(call: &Call, environment: &Environment) -> Reply {
    let (exit, answer) = captured_call::run(&call.words, environment);
    Reply {
        exit: exit.code(),
        answer,
    }
}
