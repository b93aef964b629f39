//! One start of an agent: write its files, then exec it.

#[cfg(target_os = "linux")]
mod below;
mod exec;
mod file;
mod launch;
mod raw_text;

pub use exec::{ExecError, ExecFailure, exec_failure, exec_run};
pub use file::{RunFile, RunFileError};
pub use launch::{Launch, LaunchError, given_files};
pub use raw_text::RawText;
