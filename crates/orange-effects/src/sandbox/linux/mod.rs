//! The processes of a sandbox, and what they do to themselves.

mod arguments;
mod attempts;
mod bwrap;
mod confine;
mod control;
mod fixes;
mod init;
mod kernel_rules;
mod limits;
mod parent;
mod partial;
mod ports;
mod private_home;
mod program;
mod protocol;
mod proxy;
mod system_calls;
mod terminal;
mod trial;

pub use arguments::machine_arguments;
pub use attempts::{create_targets, make_attempts};
pub use bwrap::trusted_bwrap;
pub use confine::confine;
pub(crate) use control::{wait_readable, watch_signals};
pub use init::run_init;
pub(super) use kernel_rules::landlock_abi;
pub use parent::run_in_sandbox;
pub use ports::{forward_port, has_server};
pub use program::program_in_sandbox;
pub use proxy::{StartedProxy, start_proxy};
pub(super) use trial::working_bwrap;
