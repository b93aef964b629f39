//! Pull requests of tasks, on a scripted GitHub over real git.

mod opening;
mod reactions;
mod secrecy;
