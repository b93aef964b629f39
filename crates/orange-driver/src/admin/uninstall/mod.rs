//! Removes orange from a machine: first the plan, then the work.
//!
//! Everything here can be interrupted and repeated. Work is saved before the worktree that holds it
//! is removed, files that you may want are moved, and the home loses only what orange itself put
//! there.

mod carry_out;
mod export;
mod program;
mod repositories;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orange_config::Project;
use orange_effects::git::{Git, GitError};
use orange_effects::skill_file::{self, SkillState};
use orange_engine::names::{BranchName, ProjectName, TaskId};
use orange_engine::role::Role;
use orange_store::{PendingProgress, Store, StoreError, TaskFilter, WorkspaceState};
use serde::Serialize;

use self::program::InstalledFiles;
use crate::DriverError;
use crate::admin::Admin;
use crate::admin::skills::SkillAction;
use crate::admin::worktree_repository::open_worktree;
use crate::perform::abandoned_merge::begun_merge;
use crate::workspaces::Workspaces;
use crate::workspaces::kept::KeptWorktree;

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
    /// Tasks whose merge was interrupted; it is finished or undone first.
    pub merges: Vec<TaskId>,
    /// Worktrees to remove; their uncommitted work is saved first.
    pub worktrees: Vec<WorktreeToRemove>,
    /// Worktrees that hold something that cannot be saved, or that cannot be read; they stay, and
    /// so does the home.
    pub kept_worktrees: Vec<KeptWorktree>,
    /// Worktrees whose repository is gone; they are moved with your own files.
    pub moved_worktrees: Vec<PathBuf>,
    /// Lines to remove from `.git/info/exclude`.
    pub excludes: Vec<ExcludedLines>,
    /// Heads of pull requests to remove; they were fetched from the remote.
    pub pull_requests: Vec<FetchedPullRequests>,
    /// Skills to remove.
    pub skills: Vec<PathBuf>,
    /// Settings of agents, from which the MCP server is removed.
    pub mcp_servers: Vec<PathBuf>,
    /// The files of the program, if the install script put them there; they are removed last.
    pub program: Vec<PathBuf>,
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

/// The heads of pull requests that orange fetched, under `refs/orange/pull-requests`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FetchedPullRequests {
    /// The repository.
    pub repository: PathBuf,
    /// The numbers of the pull requests.
    pub numbers: Vec<u64>,
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
    /// Where the git directories of submodules are that may have commits of their own.
    pub kept_submodules: Vec<PathBuf>,
    /// What is left in the home, because orange did not put it there.
    pub left: Vec<PathBuf>,
    /// What could not be removed; the home stays until this is solved.
    pub problems: Vec<String>,
    /// Files of the program that could not be removed.
    pub program_problems: Vec<String>,
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
            merges: Vec::new(),
            worktrees: Vec::new(),
            kept_worktrees: Vec::new(),
            moved_worktrees: Vec::new(),
            excludes: Vec::new(),
            pull_requests: Vec::new(),
            skills: self.own_skills()?,
            mcp_servers: self.own_mcp_servers()?,
            program: self.installed_files().files().to_vec(),
            kept_branches: Vec::new(),
            problems: Vec::new(),
        };
        let store = match Store::open_read_only(home) {
            Ok(store) => store,
            Err(StoreError::Missing { .. } | StoreError::DatabaseLost { .. }) => {
                self.plan_leftovers(&mut plan);
                return Ok(plan);
            }
            Err(error) => return Err(error.into()),
        };
        for summary in store.list(&TaskFilter::default())?.tasks {
            let merge = begun_merge(&store, &summary.task.id)?;
            if merge.is_some_and(|it| it.mark != PendingProgress::Failed) {
                plan.merges.push(summary.task.id.clone());
            }
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
        self.plan_leftovers(&mut plan);
        Ok(plan)
    }

    fn installed_files(&self) -> InstalledFiles {
        InstalledFiles::of_program(&self.context.orange).unwrap_or_default()
    }

    fn plan_project(
        &self,
        store: &Store,
        project: &Project,
        plan: &mut UninstallPlan,
    ) -> Result<(), DriverError> {
        let mut records = store.workspaces(&project.name)?;
        records.retain(|it| it.path.exists());
        let git = match open_repository(&self.workspaces, project) {
            Ok(Some(git)) => git,
            // `plan_leftovers` finds the worktrees of a repository that is gone.
            Ok(None) => return Ok(()),
            Err(reason) => {
                let kept = records.into_iter().map(|it| KeptWorktree {
                    path: it.path,
                    reasons: vec![reason.clone()],
                });
                plan.kept_worktrees.extend(kept);
                plan.problems.push(reason);
                return Ok(());
            }
        };
        for record in records {
            let is_released = record.state != WorkspaceState::Free;
            plan_worktree(plan, &git, record.path, is_released);
        }
        // Another home that has worktrees there needs the lines and the refs.
        if !git.has_workspaces_outside(self.context.home.path())? {
            let repository = &project.path;
            let lines = git.added_excludes()?;
            if !lines.is_empty() {
                plan.excludes.push(ExcludedLines {
                    repository: repository.clone(),
                    lines,
                });
            }
            let numbers = git.fetched_pull_requests()?;
            if !numbers.is_empty() {
                plan.pull_requests.push(FetchedPullRequests {
                    repository: repository.clone(),
                    numbers,
                });
            }
        }
        for branch in task_branches(store, &project.name)? {
            if let Some(kept) = kept_branch(&git, project, branch)? {
                plan.kept_branches.push(kept);
            }
        }
        Ok(())
    }

    /// Adds the worktrees that belong to no registered project, and those in which merges were
    /// verified.
    fn plan_leftovers(&self, plan: &mut UninstallPlan) {
        for path in export::worktrees(&self.context.home) {
            let worktrees = plan.worktrees.iter().map(|it| &it.path);
            let kept = plan.kept_worktrees.iter().map(|it| &it.path);
            let real = real_path(&path);
            if worktrees.chain(kept).any(|it| real_path(it) == real) {
                continue;
            }
            match open_worktree(&path, &self.context.environment) {
                Ok(Some(git)) => plan_worktree(plan, &git, path, false),
                Ok(None) => plan.moved_worktrees.push(path),
                Err(reason) => plan.kept_worktrees.push(KeptWorktree {
                    path,
                    reasons: vec![reason],
                }),
            }
        }
        for path in export::unhidden(&self.context.home.verification()) {
            match open_worktree(&path, &self.context.environment) {
                // It holds only what a merge would lead to.
                Ok(Some(_)) => plan.worktrees.push(WorktreeToRemove {
                    path,
                    task: None,
                    uncommitted: 0,
                }),
                Ok(None) => plan.moved_worktrees.push(path),
                Err(reason) => plan.kept_worktrees.push(KeptWorktree {
                    path,
                    reasons: vec![reason],
                }),
            }
        }
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

/// Adds a worktree to the plan, as one to remove or as one to keep, by the same rules as the
/// removal itself. With `is_released`, the removal saves the work in it first.
fn plan_worktree(plan: &mut UninstallPlan, git: &Git, path: PathBuf, is_released: bool) {
    let read = || -> Result<Result<WorktreeToRemove, Vec<String>>, GitError> {
        let worktree = git.worktree(&path)?;
        let marker = worktree.marker()?;
        let task = marker.and_then(|it| it.phase.task().cloned());
        let reasons: Vec<String> = if is_released && task.is_some() {
            let obstacles = worktree.release_obstacles()?;
            if obstacles.is_empty() {
                worktree.embedded_submodules()?
            } else {
                obstacles.iter().map(ToString::to_string).collect()
            }
        } else {
            worktree.unsaved_reason()?.into_iter().collect()
        };
        if !reasons.is_empty() {
            return Ok(Err(reasons));
        }
        Ok(Ok(WorktreeToRemove {
            path: path.clone(),
            task,
            uncommitted: worktree.condition()?.changes.len(),
        }))
    };
    let reasons = match read() {
        Ok(Ok(worktree)) => {
            plan.worktrees.push(worktree);
            return;
        }
        Ok(Err(reasons)) => reasons,
        Err(error) => vec![format!("what is uncommitted in it is unknown: {error}")],
    };
    plan.kept_worktrees.push(KeptWorktree { path, reasons });
}

/// The repository of a project; `None` if it is gone. The error says that it exists and could not
/// be opened.
fn open_repository(workspaces: &Workspaces, project: &Project) -> Result<Option<Git>, String> {
    match workspaces.open_repository(project) {
        Ok(git) => Ok(Some(git)),
        Err(DriverError::RepositoryMissing { .. }) => Ok(None),
        Err(error) => {
            let (name, path) = (&project.name, project.path.display());
            Err(format!(
                "the repository `{path}` of project `{name}` could not be opened: {error}"
            ))
        }
    }
}

/// A path without symbolic links, for comparisons: the home itself may be a link.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
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
