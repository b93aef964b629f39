//! Describes the sandbox of an agent from the settings and its harness.

use std::path::{Path, PathBuf};

use orange_config::{Environment, Harness, SandboxSettings};
use orange_effects::sandbox::{DescribeRequest, Description, InjectedLogin, Mount, describe};
use orange_engine::Task;
use orange_store::TaskDirectory;

use crate::DriverError;
use crate::context::ids;
use crate::workspaces::Workspaces;

/// An agent, and what decides about its sandbox.
pub(crate) struct SandboxedAgent<'a> {
    pub(crate) task: &'a Task,
    pub(crate) harness: &'a Harness,
    /// The environment that the agent's variables come from.
    pub(crate) environment: &'a Environment,
    /// `None` at the partial level.
    pub(crate) bwrap: Option<&'a Path>,
    pub(crate) settings: SandboxSettings,
}

/// What one run of an agent has besides what every run of its task has.
#[derive(Default)]
pub(crate) struct RunPlaces {
    pub(crate) worktree: Option<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    /// Files of orange.
    pub(crate) own: Vec<PathBuf>,
    /// What will exist when the agent starts.
    pub(crate) given: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) repository: Vec<Mount>,
    /// Where temporary files go at the partial level.
    pub(crate) temporary: Option<PathBuf>,
}

impl Workspaces {
    pub(crate) fn describe_agent(
        &self,
        agent: SandboxedAgent<'_>,
        places: RunPlaces,
    ) -> Result<Description, DriverError> {
        let SandboxedAgent {
            task,
            harness,
            environment,
            bwrap,
            settings,
        } = agent;
        let user_home = environment.home.as_deref();
        let user_home = user_home.ok_or_else(DriverError::home_not_set)?;
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id)?;
        let private_home = directory.path().join(format!("home.{}", harness.name));
        let path = environment.variable("PATH");
        let network = self.network_of(task, &settings, &harness.sandbox.hosts)?;
        let mut read = settings.readable();
        read.extend(harness.sandbox.read(environment));
        read.extend(places.read);
        // What prompts and messages name.
        let mut own = vec![directory.issue_file(), directory.feedback()];
        own.push(self.context.home.skills());
        own.extend(places.own);
        Ok(describe(&DescribeRequest {
            bwrap,
            orange: &self.context.orange,
            user_home,
            orange_home: self.context.home.path(),
            private_home: Some(&private_home),
            temporary: places.temporary.as_deref(),
            program: &harness.locate(path)?,
            path,
            read,
            own,
            given: places.given,
            copy: harness.sandbox.copy(environment),
            share: harness.sandbox.share(environment),
            writable: places.writable,
            worktree: places.worktree.as_deref(),
            others: places.repository,
            network,
            login: injected_login(harness, environment)?,
        })?)
    }
}

/// The first login of a harness that the agent would get in a variable.
fn injected_login(
    harness: &Harness,
    environment: &Environment,
) -> Result<Option<InjectedLogin>, DriverError> {
    let Some(login) = harness.sandbox.login_of(environment) else {
        return Ok(None);
    };
    let service = environment.variable(&login.address);
    let service = service
        .and_then(|it| it.to_str())
        .filter(|it| !it.is_empty());
    Ok(Some(InjectedLogin {
        variable: login.variable.clone(),
        inside: login
            .inside
            .clone()
            .unwrap_or_else(|| login.variable.clone()),
        placeholder: format!("orange-{}", ids::secret()?),
        header: login.header.clone(),
        prefix: login.prefix.clone(),
        address: login.address.clone(),
        service: service.unwrap_or(&login.service).to_owned(),
        paths: login.paths.clone(),
    }))
}
