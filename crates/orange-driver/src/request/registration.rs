//! Says what the workers of a newly registered project may do.

use std::fmt;

use orange_config::{Harness, Project, SandboxMode};
use orange_engine::Task;
use orange_engine::Workflow;
use orange_engine::language::workflow::Permissions;
use orange_engine::names::{HarnessName, ProjectName, TaskId};
use orange_engine::role::Role;

use crate::DriverError;
use crate::request::Requests;
use crate::steps::pinned_workflow;

/// A project that was registered for a task.
#[derive(Debug)]
pub struct Registration {
    pub project: Project,
    /// The coding agent of the task.
    pub harness: HarnessName,
    /// What its workers may do, unless that cannot be read.
    pub permissions: Option<WorkerPermissions>,
}

/// What the workers of a project may do without asking; displayed as one sentence that says how to
/// change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerPermissions {
    project: ProjectName,
    workflow: String,
    harness: HarnessName,
    level: WorkerLevel,
    /// The task for which the project was registered, if its agents run in a sandbox.
    sandboxed: Option<TaskId>,
    /// Why none of them can start yet.
    obstacle: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerLevel {
    Full,
    Reduced,
    /// The harness starts its agent in the same way at every level.
    Unrestricted,
}

impl Requests {
    pub(crate) fn registration(&self, project: Project, task: &Task) -> Registration {
        let permissions = self.worker_permissions(&project, task).ok();
        Registration {
            project,
            harness: task.harness.clone(),
            permissions,
        }
    }

    fn worker_permissions(
        &self,
        project: &Project,
        task: &Task,
    ) -> Result<WorkerPermissions, DriverError> {
        let workflow = pinned_workflow(&self.context.store()?.require(&task.id)?)?;
        let harnesses = self.context.harnesses()?;
        let harness = harnesses.require(&task.harness)?;
        let mode = self.context.settings(Some(project))?.sandbox.mode;
        let sandbox = self.context.choose_sandbox(Some(project));
        Ok(WorkerPermissions {
            project: project.name.clone(),
            workflow: task.workflow.to_string(),
            harness: task.harness.clone(),
            level: level(&workflow, harness),
            sandboxed: (mode != SandboxMode::Off).then(|| task.id.clone()),
            obstacle: sandbox.err().map(|error| error.to_string()),
        })
    }
}

fn level(workflow: &Workflow, harness: &Harness) -> WorkerLevel {
    if !harness.can_be_restricted() {
        return WorkerLevel::Unrestricted;
    }
    let starts = workflow.every_hook().filter_map(|it| it.action.spawn());
    let starts = starts.filter(|it| it.role != Role::Reviewer);
    let restarts = workflow.states.iter().flat_map(|it| &it.respawn);
    let restarts = restarts.filter(|(role, _)| **role != Role::Reviewer);
    let mut levels = starts
        .map(|it| it.permissions)
        .chain(restarts.map(|(_, it)| it.permissions));
    if levels.any(|it| it == Permissions::Full) {
        WorkerLevel::Full
    } else {
        WorkerLevel::Reduced
    }
}

impl fmt::Display for WorkerPermissions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkerPermissions {
            project,
            workflow,
            harness,
            level,
            sandboxed,
            obstacle,
        } = self;
        if let Some(obstacle) = obstacle {
            return write!(formatter, "its agents cannot start yet: {obstacle}");
        }
        if let (WorkerLevel::Full | WorkerLevel::Unrestricted, Some(task)) = (level, sandboxed) {
            return write!(
                formatter,
                "its workers run commands without asking, in a sandbox that hides your home \
                 directory; `orange sandbox explain {task}` shows what they see and reach"
            );
        }
        match level {
            WorkerLevel::Full => write!(
                formatter,
                "its workers run commands with your user's full permissions and do not ask; to \
                 make `{harness}` ask, write `permissions: reduced` in a workflow of your own \
                 (`orange workflow new --help`) and select it with `orange project update \
                 {project} --workflow NAME`"
            ),
            WorkerLevel::Reduced => write!(
                formatter,
                "its workers have reduced permissions, so that `{harness}` asks before most \
                 commands; `permissions` in the workflow `{workflow}` says so"
            ),
            WorkerLevel::Unrestricted => write!(
                formatter,
                "`{harness}` knows no reduced permissions, so its agents run commands with your \
                 user's full permissions and orange cannot make them ask; `orange project update \
                 {project} --harness NAME` selects another agent"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use orange_engine::language::load;
    use orange_engine::shipped_workflows;

    use super::*;

    fn harness(reduced: &str) -> Harness {
        let text = format!("name = \"a\"\nbinary = \"a\"\n[args]\nfull = [\"-x\"]\n{reduced}");
        Harness::parse("a.toml", &text).unwrap()
    }

    #[test]
    fn a_worker_has_full_permissions_if_any_start_or_restart_has() {
        let restricted = harness("reduced = [\"--ask\"]");
        for shipped in shipped_workflows::ALL {
            let workflow = load(shipped.source).workflow.unwrap();
            let name = shipped.name;
            assert_eq!(level(&workflow, &restricted), WorkerLevel::Full, "{name}");
        }
        let session = shipped_workflows::find("session").unwrap().source;
        let reduced = session.replace("permissions: full", "permissions: reduced");
        let workflow = load(&reduced).workflow.unwrap();
        assert_eq!(level(&workflow, &restricted), WorkerLevel::Reduced);
        let restart = reduced.replacen("permissions: reduced", "permissions: full", 1);
        let workflow = load(&restart).workflow.unwrap();
        assert_eq!(level(&workflow, &restricted), WorkerLevel::Full);
    }

    #[test]
    fn an_agent_that_starts_alike_at_every_level_cannot_be_restricted() {
        let workflow = load(shipped_workflows::ALL[0].source).workflow.unwrap();
        for unrestricted in ["", "reduced = [\"-x\"]"] {
            let harness = harness(unrestricted);
            assert_eq!(level(&workflow, &harness), WorkerLevel::Unrestricted);
        }
    }
}
