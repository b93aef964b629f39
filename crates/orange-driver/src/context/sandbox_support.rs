//! What this machine can do for a sandbox, tried once per process.

use std::sync::{Arc, Mutex, PoisonError};

use orange_effects::sandbox::{Capabilities, Level};

use crate::context::Context;

/// What was found when a full sandbox could be made.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownCapabilities(Arc<Mutex<Option<Capabilities>>>);

impl Context {
    /// What this machine can do. Anything less than a full sandbox is tried again on every call,
    /// because the user may be fixing it.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let known = self.capabilities.0.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let has_bwrap = |it: &&Capabilities| it.bwrap.as_ref().is_some_and(|path| path.exists());
        if let Some(full) = known.as_ref().filter(has_bwrap) {
            return full.clone();
        }
        let worktrees = self.home.workspaces();
        let found = Capabilities::find(&self.environment, &[&worktrees]);
        *known = (found.level == Level::Full).then(|| found.clone());
        found
    }
}
