//! Tries on this machine what a sandbox holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use orange_config::{NetworkMode, Project};
use orange_effects::command::CommandExit;
use orange_effects::sandbox::{
    Attempt, AttemptResults, DescribeRequest, Level, Network, Targets, create_targets, describe,
    make_attempts,
};
use serde::Serialize;

use super::explain::{SandboxGap, gaps_of};
use super::program::ProgramSandbox;
use crate::DriverError;
use crate::workspaces::Workspaces;

/// What attempts to leave a sandbox lead to on this machine.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SandboxTrial {
    pub level: Level,
    /// What this machine lacks, the most important first.
    pub gaps: Vec<SandboxGap>,
    pub attempts: Vec<TriedAttempt>,
}

/// One attempt, with and without a sandbox.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TriedAttempt {
    pub attempt: Attempt,
    /// Whether it succeeds without a sandbox; absent if it cannot be made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeds_without: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeds_inside: Option<bool>,
    /// Whether the settings or the level allow it inside.
    pub is_allowed: bool,
}

impl SandboxTrial {
    /// What succeeds inside and should not.
    pub fn breaches(&self) -> Vec<&TriedAttempt> {
        let is_breach = |it: &&TriedAttempt| it.succeeds_inside == Some(true) && !it.is_allowed;
        self.attempts.iter().filter(is_breach).collect()
    }
}

impl Workspaces {
    /// Makes the attempts with the network of the settings, and again without a sandbox.
    pub fn try_sandbox(&self, project: Option<&Project>) -> Result<SandboxTrial, DriverError> {
        let environment = &self.context.environment;
        let capabilities = self.context.capabilities();
        if capabilities.level == Level::None {
            return Err(DriverError::no_sandbox(&capabilities));
        }
        let home = environment.home.as_deref();
        let home = home.ok_or_else(DriverError::home_not_set)?;
        let settings = self.context.settings(project)?.sandbox;
        let network = match settings.network {
            NetworkMode::Open => Network::Open,
            NetworkMode::List | NetworkMode::None => Network::None,
        };
        let folder = TargetFolder::create(&self.context.home.attempts())?;
        let targets = folder.path("targets")?;
        let (targets, _sockets) = create_targets(&targets, home).map_err(failed)?;
        let without = make_attempts(&targets, environment);
        let worktree = folder.path("worktree")?;
        let description = describe(&DescribeRequest {
            bwrap: capabilities.startable_bwrap(),
            orange: &self.context.orange,
            user_home: home,
            orange_home: self.context.home.path(),
            private_home: None,
            temporary: Some(&folder.path("temporary")?),
            program: Path::new("/bin/sh"),
            path: environment.variable("PATH"),
            read: settings.readable(),
            own: Vec::new(),
            given: Vec::new(),
            copy: Vec::new(),
            share: Vec::new(),
            writable: vec![worktree.clone()],
            worktree: None,
            others: Vec::new(),
            network: network.clone(),
            login: None,
        })?;
        let sandbox = ProgramSandbox {
            description,
            variables: environment.passed_variables([]),
            directory: worktree,
            proxy: None,
        };
        let inside = self.attempts_inside(&sandbox, &targets)?;
        let tried: BTreeSet<Attempt> = without.keys().chain(inside.keys()).copied().collect();
        let attempts = tried.into_iter().map(|attempt| TriedAttempt {
            attempt,
            succeeds_without: without.get(&attempt).copied(),
            succeeds_inside: inside.get(&attempt).copied(),
            is_allowed: match attempt {
                Attempt::ConnectPort => network == Network::Open,
                Attempt::SeeProcess => capabilities.level == Level::Partial,
                _ => false,
            },
        });
        Ok(SandboxTrial {
            level: capabilities.level,
            gaps: gaps_of(&capabilities),
            attempts: attempts.collect(),
        })
    }

    fn attempts_inside(
        &self,
        sandbox: &ProgramSandbox,
        targets: &Targets,
    ) -> Result<AttemptResults, DriverError> {
        let targets = serde_json::to_string(targets).map_err(failed)?;
        let orange = self.context.orange.as_os_str();
        let finished = sandbox
            .command(orange, &["sandbox-attempts", &targets])
            .run()?;
        if finished.ending != CommandExit::Code(0) {
            return Err(failed(String::from_utf8_lossy(&finished.stderr.bytes)));
        }
        serde_json::from_slice::<BTreeMap<_, _>>(&finished.stdout.bytes).map_err(failed)
    }
}

fn failed(reason: impl std::fmt::Display) -> DriverError {
    DriverError::NoSandbox {
        reason: reason.to_string(),
        fix: String::from("correct that, then run the command again"),
    }
}

/// A folder in orange's home; removed at the end.
struct TargetFolder(PathBuf);

impl TargetFolder {
    fn create(attempts: &Path) -> Result<Self, DriverError> {
        let folder = attempts.join(std::process::id().to_string());
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self(folder))
    }

    /// A new folder in it.
    fn path(&self, name: &str) -> Result<PathBuf, DriverError> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(path)
    }
}

impl Drop for TargetFolder {
    fn drop(&mut self) {
        // Only this process has written there.
        let _left = fs::remove_dir_all(&self.0);
        // Another one may run at the same time.
        let _used = self.0.parent().map(fs::remove_dir);
    }
}
