//! Explains the sandbox of a task's agent.

use std::path::{Path, PathBuf};

use orange_config::{HostPort, NetworkMode, SandboxMode};
use orange_effects::run::RawText;
use orange_effects::sandbox::{
    Capabilities, Description, Level, Mount, Network, machine_arguments, seatbelt_profile,
};
use orange_engine::Task;
use orange_engine::names::{HarnessName, RunId, TaskId};
use orange_engine::role::Role;
use orange_store::{RunRecord, Store};
use serde::Serialize;

use super::agent::{RunPlaces, SandboxedAgent};
use crate::DriverError;
use crate::context::run_sandbox::RunSandbox;
use crate::steps::pinned_workflow;
use crate::workspaces::Workspaces;
use crate::workspaces::private_repository::{WITHOUT_NAMESPACES, repository_parts};

/// The sandbox of a task's agent, or why it has none.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SandboxExplanation {
    pub task: TaskId,
    /// The live run whose sandbox this is; absent for what the next worker gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub role: Role,
    pub harness: HarnessName,
    /// The setting as it is now.
    pub mode: SandboxMode,
    pub level: Level,
    /// Whether the task's workflow needs a sandbox, whatever the setting is.
    pub is_needed: bool,
    /// What this machine lacks, the most important first.
    pub gaps: Vec<SandboxGap>,
    /// What the agent sees; absent without a sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<SandboxInside>,
}

/// Something that this machine lacks for a sandbox.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SandboxGap {
    pub reason: String,
    pub fix: String,
}

/// What an agent in a sandbox sees, reaches and keeps.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SandboxInside {
    pub network: NetworkMode,
    /// What it reaches, unless the network is open.
    pub hosts: Vec<HostPort>,
    /// Whether the network is limited because the task has text that anyone may have written.
    pub has_outside_text: bool,
    /// The variable with the login that stays outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_outside: Option<String>,
    /// Why the agent shares your repository; absent if it has a private one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_repository: Option<String>,
    /// Where its home is outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
    /// Files of your home that it has copies of.
    pub copies: Vec<PathBuf>,
    /// What it reads and writes, at the same path as outside.
    pub writes: Vec<PathBuf>,
    pub reads: Vec<PathBuf>,
    /// What `sandbox.read` lists, and what it does not see anyway: it does not exist, or would show
    /// your home directory or orange's.
    pub not_shown: Vec<PathBuf>,
    /// Variables that it does not get.
    pub hidden_variables: Vec<String>,
    /// How many processes it may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u64>,
    /// How large a file may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<u64>,
    /// How much it may write to `/tmp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_temporary_bytes: Option<u64>,
    /// The arguments of bwrap, without those of the run; empty at the partial level.
    pub bwrap: Vec<String>,
}

impl Workspaces {
    /// The sandbox of the live agent of a task, or else that of its next worker. Changes nothing.
    pub fn explain_sandbox(&self, task: &TaskId) -> Result<SandboxExplanation, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let stored = store.require(task)?;
        let task = &stored.task;
        let live = live_run(&store, task)?;
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?;
        let settings = self.context.settings(Some(project))?.sandbox;
        let capabilities = self.context.capabilities();
        let explanation = SandboxExplanation {
            task: task.id.clone(),
            run: live.as_ref().map(|run| run.id.clone()),
            role: live.as_ref().map_or(Role::Worker, |run| run.role.clone()),
            harness: live.map_or_else(|| task.harness.clone(), |run| run.harness),
            mode: settings.mode,
            level: Level::None,
            is_needed: pinned_workflow(&stored)?.sandbox.is_some(),
            gaps: gaps_of(&capabilities),
            inside: None,
        };
        let sandbox = match &explanation.run {
            Some(run) => {
                RunSandbox::load(&self.context.run_directory(&task.project, &task.id, run)?)
            }
            None if settings.mode == SandboxMode::Off => None,
            None if !is_possible(settings.mode, capabilities.level) => None,
            None => Some(self.next_sandbox(&store, task, capabilities.startable_bwrap())?),
        };
        let Some(sandbox) = sandbox else {
            return Ok(explanation);
        };
        Ok(SandboxExplanation {
            level: sandbox.level,
            inside: Some(SandboxInside {
                not_shown: not_shown(&settings.read, &sandbox.description),
                ..inside(&sandbox, self.has_outside_text(task)?)
            }),
            ..explanation
        })
    }

    /// The sandbox of the next worker of a task as a profile for macOS. Changes nothing.
    pub fn seatbelt_profile(&self, task: &TaskId) -> Result<String, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let stored = store.require(task)?;
        let sandbox = self.next_sandbox(&store, &stored.task, None)?;
        let profile = seatbelt_profile(&sandbox.description);
        profile.map_err(|error| DriverError::NoSandbox {
            reason: error.to_string(),
            fix: String::from("rename it"),
        })
    }

    /// What the next worker of a task would get.
    fn next_sandbox(
        &self,
        store: &Store,
        task: &Task,
        bwrap: Option<&Path>,
    ) -> Result<RunSandbox, DriverError> {
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?;
        let environment = self.context.with_orange_on_path();
        let harnesses = self.context.harnesses()?;
        let mut places = RunPlaces::default();
        let mut shared_repository = None;
        if let Some(workspace) = store.workspace_of(&task.id)? {
            let git = self.open_repository(project)?;
            let worktree = git.worktree(&workspace.path)?;
            let uncovered = worktree.uncovered_by_private(&task.branch)?;
            if bwrap.is_none() {
                shared_repository = Some(WITHOUT_NAMESPACES.to_owned());
                places.repository = repository_parts(&git, &worktree);
            } else if !uncovered.is_empty() {
                let reasons: Vec<String> = uncovered.iter().map(ToString::to_string).collect();
                shared_repository = Some(reasons.join(", "));
                places.writable.push(git.shared_directory().to_owned());
            }
            places.writable.push(workspace.path.clone());
            places.worktree = Some(workspace.path);
        }
        let agent = SandboxedAgent {
            task,
            harness: harnesses.require(&task.harness)?,
            environment: &environment,
            bwrap,
            settings: self.context.settings(Some(project))?.sandbox,
        };
        let description = self.describe_agent(agent, places)?;
        Ok(RunSandbox {
            level: description.level(),
            shared_repository,
            description,
        })
    }
}

/// Whether the settings accept what this machine can make.
fn is_possible(mode: SandboxMode, level: Level) -> bool {
    match level {
        Level::None => false,
        Level::Partial => mode != SandboxMode::Required,
        Level::Full => true,
    }
}

/// The run of a task that is alive; of several, the one that was planned last.
pub(super) fn live_run(store: &Store, task: &Task) -> Result<Option<RunRecord>, DriverError> {
    let is_live = |run: &RunRecord| {
        let mut runs = task.runs.values();
        runs.any(|it| it.id == run.id && !it.state.has_ended())
    };
    Ok(store.runs(&task.id)?.into_iter().rfind(is_live))
}

pub(super) fn gaps_of(capabilities: &Capabilities) -> Vec<SandboxGap> {
    let gaps = capabilities.gaps.iter().map(|gap| SandboxGap {
        reason: gap.reason.clone(),
        fix: gap.fix.clone(),
    });
    gaps.collect()
}

fn inside(sandbox: &RunSandbox, has_outside_text: bool) -> SandboxInside {
    let description = &sandbox.description;
    let (network, hosts) = match &description.network {
        Network::Open => (NetworkMode::Open, Vec::new()),
        Network::List(hosts) if !hosts.is_empty() => (NetworkMode::List, hosts.clone()),
        Network::List(_) | Network::None => (NetworkMode::None, Vec::new()),
    };
    let home = Path::new(description.user_home.as_os_str());
    let path = |text: &RawText| PathBuf::from(text.as_os_str());
    let mounts = description.mounts.iter();
    let reads = mounts.clone().filter_map(|mount| match mount {
        Mount::ReadOnly { path: shown } => Some(path(shown)),
        _ => None,
    });
    let writes = mounts.filter_map(|mount| match mount {
        Mount::Writable { path: shown } | Mount::Repository { path: shown } => Some(path(shown)),
        _ => None,
    });
    SandboxInside {
        network,
        hosts,
        has_outside_text,
        login_outside: description.login.as_ref().map(|it| it.variable.clone()),
        shared_repository: sandbox.shared_repository.clone(),
        home: sandbox.private_home().map(Path::to_owned),
        copies: description
            .copies
            .iter()
            .map(|it| home.join(path(it)))
            .collect(),
        writes: writes.collect(),
        reads: reads.collect(),
        not_shown: Vec::new(),
        hidden_variables: description.hidden_variables.clone(),
        max_processes: description.limits.processes,
        max_file_bytes: description.limits.file_bytes,
        max_temporary_bytes: description.max_temporary_bytes(),
        bwrap: bwrap_words(description),
    }
}

fn not_shown(listed: &[PathBuf], description: &Description) -> Vec<PathBuf> {
    let is_hidden = |path: &&PathBuf| !path.exists() || !description.shows(path);
    listed.iter().filter(is_hidden).cloned().collect()
}

fn bwrap_words(description: &Description) -> Vec<String> {
    let Some(program) = &description.bwrap else {
        return Vec::new();
    };
    let program = program.as_os_str().to_owned();
    let words = [program].into_iter().chain(machine_arguments(description));
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
