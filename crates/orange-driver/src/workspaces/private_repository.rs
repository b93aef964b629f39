//! A task's private repositories, and their exchange with the real one.
//!
//! The worker has one for the whole task. Every other run has its own, and so have the commands of
//! the project and the workflow: no configuration and no hook that the worker left is used by those
//! who judge its work.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use orange_config::{LogLevel, Project};
use orange_effects::git::{
    Git, Import, ImportRefusal, ImportRequest, InsidePaths, PrivateRepository, PrivateRequest,
    PrivateResult, Refresh, Worktree,
};
use orange_effects::sandbox::{Level, Mount, OBJECTS, UPSTREAM};
use orange_engine::Task;
use orange_engine::names::{BranchName, RunId};
use orange_engine::role::Role;
use orange_store::{Store, TaskDirectory, WorkspaceRecord};
use serde_json::json;

use crate::DriverError;
use crate::workspaces::Workspaces;
use crate::workspaces::repository::ready_workspace;

/// The largest pack that is imported, in bytes.
const MAX_BYTES: u64 = 2 << 30;

/// Where a sandbox shows what a private repository borrows.
fn inside_paths() -> InsidePaths<'static> {
    InsidePaths {
        objects: Path::new(OBJECTS),
        upstream: Path::new(UPSTREAM),
    }
}

/// What a sandbox shows of the repository.
pub(crate) enum RepositoryMounts {
    /// A private repository.
    Private(Vec<Mount>),
    /// The real one, because a private one does not support what it uses.
    Shared { directory: PathBuf, reason: String },
    /// The real one at the partial level: readable, and parts of it writable.
    Parts(Vec<Mount>),
}

/// Why an agent at the partial level shares the repository.
pub(crate) const WITHOUT_NAMESPACES: &str = "a private one needs a full sandbox";

/// What is writable of a repository at the partial level. Its configuration, its hooks, its
/// `packed-refs` and the files of other worktrees are not.
const WRITABLE_PARTS: [&str; 4] = ["objects", "refs", "logs", "reftable"];

/// The parts of a repository that an agent at the partial level uses.
pub(crate) fn repository_parts(git: &Git, worktree: &Worktree<'_>) -> Vec<Mount> {
    let shared = git.shared_directory();
    let parts = WRITABLE_PARTS.iter().map(|name| shared.join(name));
    let parts = parts.filter(|path| path.is_dir());
    let parts = parts.chain([worktree.directory().to_owned()]);
    let parts = parts.map(|path| Mount::Repository { path: path.into() });
    let whole = Mount::ReadOnly {
        path: shared.into(),
    };
    [whole].into_iter().chain(parts).collect()
}

/// Whose private repository it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RepositoryUser<'a> {
    /// The worker, which has one for the whole task.
    Worker,
    /// A run of another role.
    Run(&'a RunId),
    /// The commands of the project and the workflow.
    Commands,
}

impl<'a> RepositoryUser<'a> {
    pub(crate) fn of(role: &Role, run: &'a RunId) -> Self {
        match role {
            Role::Worker => RepositoryUser::Worker,
            _ => RepositoryUser::Run(run),
        }
    }

    fn folder(self, directory: &TaskDirectory) -> Result<PathBuf, DriverError> {
        Ok(match self {
            RepositoryUser::Worker => directory.path().join("git"),
            RepositoryUser::Run(run) => directory.run(run)?.join("git"),
            RepositoryUser::Commands => commands_folder(directory).join("git"),
        })
    }
}

/// What the sandbox of a task's commands keeps.
pub(crate) fn commands_folder(directory: &TaskDirectory) -> PathBuf {
    directory.path().join("commands")
}

impl Workspaces {
    /// What a program at this level sees of the repository.
    pub(crate) fn prepare_repository(
        &self,
        task: &Task,
        project: &Project,
        workspace: &WorkspaceRecord,
        user: RepositoryUser<'_>,
        level: Level,
    ) -> Result<RepositoryMounts, DriverError> {
        if level == Level::Full {
            return self.prepare_private_repository(task, project, workspace, user);
        }
        if let Some(private) = self.private_repositories(task)?.first() {
            let folder = private.common_directory().display().to_string();
            return Err(DriverError::NoSandbox {
                reason: format!(
                    "the task was begun in a full one, and its commits are in `{folder}`, which a \
                     partial one cannot show"
                ),
                fix: String::from("make bwrap work again, or cancel the task and create it again"),
            });
        }
        let git = self.open_repository(project)?;
        let worktree = git.worktree(&workspace.path)?;
        Ok(RepositoryMounts::Parts(repository_parts(&git, &worktree)))
    }

    /// Makes sure that there is a private repository with the current refs of the real one.
    fn prepare_private_repository(
        &self,
        task: &Task,
        project: &Project,
        workspace: &WorkspaceRecord,
        user: RepositoryUser<'_>,
    ) -> Result<RepositoryMounts, DriverError> {
        let git = self.open_repository(project)?;
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id)?;
        let folder = user.folder(&directory)?;
        let worktree = git.worktree(&workspace.path)?;
        // After a rename, the repository is still under the old name.
        if let Some(mut found) = PrivateRepository::find(&folder, &task.id)? {
            self.follow_rename(task, &git, &worktree, &mut found)?;
        }
        let created = worktree.create_private(&PrivateRequest {
            task: &task.id,
            branch: &task.branch,
            folder: &folder,
            inside: inside_paths(),
        })?;
        let repository = match created {
            PrivateResult::Created { repository, .. } => repository,
            PrivateResult::Exists(repository) => {
                self.refresh_one(task, &git, &worktree, &repository)?;
                repository
            }
            PrivateResult::Uncovered(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                let reason = reasons.join(", ");
                self.require_shareable_repository(task, project, &reason)?;
                return Ok(RepositoryMounts::Shared {
                    directory: git.shared_directory().to_owned(),
                    reason,
                });
            }
        };
        Ok(RepositoryMounts::Private(mounts(&repository, &git)))
    }

    /// Imports what agents of a task have committed in their private repositories.
    pub(crate) fn import_commits(&self, store: &Store, task: &Task) -> Result<(), DriverError> {
        let repositories = self.private_repositories(task)?;
        let Some(workspace) = ready_workspace(store, task)?.filter(|_| !repositories.is_empty())
        else {
            return Ok(());
        };
        let (project, git) = self.repository_of(task)?;
        if repositories.iter().any(|it| !it.is_imported(&git)) {
            let _lock = self.context.lock_workspace(&workspace.name)?;
            // Another process may have released it meanwhile, after an import of its own.
            let now = ready_workspace(store, task)?;
            if now.is_none_or(|now| now.name != workspace.name) {
                return Ok(());
            }
            let imported = self.import_locked(task, &project, &git, &workspace);
            imported.map_err(|error| match error {
                error @ DriverError::FactUnknown { .. } => error,
                // The end of a run does not wait for commits that cannot be imported.
                error => unknown(task, error.to_string()),
            })?;
        }
        for repository in repositories {
            if let Some(branch) = repository.branch_inside().filter(|it| *it != task.branch) {
                let id = &task.id;
                let reason = format!(
                    "its worktree is on `{branch}`; run `git switch {}` there, or `orange task \
                     update {id} --branch`",
                    task.branch
                );
                return Err(unknown(task, reason));
            }
        }
        Ok(())
    }

    /// Imports what is left, and puts the private repositories of a task aside. The caller holds
    /// the lock of the workspace.
    pub(crate) fn retire_private_repositories(
        &self,
        task: &Task,
        project: &Project,
        git: &Git,
        workspace: &WorkspaceRecord,
    ) -> Result<(), DriverError> {
        let repositories = self.private_repositories(task)?;
        if !repositories.iter().all(|it| it.is_imported(git)) {
            self.import_locked(task, project, git, workspace)?;
        }
        for repository in repositories {
            repository.retire(git)?;
        }
        Ok(())
    }

    fn import_locked(
        &self,
        task: &Task,
        project: &Project,
        git: &Git,
        workspace: &WorkspaceRecord,
    ) -> Result<(), DriverError> {
        let worktree = git.worktree(&workspace.path)?;
        for mut repository in self.private_repositories(task)? {
            self.follow_rename(task, git, &worktree, &mut repository)?;
            if *repository.branch() != task.branch {
                continue;
            }
            let sandbox = self.git_sandbox(&worktree, mounts(&repository, git))?;
            let import = worktree.import_private(&ImportRequest {
                repository: &repository,
                inside: &|words| sandbox.git(words),
                default: Some(&project.default_branch),
                max_bytes: MAX_BYTES,
            })?;
            match import {
                Import::Unchanged(_) => {}
                Import::Imported { previous, commit } => {
                    let more = json!({ "previous": previous, "commit": commit });
                    let context = &self.context;
                    context.log(LogLevel::Info, &task.id, "commits.imported", more);
                }
                Import::Refused(refusal) => return Err(refused(task, &repository, &refusal)),
            }
        }
        Ok(())
    }

    /// Tells the agents of a task where the branches of the real repository are now. A failure is
    /// only logged: their next start tries again.
    pub(crate) fn refresh_private_repositories(&self, store: &Store, task: &Task) {
        let refreshed = self.try_refresh(store, task);
        if let Err(error) = refreshed {
            let more = json!({ "error": error.to_string() });
            self.context
                .log(LogLevel::Warn, &task.id, "repository.not_refreshed", more);
        }
    }

    fn try_refresh(&self, store: &Store, task: &Task) -> Result<(), DriverError> {
        let repositories = self.private_repositories(task)?;
        let Some(workspace) = ready_workspace(store, task)?.filter(|_| !repositories.is_empty())
        else {
            return Ok(());
        };
        let (_, git) = self.repository_of(task)?;
        let worktree = git.worktree(&workspace.path)?;
        for mut repository in repositories {
            self.follow_rename(task, &git, &worktree, &mut repository)?;
            self.refresh_one(task, &git, &worktree, &repository)?;
        }
        Ok(())
    }

    fn refresh_one(
        &self,
        task: &Task,
        git: &Git,
        worktree: &Worktree<'_>,
        repository: &PrivateRepository,
    ) -> Result<(), DriverError> {
        let sandbox = self.git_sandbox(worktree, mounts(repository, git))?;
        let refreshed = git.refresh_private(repository, &|words| sandbox.git(words))?;
        let more = match refreshed {
            Refresh::Current | Refresh::Told { .. } => return Ok(()),
            Refresh::Diverged { outside, inside } => {
                json!({ "outside": outside, "inside": inside })
            }
            Refresh::Failed(message) => json!({ "error": message }),
        };
        self.context
            .log(LogLevel::Warn, &task.id, "repository.not_refreshed", more);
        Ok(())
    }

    /// The branch that the worktree of a task is on for its agents, if they have a private
    /// repository.
    pub(crate) fn branch_for_agents(&self, task: &Task) -> Result<Option<BranchName>, DriverError> {
        let mut repositories = self.private_repositories(task)?.into_iter();
        Ok(repositories.next().and_then(|it| it.branch_inside()))
    }

    /// Renames the task's branch inside, if it was renamed outside.
    fn follow_rename(
        &self,
        task: &Task,
        git: &Git,
        worktree: &Worktree<'_>,
        repository: &mut PrivateRepository,
    ) -> Result<(), DriverError> {
        let is_renamed = *repository.branch() != task.branch
            && git.branch(repository.branch())?.is_none()
            && git.branch(&task.branch)?.is_some();
        if !is_renamed {
            return Ok(());
        }
        let sandbox = self.git_sandbox(worktree, mounts(repository, git))?;
        let problem = git.rename_private(repository, &task.branch, &|words| sandbox.git(words))?;
        match problem {
            None => Ok(()),
            Some(reason) => {
                let reason = format!("git could not rename the branch in the sandbox: {reason}");
                Err(unknown(task, reason))
            }
        }
    }

    /// The private repositories of a task; the worker's first.
    fn private_repositories(&self, task: &Task) -> Result<Vec<PrivateRepository>, DriverError> {
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id)?;
        // Most tasks have none, and none of their runs; the store is not asked for that.
        let runs = fs::read_dir(directory.runs()).into_iter().flatten();
        let runs = runs.filter_map(|run| Some(run.ok()?.path()));
        let mut folders: Vec<PathBuf> = runs.map(|run| run.join("git")).collect();
        folders.sort();
        folders.push(commands_folder(&directory).join("git"));
        folders.insert(0, directory.path().join("git"));
        let mut found = Vec::new();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            found.extend(PrivateRepository::find(folder, &task.id)?);
        }
        Ok(found)
    }
}

fn mounts(repository: &PrivateRepository, git: &Git) -> Vec<Mount> {
    let mounts = repository.mounts(git, &inside_paths()).into_iter();
    let mounts = mounts.map(|mount| Mount::Other {
        source: mount.outside.into(),
        path: mount.inside.into(),
        is_read_only: mount.is_read_only,
    });
    mounts.collect()
}

fn unknown(task: &Task, reason: String) -> DriverError {
    DriverError::FactUnknown {
        task: task.id.clone(),
        what: "what the agent committed",
        reason,
    }
}

/// The error for commits that were not imported; it says where they are.
fn refused(task: &Task, repository: &PrivateRepository, refusal: &ImportRefusal) -> DriverError {
    let branch = &task.branch;
    let mut reason = match refusal {
        ImportRefusal::NoBranch => format!(
            "the agent has no branch `{branch}` any more; create it again with `git switch -c \
             {branch}` in its worktree"
        ),
        ImportRefusal::Moved { expected, found } => {
            let found = found.as_ref().map_or("no commit", |it| it.as_str());
            format!(
                "`{branch}` was moved to {found} outside of the sandbox, while the agent has \
                 commits on {expected}"
            )
        }
        ImportRefusal::NotACommit(id) => format!("`{branch}` is {id}, which is no commit"),
        ImportRefusal::TooLarge { limit } => {
            format!("its commits have more than {} GiB", limit >> 30)
        }
        ImportRefusal::Invalid(message) => format!("git does not accept its commits: {message}"),
        ImportRefusal::Inside(message) => format!("git failed in the sandbox: {message}"),
    };
    let folder = repository.common_directory();
    let _never_fails = write!(reason, "; nothing was imported from `{}`", folder.display());
    unknown(task, reason)
}
