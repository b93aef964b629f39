//! What the processes around a sandboxed agent say to each other.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use orange_config::ORANGE_HOME;
use serde::{Deserialize, Serialize};

use super::partial::{Confinement, private_variables};
use crate::run::RawText;
use crate::sandbox::description::{Description, Limits, Mount};
use crate::sandbox::network::Bridge;

/// The variable that has the plan of a program without an agent; the program itself does not get it.
pub(super) const PLAN_VARIABLE: &str = "ORANGE_SANDBOX_PLAN";

/// What the processes inside need to start the agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) orange: RawText,
    pub(super) program: RawText,
    pub(super) arguments: Vec<RawText>,
    pub(super) environment: Vec<(RawText, RawText)>,
    pub(super) directory: RawText,
    pub(super) limits: Limits,
    /// Folders in which the agent may create and remove files.
    pub(super) writable: Vec<RawText>,
    /// Whether the agent's process group gets the terminal.
    pub(super) takes_terminal: bool,
    /// The ports to open before the agent starts.
    pub(super) bridges: Vec<Bridge>,
    /// What Landlock allows at the partial level; without it, the mounts decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) confinement: Option<Confinement>,
}

/// What `sandbox-init` sends to the agent's last step.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Go {
    /// More variables for the agent.
    pub(super) variables: BTreeMap<String, String>,
    /// What Landlock allows at the partial level, complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) confinement: Option<Confinement>,
}

impl Plan {
    /// A plan for a program that does not get the terminal. orange's home is not visible inside, so
    /// its variable is left out.
    pub(super) fn new(
        description: &Description,
        program: &OsStr,
        arguments: &[RawText],
        environment: &BTreeMap<OsString, OsString>,
        directory: &Path,
    ) -> Self {
        let variables = visible_variables(description, environment);
        let variables = variables.filter(|(name, _)| *name != ORANGE_HOME);
        let variables = variables.map(|(name, value)| (name.clone(), value.clone()));
        let variables: BTreeMap<OsString, OsString> = variables.collect();
        let variables = match description.bwrap {
            Some(_) => variables,
            None => private_variables(description, variables),
        };
        Plan {
            orange: description.orange.clone(),
            program: program.into(),
            arguments: arguments.to_vec(),
            environment: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: directory.into(),
            limits: description.limits,
            writable: writable_folders(description),
            takes_terminal: false,
            bridges: Vec::new(),
            confinement: Confinement::of(description),
        }
    }

    /// These variables replace earlier ones of the same name.
    pub(super) fn add_variables(&mut self, more: &BTreeMap<String, String>) {
        let more = more.iter();
        let more = more.map(|(name, value)| (RawText::from(name), RawText::from(value)));
        self.environment.extend(more);
    }

    pub(super) fn variables(&self) -> BTreeMap<OsString, OsString> {
        let pairs = self.environment.iter();
        pairs
            .map(|(name, value)| (name.0.clone(), value.0.clone()))
            .collect()
    }
}

/// What a sandbox does not hide of an environment.
pub(super) fn visible_variables<'a>(
    description: &'a Description,
    environment: &'a BTreeMap<OsString, OsString>,
) -> impl Iterator<Item = (&'a OsString, &'a OsString)> {
    let is_hidden = |name: &OsString| description.hidden_variables.iter().any(|it| *name == **it);
    environment.iter().filter(move |(name, _)| !is_hidden(name))
}

/// The code for a status; a signal becomes a code, as in a shell.
pub(super) fn code_of(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Where the agent may create files.
fn writable_folders(description: &Description) -> Vec<RawText> {
    let mounts = description.mounts.iter();
    let mounts = mounts.filter_map(|mount| match mount {
        Mount::Writable { path }
        | Mount::Repository { path }
        | Mount::Temporary { path, .. }
        | Mount::Other {
            path,
            is_read_only: false,
            ..
        } => Some(path.clone()),
        Mount::ReadOnly { .. } | Mount::Other { .. } | Mount::Link { .. } => None,
    });
    mounts.chain([RawText::from("/dev/shm")]).collect()
}

/// What `sandbox-init` reports, once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The agent's wait status, as the system gives it.
    Ended(i32),
    /// The agent was not started.
    NotStarted(StartFailure),
}

/// Why the agent was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartFailure {
    /// Whether its program does not exist.
    pub(super) is_missing: bool,
    pub(super) message: String,
}

/// A request to `sandbox-init`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// Send this signal to the agent's process group.
    Signal(i32),
}
