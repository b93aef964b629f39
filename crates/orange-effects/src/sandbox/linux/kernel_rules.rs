//! Landlock: keeps signals, abstract sockets and new files inside.

use std::path::Path;

use landlock::{
    AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope, make_bitflags,
};

/// What is allowed in writable folders alone. Reading and writing are left to the mounts: a rule
/// would also refuse the terminal and files that were opened outside, when a program opens them
/// again as `/dev/stderr`.
fn changes() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{
        RemoveDir | RemoveFile | MakeChar | MakeDir | MakeReg | MakeSock | MakeFifo | MakeBlock
            | MakeSym | Refer
    })
}

/// Device files cannot be made anywhere.
fn devices() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{MakeChar | MakeBlock})
}

/// Restricts this thread and whatever it starts, as far as the kernel can.
pub(super) fn restrict(writable: &[&Path]) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(changes())?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    for path in writable.iter().filter(|path| path.is_dir()) {
        let Ok(folder) = PathFd::new(path) else {
            continue;
        };
        rules = rules.add_rule(PathBeneath::new(folder, changes() & !devices()))?;
    }
    rules.restrict_self()?;
    Ok(())
}

/// The Landlock version of the kernel as far as it matters: 0 to 6.
pub(in crate::sandbox) fn landlock_abi() -> u8 {
    let has_scopes = || {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.scope(Scope::Signal).is_ok()
    };
    let has = |access: AccessFs| {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(access).is_ok()
    };
    if has_scopes() {
        return 6;
    }
    let versions = [
        (5, AccessFs::IoctlDev),
        (3, AccessFs::Truncate),
        (2, AccessFs::Refer),
        (1, AccessFs::Execute),
    ];
    let mut versions = versions.into_iter();
    let found = versions.find(|(_, access)| has(*access));
    found.map_or(0, |(version, _)| version)
}
