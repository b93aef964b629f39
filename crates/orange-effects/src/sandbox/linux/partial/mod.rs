//! The partial level: Landlock and seccomp, without namespaces.
//!
//! `orange exec-run` starts `orange sandbox-init` itself. It is not process 1, but the processes
//! that lose their parent below it become its children, so that it can end them. It is not
//! confined. Paths are those of the machine: what the agent may not use is refused, not absent.

mod capability_sets;
mod confinement;
mod guard;
mod links;
mod place;
mod start;
mod task_count;
mod variables;

pub(super) use capability_sets::drop_capabilities;
pub(super) use confinement::{Confinement, restrict_in_place};
pub(super) use guard::{adopt_orphans, end_below, run_guarded};
pub(super) use links::{MAX_COPY, make_link, return_shared_file};
pub(super) use place::TemporaryFolder;
pub(super) use start::{calls_bridge, end_marked, prepare_program, start_init};
pub(super) use task_count::with_running;
pub(super) use variables::private_variables;
