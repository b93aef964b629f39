//! What holds for every command: errors, help, printing, schemas.

#[cfg(target_os = "linux")]
mod answers;
#[cfg(target_os = "linux")]
mod codes;
mod documentation;
mod help;
mod home;
mod output;
#[cfg(target_os = "linux")]
mod quiet;
mod reference;
mod schemas;
#[cfg(target_os = "linux")]
mod task_output;
pub mod terminal;
mod usage;
