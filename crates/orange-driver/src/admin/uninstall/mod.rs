//! Removes orange from a machine: first the plan, then the work.
//!
//! Everything here can be interrupted and repeated. Work is saved before the worktree that holds it
//! is removed, files that you may want are moved, and the home loses only what orange itself put
//! there.

mod carry_out;
mod export;
mod repositories;

use std::collections::BTreeSet;
use std::path::PathBuf;

use orange_config::Project;
use orange_effects::git::Git;
use orange_effects::skill_file::{self, SkillState};
use orange_engine::names::{BranchName, ProjectName, TaskId};
use orange_engine::role::Role;
use orange_store::{Store, StoreError, TaskFilter, WorkspaceState};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;
use crate::admin::skills::SkillAction;

/// What `orange uninstall` will stop, remove and keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UninstallPlan {
    /// The directory to remove.
    pub home: PathBuf,
    /// Where your own files from it are moved: tasks, workflows, settings, ignored files.
    pub export: PathBuf,
    /// Whether a supervisor is running; it will be stopped.
    pub supervisor: bool,
    /// Whether the tmux server of orange is running; it will be stopped.
    pub tmux_server: bool,
    /// Agents that are running and will be stopped.
    pub agents: Vec<LiveAgent>,
    /// Worktrees to remove; their uncommitted work is saved first.
    pub worktrees: Vec<WorktreeToRemove>,
    /// Lines to remove from `.git/info/exclude`.
    pub excludes: Vec<ExcludedLines>,
    /// Skills to remove.
    pub skills: Vec<PathBuf>,
    /// Branches of tasks with commits that the default branch lacks; they stay.
    pub kept_branches: Vec<KeptBranch>,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// An agent that is running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct LiveAgent {
    /// Its task.
    pub task: TaskId,
    /// Its role.
    pub role: Role,
}

/// A worktree to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct WorktreeToRemove {
    /// Its directory.
    pub path: PathBuf,
    /// The task that has it.
    pub task: Option<TaskId>,
    /// How many files in it are not committed.
    pub uncommitted: usize,
}

/// The lines of orange in a repository's list of ignored files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ExcludedLines {
    /// The repository.
    pub repository: PathBuf,
    /// The lines.
    pub lines: Vec<String>,
}

/// A branch that stays in its repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct KeptBranch {
    /// The repository.
    pub repository: PathBuf,
    /// The branch.
    pub branch: BranchName,
    /// How many commits the default branch lacks.
    pub commits: u64,
}

/// What `orange uninstall` did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UninstallReport {
    /// Whether nothing of the home is left.
    pub is_removed: bool,
    /// Where your own files are now, if there were any.
    pub export: Option<PathBuf>,
    /// Branches that were created for uncommitted work.
    pub saved_branches: Vec<KeptBranch>,
    /// What is left in the home, because orange did not put it there.
    pub left: Vec<PathBuf>,
    /// What could not be removed; the home stays until this is solved.
    pub problems: Vec<String>,
}

impl Admin {
    /// Lists what `uninstall` would do; changes nothing.
    pub fn plan_uninstall(&self) -> Result<UninstallPlan, DriverError> {
        self.callers.require_user("uninstall orange")?;
        let home = &self.context.home;
        let mut plan = UninstallPlan {
            home: home.path().to_owned(),
            export: export::folder(home),
            supervisor: self.context.is_supervised(),
            tmux_server: self.context.tmux.list().is_ok(),
            agents: Vec::new(),
            worktrees: Vec::new(),
            excludes: Vec::new(),
            skills: self.own_skills()?,
            kept_branches: Vec::new(),
            problems: Vec::new(),
        };
        let store = match Store::open_read_only(home) {
            Ok(store) => store,
            Err(StoreError::Missing { .. } | StoreError::DatabaseLost { .. }) => return Ok(plan),
            Err(error) => return Err(error.into()),
        };
        for summary in store.list(&TaskFilter::default())?.tasks {
            for run in store.runs(&summary.task.id)? {
                if run.ended_at.is_none() && run.place.is_some() {
                    plan.agents.push(LiveAgent {
                        task: run.task,
                        role: run.role,
                    });
                }
            }
        }
        for project in self.context.projects()?.projects {
            if let Err(error) = self.plan_project(&store, &project, &mut plan) {
                let name = &project.name;
                plan.problems.push(format!("project `{name}`: {error}"));
            }
        }
        Ok(plan)
    }

    fn plan_project(
        &self,
        store: &Store,
        project: &Project,
        plan: &mut UninstallPlan,
    ) -> Result<(), DriverError> {
        let git = self.workspaces.open_repository(project)?;
        for record in store.workspaces(&project.name)? {
            let task = match record.state {
                WorkspaceState::Bound(task) | WorkspaceState::Reserved(task) => Some(task),
                WorkspaceState::Free | WorkspaceState::Retired => None,
            };
            if !record.path.exists() {
                continue;
            }
            let condition = git.worktree(&record.path).and_then(|it| it.condition());
            plan.worktrees.push(WorktreeToRemove {
                path: record.path,
                task,
                uncommitted: condition.map_or(0, |it| it.changes.len()),
            });
        }
        let lines = git.added_excludes()?;
        if !lines.is_empty() {
            plan.excludes.push(ExcludedLines {
                repository: project.path.clone(),
                lines,
            });
        }
        for branch in task_branches(store, &project.name)? {
            if let Some(kept) = kept_branch(&git, project, branch)? {
                plan.kept_branches.push(kept);
            }
        }
        Ok(())
    }

    /// The skills that orange has written and that were not changed since.
    fn own_skills(&self) -> Result<Vec<PathBuf>, DriverError> {
        let folders = match self.skill_folders(None, SkillAction::Remove) {
            Err(DriverError::NoSkills(_)) => Vec::new(),
            folders => folders?,
        };
        let own = folders
            .into_iter()
            .filter(|(_, skills)| matches!(skill_file::inspect(skills), Ok(SkillState::Own(_))));
        Ok(own.map(|(_, skills)| skill_file::path(&skills)).collect())
    }
}

/// The branches of a project's tasks, each once: a task can take over the branch of an ended one.
fn task_branches(
    store: &Store,
    project: &ProjectName,
) -> Result<BTreeSet<BranchName>, DriverError> {
    let filter = TaskFilter {
        project: Some(project.clone()),
        status: None,
    };
    let tasks = store.list(&filter)?.tasks.into_iter();
    Ok(tasks.map(|it| it.task.branch).collect())
}

/// A branch, if it has commits that the default branch lacks.
fn kept_branch(
    git: &Git,
    project: &Project,
    branch: BranchName,
) -> Result<Option<KeptBranch>, DriverError> {
    let commits = git.unmerged_commits(&branch, &project.default_branch)?;
    let kept = |commits| KeptBranch {
        repository: project.path.clone(),
        branch,
        commits,
    };
    Ok(commits.filter(|it| *it > 0).map(kept))
}
