//! Commands that orange calls itself; hidden from the help.

pub(crate) mod agent_ask;
pub(crate) mod background;
pub(crate) mod detach;
pub(crate) mod exec_run;
pub(crate) mod freeze_agents;
pub(crate) mod sandbox_attempts;
pub(crate) mod sandbox_confine;
pub(crate) mod sandbox_init;
pub(crate) mod status_line;
pub(crate) mod tether;
