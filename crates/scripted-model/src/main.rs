//! Serves a folder of scripts until it is killed.

use std::path::Path;
use std::process::ExitCode;

use scripted_model::Model;

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for tests, without colours or answers in JSON"
)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (scripts, log, port) = match arguments.as_slice() {
        [scripts, log] => (scripts, log, Ok(0)),
        [scripts, log, port] => (scripts, log, port.parse()),
        _ => {
            eprintln!("usage: scripted-model SCRIPTS LOG [PORT]");
            return ExitCode::from(2);
        }
    };
    let Ok(port) = port else {
        eprintln!("error: the port must be a number from 0 to 65535");
        return ExitCode::from(2);
    };
    match Model::start(Path::new(scripts), Path::new(log), port) {
        Ok(model) => {
            println!("{}", model.port());
            model.serve();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: cannot serve `{scripts}` on port {port}: {error}");
            ExitCode::FAILURE
        }
    }
}
