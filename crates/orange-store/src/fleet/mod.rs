//! A home in a fleet: its standing, commits, and moving tasks.
//!
//! A runner commits locally, ships the commit to the server's log, and starts an effect only after
//! the log has acknowledged it. So everything here is beside the tables of a task: a home that never
//! joins has none of it.

mod arrival;
mod commits;
mod discard;
mod gate;
mod give_back;
mod membership;
mod texts;

pub use arrival::{Arrival, Claimed};
pub(crate) use commits::decide_mail;
pub use gate::EffectGate;
pub(crate) use gate::{require_held, wait_of};
pub use membership::Membership;
pub(crate) use membership::require_unjoined;
pub(crate) use texts::keep_former_workflow;
