//! Agents: observes, judges, shows and ends them.

pub(crate) mod activity;
pub(crate) mod attach;
pub(crate) mod death;
pub(crate) mod end_run;
pub(crate) mod events;
pub(crate) mod exhaustion;
pub(crate) mod observe;
pub(crate) mod orphans;
pub(crate) mod output;
pub(crate) mod permission;
pub(crate) mod process_events;
pub(crate) mod results;
pub(crate) mod router_calls;
pub(crate) mod run_check;
pub(crate) mod screen;
mod spend;
pub(crate) mod usage;

use std::sync::Arc;

use crate::context::Context;
use crate::steps::Steps;

/// Observes agents, judges their ends, and shows them.
#[derive(Clone, Debug)]
pub struct Agents {
    context: Arc<Context>,
    steps: Steps,
}

impl Agents {
    pub(crate) fn new(context: &Arc<Context>, steps: &Steps) -> Agents {
        Agents {
            context: Arc::clone(context),
            steps: steps.clone(),
        }
    }
}
