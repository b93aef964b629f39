//! What this machine can do for a sandbox, found by trying it.

use std::path::{Path, PathBuf};

use orange_config::Environment;
use serde::{Deserialize, Serialize};

use super::system::{landlock_abi, working_bwrap};

/// The Landlock version that keeps signals and abstract sockets inside.
const SCOPED: u8 = 6;

/// How much of a sandbox is possible.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    None,
    /// Landlock and seccomp, without namespaces.
    Partial,
    /// Namespaces and seccomp, and Landlock where the kernel has it.
    Full,
}

impl Level {
    /// The level of a sandbox for which `bwrap` is the program, or none is needed.
    pub fn made_with(bwrap: Option<&Path>) -> Level {
        match bwrap {
            Some(_) => Level::Full,
            None => Level::Partial,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Partial => "partial",
            Level::Full => "full",
        }
    }
}

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub reason: String,
    pub fix: String,
}

/// What this machine can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub level: Level,
    /// The bwrap to use, if one works.
    pub bwrap: Option<PathBuf>,
    /// What is missing, the most important first.
    pub gaps: Vec<Gap>,
    /// The Landlock version, 0 if there is none; more than 6 counts as 6.
    pub landlock: u8,
    pub is_root: bool,
}

impl Capabilities {
    /// Tries what a sandbox needs. `worktrees` are folders in which no bwrap is trusted.
    pub fn find(environment: &Environment, worktrees: &[&Path]) -> Self {
        let mut gaps = Vec::new();
        let has_seccomp = Path::new("/proc/sys/kernel/seccomp/actions_avail").exists();
        if !has_seccomp {
            gaps.push(Gap {
                reason: String::from("the kernel has no seccomp"),
                fix: String::from("use Linux with CONFIG_SECCOMP_FILTER"),
            });
        }
        let bwrap = match working_bwrap(environment, worktrees) {
            Ok(bwrap) => Some(bwrap),
            Err(gap) => {
                gaps.push(gap);
                None
            }
        };
        let landlock = landlock_abi();
        if landlock < SCOPED {
            gaps.push(Gap {
                reason: format!(
                    "Landlock {SCOPED} is missing (found {landlock}), so an agent reaches \
                     abstract sockets"
                ),
                fix: String::from("use Linux 6.12 or newer with Landlock enabled"),
            });
        }
        let level = match &bwrap {
            Some(_) if has_seccomp => Level::Full,
            None if has_seccomp && landlock >= SCOPED => Level::Partial,
            _ => Level::None,
        };
        Capabilities {
            level,
            bwrap,
            gaps,
            landlock,
            is_root: rustix::process::geteuid().is_root(),
        }
    }

    /// The bwrap of the full level, if that is possible.
    pub fn startable_bwrap(&self) -> Option<&Path> {
        let bwrap = self.bwrap.as_deref();
        bwrap.filter(|_| self.level == Level::Full)
    }

    /// Why no run can be started at the full level, and what to do about it.
    pub fn obstacle(&self) -> Option<&Gap> {
        match self.startable_bwrap() {
            Some(_) => None,
            None => self.gaps.first(),
        }
    }
}
