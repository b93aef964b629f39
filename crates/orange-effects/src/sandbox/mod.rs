//! A sandbox around a run's agent, made with bubblewrap, Landlock and seccomp.
//!
//! `orange exec-run` stays outside as the parent of bwrap (`parent`). Inside, `orange sandbox-init`
//! is process 1 (`init`), and `orange sandbox-confine` takes the last rights away before it becomes
//! the agent (`confine`). Where bwrap cannot work, `exec-run` starts `sandbox-init` itself, and
//! Landlock refuses what mounts would hide (`linux/partial`). What is visible inside is decided before the start (`describe`) and
//! travels in the run file (`description`). Calls of `orange` inside are run outside (`broker`), and
//! what the agent reaches over the network is decided there too (`network`).

mod attempts;
mod broker;
mod capabilities;
mod describe;
mod description;
mod ending;
#[cfg(target_os = "linux")]
mod linux;
mod network;
mod places;
mod sandboxed_run;
mod seatbelt;
mod secret;
mod system_mounts;
mod unstarted;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use unsupported as system;

pub use attempts::{Attempt, AttemptResults, Targets};
pub use broker::{Broker, CallPolicy, CallResult, OutputStream, call_outside};
pub use capabilities::{Capabilities, Gap, Level};
pub use describe::{DescribeError, DescribeRequest, describe};
pub use description::{Description, Limits, Mount};
pub use ending::AgentExit;
pub use network::{InjectedLogin, Network, PortForward};
pub use places::{OBJECTS, UPSTREAM, is_inside};
pub use sandboxed_run::SandboxedRun;
pub use seatbelt::{UnwritablePath, seatbelt_profile};
pub use secret::Secret;
pub use system::{
    StartedProxy, confine, create_targets, forward_port, has_server, machine_arguments,
    make_attempts, program_in_sandbox, run_in_sandbox, run_init, start_proxy, trusted_bwrap,
};
#[cfg(target_os = "linux")]
pub(crate) use system::{wait_readable, watch_signals};
pub use unstarted::{ConfineFailure, SandboxError};
