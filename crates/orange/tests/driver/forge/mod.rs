//! Pull requests of tasks, on a scripted GitHub over real git.

mod figures;
mod lessons;
mod opening;
mod queueing;
mod reactions;
mod reviewing;
mod searching;
mod secrecy;
