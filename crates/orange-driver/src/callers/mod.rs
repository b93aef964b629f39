//! Identifies the caller, and the task or project it means.

pub(crate) mod identity;
pub(crate) mod resolve_project;
pub(crate) mod resolve_task;
pub(crate) mod tool_caller;

use std::sync::Arc;

use crate::context::Context;

/// Identifies the caller, and the task or project it means.
#[derive(Clone, Debug)]
pub struct Callers {
    context: Arc<Context>,
}

impl Callers {
    pub(crate) fn new(context: &Arc<Context>) -> Callers {
        Callers {
            context: Arc::clone(context),
        }
    }
}
