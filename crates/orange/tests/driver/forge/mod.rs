//! Pull requests and issues, on a scripted GitHub over real git.

mod injection;
mod issue_consent;
mod issue_tasks;
mod opening;
mod reactions;
mod secrecy;
