//! Who calls, and which task or project is meant.

pub(crate) mod identity;
pub(crate) mod resolve_project;
pub(crate) mod resolve_task;

use std::sync::Arc;

use crate::context::Context;

/// Tells who calls, and which task or project is meant.
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
