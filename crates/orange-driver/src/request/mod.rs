//! Requests: who asks, for what, and what comes of it.

pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod bind_workflow;
pub(crate) mod caller;
pub(crate) mod catch_up;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod edit;
pub(crate) mod identity;
pub(crate) mod progress;
pub(crate) mod resolve_project;
pub(crate) mod resolve_task;
pub(crate) mod retry;
pub(crate) mod start;
pub(crate) mod store_lock;
pub(crate) mod user_environment;
pub(crate) mod wait;
