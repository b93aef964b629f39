//! The `orange` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    orange::cli::main(orange::tui::open)
}
