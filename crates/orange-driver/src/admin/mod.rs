//! The home itself: projects, setup, log, demo, rebuild.

pub(crate) mod checkup;
pub(crate) mod demo;
pub(crate) mod log;
pub(crate) mod projects;
pub(crate) mod read_log;
pub(crate) mod rebuild;
pub(crate) mod register_project;
pub(crate) mod skills;
pub(crate) mod supervisor_lock;
