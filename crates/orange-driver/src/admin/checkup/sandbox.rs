//! Checks whether this machine can run agents in a sandbox.

use orange_config::{Environment, Harness, Project, SandboxMode, SandboxSettings};
use orange_effects::git::Uncovered;
use orange_effects::sandbox::{Capabilities, Level};

use super::{Checkup, Health};
use crate::admin::Admin;

impl Admin {
    /// What a sandbox on this machine would be. No problem if the user turned it off.
    pub(super) fn check_sandbox(&self, settings: &SandboxSettings) -> Checkup {
        checkup("sandbox", settings.mode, &self.context.capabilities())
    }

    /// The same for each project that differs from the general settings.
    pub(super) fn check_sandboxes(
        &self,
        general: &SandboxSettings,
        projects: &[Project],
        found: &mut Vec<Checkup>,
    ) {
        for project in projects {
            let Ok(settings) = self.context.settings(Some(project)) else {
                continue;
            };
            if settings.sandbox.mode != general.mode {
                let subject = format!("sandbox of {}", project.name);
                let capabilities = self.context.capabilities();
                found.push(checkup(&subject, settings.sandbox.mode, &capabilities));
            }
        }
    }

    /// Repositories that agents in a sandbox share, because no private one covers them. Another
    /// check reports a repository that cannot be opened.
    pub(super) fn check_private_repositories(
        &self,
        projects: &[Project],
        found: &mut Vec<Checkup>,
    ) {
        for project in projects {
            let settings = self.context.settings(Some(project));
            if settings.is_ok_and(|it| it.sandbox.mode != SandboxMode::Off) {
                found.extend(self.shared_repository(project));
            }
        }
    }

    fn shared_repository(&self, project: &Project) -> Option<Checkup> {
        let git = self.workspaces.open_repository(project).ok()?;
        let checkout = git.worktree(&project.path).ok()?;
        let uncovered = checkout.uncovered_by_private(&project.default_branch);
        // The state of the checkout does not matter: tasks have worktrees of their own.
        let uncovered = uncovered
            .ok()?
            .into_iter()
            .filter(Uncovered::is_of_repository);
        let reasons: Vec<String> = uncovered.map(|it| it.to_string()).collect();
        if reasons.is_empty() {
            return None;
        }
        let text = format!(
            "project `{}`: agents can change all of the repository, because {}",
            project.name,
            reasons.join(", ")
        );
        let fix = "docs/sandbox.md (The repository) says what a private repository does not cover";
        Some(Checkup::new("sandbox", Health::Warning, text).with_fix(fix))
    }

    /// Whether the login of an agent enters its sandbox, for a user who has one.
    pub(super) fn check_login(&self, harness: &Harness) -> Option<Checkup> {
        let login = describe_login(harness, &self.context.environment)?;
        Some(Checkup::new(harness.name.as_str(), Health::Ok, login))
    }
}

fn checkup(subject: &str, mode: SandboxMode, capabilities: &Capabilities) -> Checkup {
    let health = match (mode, capabilities.level, capabilities.gaps.as_slice()) {
        (SandboxMode::Off, _, _) | (_, Level::Full, []) => Health::Ok,
        (_, Level::None, _) | (SandboxMode::Required, Level::Partial, _) => Health::Error,
        _ => Health::Warning,
    };
    let checkup = Checkup::new(subject, health, describe(mode, capabilities));
    match capabilities.gaps.first() {
        Some(gap) if mode != SandboxMode::Off => checkup.with_fix(&gap.fix),
        _ => checkup,
    }
}

/// How an agent in a sandbox is logged in.
fn describe_login(harness: &Harness, environment: &Environment) -> Option<String> {
    if let Some(login) = harness.sandbox.login_of(environment) {
        let variable = &login.variable;
        return Some(format!("`{variable}` stays outside of the sandbox"));
    }
    let shared = harness.sandbox.share(environment);
    let shared: Vec<String> = shared
        .iter()
        .filter(|path| path.exists())
        .map(|path| format!("`{}`", path.display()))
        .collect();
    if shared.is_empty() {
        return None;
    }
    let shared = shared.join(", ");
    Some(format!(
        "its agents read and write {shared}, also in a sandbox"
    ))
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
