//! Rescued work: lists it and restores it.

use std::fs;
use std::path::{Path, PathBuf};

use orange_config::{Project, reason};
use orange_effects::git::{
    Git, Operation, Rescue, RestoreRefusal, RestoreResult, may_have_rescues,
};
use orange_engine::names::{BranchName, CommitId, ProjectName, TaskId};
use orange_engine::time::Timestamp;
use orange_store::{StoreError, WorkspaceState};
use serde::Serialize;

use super::list::is_unchanged;
use crate::DriverError;
use crate::workspaces::Workspaces;

/// Saved work of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RescueInfo {
    /// The task.
    pub task: TaskId,
    /// Its number within the task.
    pub number: u32,
    /// The ref that stores it.
    pub reference: String,
    /// The commit that contains it.
    pub commit: CommitId,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// The branch that was checked out.
    pub branch: Option<BranchName>,
    /// The commit that it is based on.
    pub head: Option<CommitId>,
    /// The operations that were in progress: `rebase`, `merge` …
    pub operations: Vec<Operation>,
    /// The commits below it that are on no branch: id and subject, the newest first.
    pub commits: Vec<String>,
    /// The commits of `branch`, up to `head`, that are on neither the task's branch nor the default
    /// branch: id and subject, the newest first.
    pub branch_commits: Vec<String>,
    /// The files that it changes; invalid UTF-8 is replaced.
    pub paths: Vec<String>,
    /// Whether it was restored into a worktree.
    pub is_restored: bool,
    /// The saved work that the same release saved just before it, and that it belongs to.
    pub earlier: Option<u32>,
}

impl RescueInfo {
    /// The latest work that was not restored since: all that its release saved, the oldest first.
    pub fn latest(rescues: &[Self]) -> Vec<&Self> {
        let mut latest = Vec::new();
        let mut next = rescues.iter().rfind(|it| !it.is_restored);
        while let Some(rescue) = next {
            latest.push(rescue);
            let number = rescue.earlier;
            next = rescues.iter().find(|it| Some(it.number) == number);
        }
        latest.reverse();
        latest.retain(|it| !it.is_restored);
        latest
    }

    /// The latest rescue on each branch that is not the task's and has commits of its own.
    pub fn other_branches(rescues: &[Self]) -> Vec<&Self> {
        let mut found: Vec<&Self> = Vec::new();
        for rescue in rescues.iter().rev() {
            let is_listed = found.iter().any(|it| it.branch == rescue.branch);
            if !rescue.branch_commits.is_empty() && !is_listed {
                found.push(rescue);
            }
        }
        found.reverse();
        found
    }

    /// Names the branch that is not the task's, and how to add its commits to the task's branch.
    pub fn describe_other_branch(&self) -> Option<String> {
        let (branch, head) = (self.branch.as_ref()?, self.head.as_ref()?);
        Some(other_branch_notice(branch, head, self.branch_commits.len()))
    }
}

/// The branches whose commits need no rescue.
struct Branches {
    /// The task's.
    own: BranchName,
    default: BranchName,
}

/// Where to restore a rescue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A new branch, with one commit on top of the commit that the rescue is based on.
    Branch(BranchName),
    /// A directory, which is created if missing.
    Directory(PathBuf),
    /// The task's own worktree.
    Worktree,
}

impl Workspaces {
    /// The rescues of a task, oldest first. The project matters only for a task that the store no
    /// longer knows.
    pub fn rescues_of(
        &self,
        task: &TaskId,
        project: Option<&ProjectName>,
    ) -> Result<Vec<RescueInfo>, DriverError> {
        let (project, branches) = self.project_of_task(task, project)?;
        if !may_have_rescues(&project.path, task) {
            return Ok(Vec::new());
        }
        let git = self.open_repository(&project)?;
        let rescues = git.rescues(task)?;
        let info = |it| rescue_info(&git, branches.as_ref(), &rescues, it);
        rescues.iter().map(info).collect()
    }

    /// Restores a rescue without overwriting anything; returns the files that it changes. The
    /// rescue is kept.
    pub fn restore(
        &self,
        task: &TaskId,
        project: Option<&ProjectName>,
        number: u32,
        to: &Destination,
    ) -> Result<Vec<String>, DriverError> {
        let (git, _) = self.repository_with(task, project)?;
        let rescued = git.require_rescue(task, number)?;
        let refused = |reason: String, paths: &[PathBuf]| DriverError::NotRestored {
            task: task.clone(),
            number,
            reason,
            paths: texts(paths),
        };
        let restored = match to {
            Destination::Branch(branch) => match git.restore_to_branch(&rescued, branch)? {
                Ok(_) => RestoreResult::Done {
                    paths: git.rescue_paths(&rescued)?,
                },
                Err(refusal) => RestoreResult::Refused(refusal),
            },
            Destination::Directory(directory) => {
                let directory = self.directory_at(directory)?;
                git.restore_to_folder(&rescued, &directory)?
            }
            Destination::Worktree => {
                let store = self.context.store()?;
                let workspace = store.workspace_of(task)?;
                let workspace = workspace.filter(|it| matches!(it.state, WorkspaceState::Bound(_)));
                let no_worktree = || refused(String::from("the task has no worktree now"), &[]);
                let workspace = workspace.ok_or_else(no_worktree)?;
                let _lock = self.context.lock_workspace(&workspace.name)?;
                // The previous holder of the lock may have given the worktree to another task.
                let worktree = git.worktree(&workspace.path)?;
                let marker = worktree.marker()?;
                let is_marked = marker.is_some_and(|it| it.phase.task() == Some(task));
                if !is_marked || !is_unchanged(&store, &workspace)? {
                    return Err(no_worktree());
                }
                let restored = worktree.restore(&rescued)?;
                if matches!(restored, RestoreResult::Done { .. }) {
                    git.mark_restored(&rescued)?;
                }
                restored
            }
        };
        match restored {
            RestoreResult::Done { paths } => Ok(texts(&paths)),
            RestoreResult::Refused(refusal) => {
                let paths: &[PathBuf] = match &refusal {
                    RestoreRefusal::FilesDiffer(paths) => paths,
                    RestoreRefusal::BranchExists(_) => &[],
                };
                Err(refused(refusal.to_string(), paths))
            }
        }
    }

    fn repository_with(
        &self,
        task: &TaskId,
        project: Option<&ProjectName>,
    ) -> Result<(Git, Option<Branches>), DriverError> {
        let (project, branches) = self.project_of_task(task, project)?;
        Ok((self.open_repository(&project)?, branches))
    }

    fn project_of_task(
        &self,
        task: &TaskId,
        project: Option<&ProjectName>,
    ) -> Result<(Project, Option<Branches>), DriverError> {
        let known = match self.context.read_store() {
            Ok(store) => match store.require(task) {
                Ok(stored) => Some(stored.task),
                // The repository may still have rescues of a task that the store has lost.
                Err(StoreError::UnknownTask { .. }) if project.is_some() => None,
                Err(error) => return Err(error.into()),
            },
            Err(StoreError::Missing { .. }) if project.is_some() => None,
            Err(error) => return Err(error.into()),
        };
        let known_project = known.as_ref().map(|it| &it.project);
        let project = self.callers.project_for(known_project.or(project))?;
        let branches = known.map(|it| Branches {
            own: it.branch,
            default: project.default_branch.clone(),
        });
        Ok((project, branches))
    }

    /// Creates a directory if needed, relative to the caller's directory.
    fn directory_at(&self, path: &Path) -> Result<PathBuf, DriverError> {
        let here = self.context.directory().unwrap_or(Path::new("/"));
        let directory = here.join(path);
        fs::create_dir_all(&directory).map_err(|error| DriverError::File {
            attempt: "create the directory",
            path: directory.clone(),
            reason: reason(&error),
        })?;
        Ok(directory)
    }
}

/// Says that commits are on a branch that is not the task's.
pub(super) fn other_branch_notice(branch: &BranchName, head: &CommitId, count: usize) -> String {
    let commit = head.short();
    let (commits, them) = match count {
        1 => (String::from("1 commit is"), "it"),
        count => (format!("{count} commits are"), "them"),
    };
    format!(
        "{commits} on git branch `{branch}` at {commit}, not on the task's branch; `git merge \
         {commit}` in the task's worktree adds {them}"
    )
}

fn rescue_info(
    git: &Git,
    branches: Option<&Branches>,
    rescues: &[Rescue],
    rescued: &Rescue,
) -> Result<RescueInfo, DriverError> {
    let branch_commits = match branches {
        Some(Branches { own, default }) => {
            git.commits_on_other_branch(rescued, own, Some(default))?
        }
        None => Vec::new(),
    };
    let about = &rescued.about;
    let is_earlier = |it: &&Rescue| about.earlier.as_ref() == Some(&it.commit);
    Ok(RescueInfo {
        task: about.task.clone(),
        number: rescued.number,
        reference: rescued.reference(),
        commit: rescued.commit.clone(),
        saved_at: git.commit_time(&rescued.commit)?,
        branch: about.branch.clone(),
        head: about.head.clone(),
        operations: about.operations.clone(),
        commits: git.commits_on_no_branch(rescued)?,
        branch_commits,
        paths: texts(&git.rescue_paths(rescued)?),
        is_restored: git.restored_numbers(&about.task)?.contains(&rescued.number),
        earlier: rescues.iter().find(is_earlier).map(|it| it.number),
    })
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    let texts = paths.iter().map(|path| path.to_string_lossy().into_owned());
    texts.collect()
}
