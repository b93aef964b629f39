//! What the web API needs: devices, the process behind a connection, changes.

pub(crate) mod changes;
pub(crate) mod devices;
pub(crate) mod peer;
pub(crate) mod requests;
mod webhooks;

use std::sync::Arc;

use crate::callers::Callers;
use crate::context::Context;

/// Devices, callers over loopback, and what changed since a commit.
#[derive(Clone, Debug)]
pub struct Web {
    context: Arc<Context>,
    callers: Callers,
}

impl Web {
    pub(crate) fn new(context: &Arc<Context>, callers: &Callers) -> Web {
        Web {
            context: Arc::clone(context),
            callers: callers.clone(),
        }
    }
}
