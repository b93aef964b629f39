//! Drops every capability, which matters to root.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
};

/// Drops the capabilities of this thread. What it starts has none either: `no_new_privs`, which
/// Landlock sets, lets no program gain one, also not a program that root starts.
pub(in crate::sandbox::linux) fn drop_capabilities() -> rustix::io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // The user has none to lose, or the kernel does not know this one.
            Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    let empty = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: empty,
            permitted: empty,
            inheritable: empty,
        },
    )
}
