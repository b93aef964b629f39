//! The settings of the sandbox around agents.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::HostPort;

/// The sandbox around agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    pub network: NetworkMode,
    /// What an agent reaches with `NetworkMode::List`, besides the hosts of its harness.
    pub hosts: Vec<HostPort>,
    /// What the user lets an agent read.
    pub read: Vec<PathBuf>,
    /// What every agent may read in addition to the system and its worktree.
    pub toolchains: Vec<PathBuf>,
}

impl SandboxSettings {
    pub fn readable(&self) -> Vec<PathBuf> {
        [self.toolchains.as_slice(), &self.read].concat()
    }
}

/// Whether agents run in a sandbox.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Only the user can decide this.
    Off,
    /// The best one that this machine can make.
    #[default]
    Auto,
    /// Only a full one.
    Required,
}

impl SandboxMode {
    pub fn word(self) -> &'static str {
        match self {
            SandboxMode::Off => "off",
            SandboxMode::Auto => "auto",
            SandboxMode::Required => "required",
        }
    }
}

/// What an agent in a sandbox reaches over the network.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    #[default]
    Open,
    /// The hosts of its harness and those that the user lists.
    List,
    /// The hosts of its harness.
    None,
}

impl NetworkMode {
    pub fn word(self) -> &'static str {
        match self {
            NetworkMode::Open => "open",
            NetworkMode::List => "list",
            NetworkMode::None => "none",
        }
    }
}
