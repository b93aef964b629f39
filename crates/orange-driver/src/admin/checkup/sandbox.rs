//! Checks whether this machine can run agents in a sandbox.

use orange_config::{SandboxMode, SandboxSettings};
use orange_effects::sandbox::{Capabilities, Level};

use super::{Checkup, Health};
use crate::admin::Admin;

impl Admin {
    /// What a sandbox on this machine would be. No problem if the user turned it off.
    pub(super) fn check_sandbox(&self, settings: &SandboxSettings) -> Checkup {
        let capabilities = self.context.capabilities();
        let health = match (
            settings.mode,
            capabilities.level,
            capabilities.gaps.as_slice(),
        ) {
            (SandboxMode::Off, _, _) | (_, Level::Full, []) => Health::Ok,
            (_, Level::None, _) | (SandboxMode::Required, Level::Partial, _) => Health::Error,
            _ => Health::Warning,
        };
        let checkup = Checkup::new("sandbox", health, describe(settings.mode, &capabilities));
        match capabilities.gaps.first() {
            Some(gap) if settings.mode != SandboxMode::Off => checkup.with_fix(&gap.fix),
            _ => checkup,
        }
    }
}

fn describe(mode: SandboxMode, capabilities: &Capabilities) -> String {
    let level = match (mode, capabilities.level) {
        (SandboxMode::Off, Level::Full) => "off; this machine can make one",
        (SandboxMode::Off, Level::Partial) => "off; this machine can make a partial one",
        (SandboxMode::Off, Level::None) => "off; this machine cannot make one",
        (_, Level::Full) => "on",
        (SandboxMode::Auto, Level::Partial) => "on, but partial",
        (SandboxMode::Auto | SandboxMode::Required, _) => "agents do not start",
    };
    let mut parts = vec![level.to_owned()];
    if let Some(bwrap) = &capabilities.bwrap {
        parts.push(bwrap.display().to_string());
    }
    if capabilities.level == Level::Full && capabilities.gaps.is_empty() {
        parts.push(format!("Landlock {} or newer", capabilities.landlock));
        parts.push(String::from("seccomp"));
    }
    if capabilities.is_root {
        parts.push(String::from(
            "you are root, and your agents own the files of the system",
        ));
    }
    parts.extend(capabilities.gaps.iter().map(|gap| gap.reason.clone()));
    parts.join("; ")
}
