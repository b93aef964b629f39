//! What holds for every command: errors, help, printing, schemas.

#[cfg(target_os = "linux")]
mod answers;
#[cfg(target_os = "linux")]
mod codes;
mod documentation;
mod help;
mod home;
mod printing;
#[cfg(target_os = "linux")]
mod printing_tasks;
#[cfg(target_os = "linux")]
mod quiet;
mod reference;
mod schemas;
pub mod terminal;
mod usage;
