//! A task's repository, and the facts that gates need about its branch.

use orange_config::Project;
use orange_effects::git::{FactsRequest, Git, GitError};
use orange_engine::Task;
use orange_engine::delegation::ChildMerge;
use orange_engine::input::{GitFacts, UncommittedWork};
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_store::{Store, WorkspaceRecord, WorkspaceState};

use super::registered_remote::with_registered_remote;
use crate::DriverError;
use crate::error::{BranchProblem, NextStep};
use crate::workspaces::Workspaces;

/// A question about a branch, beyond what is recorded for the task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BranchQuestion<'a> {
    /// The branch, if it is not the task's.
    pub(crate) branch: Option<&'a BranchName>,
    /// The commit that a request names.
    pub(crate) head: Option<&'a CommitId>,
    /// Whether the request is a merge, which is decided against the remote's current state.
    pub(crate) is_merge: bool,
}

impl Workspaces {
    /// The project of a task, and its repository as configured now.
    pub(crate) fn repository_of(&self, task: &Task) -> Result<(Project, Git), DriverError> {
        let projects = self.context.projects()?;
        let project = projects.require(&task.project)?.clone();
        let git = self.open_repository(&project)?;
        Ok((project, git))
    }

    /// The repository of a project as configured now.
    pub(crate) fn open_repository(&self, project: &Project) -> Result<Git, DriverError> {
        let git = match Git::open_checkout("git", &project.path, &self.context.environment) {
            Err(GitError::NotACheckout { .. }) => {
                return Err(DriverError::RepositoryMissing {
                    project: project.name.clone(),
                    path: project.path.clone(),
                });
            }
            git => git?,
        };
        Ok(with_registered_remote(git, project))
    }

    /// The branch that a task's worktree is on, even during a rebase.
    pub fn branch_of_worktree(&self, task: &TaskId) -> Result<BranchName, DriverError> {
        let store = self.context.store()?;
        let unknown = |reason: &str| DriverError::FactUnknown {
            task: task.clone(),
            what: "the branch",
            reason: reason.to_owned(),
        };
        let known = store.require(task)?.task;
        let workspace = ready_workspace(&store, &known)?;
        let workspace = workspace.ok_or_else(|| unknown("it has no workspace"))?;
        if let Some(branch) = self.branch_for_agents(&known)? {
            return Ok(branch);
        }
        let (_, git) = self.repository_of(&known)?;
        let branch = git.worktree(&workspace.path)?.branch()?;
        branch.ok_or_else(|| unknown("its worktree is not on a branch"))
    }

    /// Marks children as merged that an agent has merged since orange could not.
    pub(crate) fn refresh_child_merges(&self, task: &mut Task) -> Result<(), DriverError> {
        if task
            .child_merges
            .values()
            .all(|it| *it == ChildMerge::Merged)
        {
            return Ok(());
        }
        let (_, git) = self.repository_of(task)?;
        let Some(head) = git.branch(&task.branch)? else {
            return Ok(());
        };
        for merge in task.child_merges.values_mut() {
            let (ChildMerge::Conflicts { branch, .. } | ChildMerge::Prevented { branch, .. }) =
                &*merge
            else {
                continue;
            };
            if let Some(tip) = git.branch(branch)?
                && git.commits_since(&tip, &head)?.is_some()
            {
                *merge = ChildMerge::Merged;
            }
        }
        Ok(())
    }

    /// The commit of a task's repository that a text names; `HEAD` is the task's branch.
    pub fn commit_named(&self, task: &TaskId, text: &str) -> Result<CommitId, DriverError> {
        let store = self.context.read_store()?;
        let task = store.require(task)?.task;
        let (_, git) = self.repository_of(&task)?;
        let rest = text.strip_prefix("HEAD").or(text.strip_prefix('@'));
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(['~', '^']));
        let about_branch = rest.map(|rest| format!("refs/heads/{}{rest}", task.branch));
        let commit = git.commit_named(about_branch.as_deref().unwrap_or(text))?;
        commit.ok_or_else(|| DriverError::CommitUnknown(text.to_owned()))
    }

    /// The facts about a branch and the task's worktree.
    ///
    /// A merge that is pushed is decided against the remote's current state; the merge itself
    /// handles an unreachable remote.
    pub(crate) fn git_facts(
        &self,
        store: &Store,
        task: &Task,
        question: BranchQuestion<'_>,
    ) -> Result<GitFacts, DriverError> {
        // A branch that is about to be renamed is imported under its new name.
        if question.branch.is_none_or(|it| *it == task.branch) {
            self.import_commits(store, task)?;
        }
        let (project, git) = self.repository_of(task)?;
        let branch = question.branch.unwrap_or(&task.branch);
        let submitted = task.submission.as_ref().map(|it| &it.commit);
        let delegation = task.queueing.delegation.as_ref();
        let unknown = |what: &'static str, reason: String| DriverError::FactUnknown {
            task: task.id.clone(),
            what,
            reason,
        };
        if question.is_merge && project.push {
            git.fetch(&[&project.default_branch])?;
        }
        let request = FactsRequest {
            branch,
            default: &project.default_branch,
            task_file: &project.task_file,
            start: delegation.and_then(|it| it.start.as_ref()),
            commit: question.head.or(submitted),
        };
        let Some(workspace) = ready_workspace(store, task)? else {
            let is_renamed = *branch != task.branch;
            if is_renamed && *branch != project.default_branch {
                require_usable(&project, &git, branch)?;
            }
            return match git.facts(&request) {
                Err(GitError::NoCommit { branch: missing })
                    if is_renamed && missing == branch.as_str() =>
                {
                    let current = &task.branch;
                    // A run is recorded before its worktree and branch are created.
                    let has_started = !store.runs(&task.id)?.is_empty();
                    if !has_started || git.branch(current)?.is_none() {
                        return Ok(facts_of_new_branch(&request));
                    }
                    let reason = format!(
                        "its work is on `{current}`, and there is no branch `{branch}`; run `git \
                         branch -m {current} {branch}` in the repository first"
                    );
                    Err(unknown("the branch", reason))
                }
                facts => facts.map_err(|error| branch_error(store, task, error)),
            };
        };
        let worktree = git.worktree(&workspace.path)?;
        let found = worktree.branch()?;
        let is_elsewhere = found.as_ref() != Some(branch);
        let on_branch = found.is_some();
        let on = found.map_or(String::from("no branch"), |found| format!("`{found}`"));
        if is_elsewhere && *branch != task.branch {
            let reason = format!(
                "its worktree is on {on}; run `git switch {branch}` there first, or choose an \
                 unused name"
            );
            return Err(unknown("the branch", reason));
        }
        if is_elsewhere && git.branch(branch)?.is_none() {
            let id = &task.id;
            let reason = if on_branch {
                format!("its worktree is on {on}; run `orange task update {id} --branch`")
            } else {
                format!(
                    "its worktree is on no branch, and `{branch}` is gone; run `git -C '{}' switch \
                     -c {branch}`",
                    workspace.path.display()
                )
            };
            return Err(unknown("the branch", reason));
        }
        worktree
            .facts(&request)
            .map_err(|error| branch_error(store, task, error))
    }
}

/// Refuses a branch on which no task could start.
pub(crate) fn require_usable(
    project: &Project,
    git: &Git,
    branch: &BranchName,
) -> Result<(), DriverError> {
    let problem = if *branch == project.default_branch {
        BranchProblem::Default
    } else if let Some(path) = git.user_checkout_of(branch)? {
        BranchProblem::CheckedOut(path)
    } else if let Some(other) = git.clashing_branch(branch)? {
        BranchProblem::Clashes(other)
    } else {
        return Ok(());
    };
    Err(DriverError::BranchUnusable {
        branch: branch.clone(),
        problem,
    })
}

/// The facts about a branch that will be created when the work of its task starts.
fn facts_of_new_branch(request: &FactsRequest<'_>) -> GitFacts {
    let mut met_conditions = vec![GitCondition::TaskFileUntracked];
    if request.branch != request.default {
        met_conditions.push(GitCondition::BranchNotDefault);
    }
    GitFacts {
        head: CommitId::new(""),
        base: CommitId::new(""),
        met_conditions,
        uncommitted: UncommittedWork::default(),
        named: None,
    }
}

/// The workspace of a task, once its directory was created. A start may spend a minute before that,
/// with the remote for example.
pub(super) fn ready_workspace(
    store: &Store,
    task: &Task,
) -> Result<Option<WorkspaceRecord>, DriverError> {
    let Some(workspace) = store.workspace_of(&task.id)? else {
        return Ok(None);
    };
    let is_reserved = matches!(workspace.state, WorkspaceState::Reserved(_));
    if !is_reserved || workspace.path.exists() {
        return Ok(Some(workspace));
    }
    if task.pending.is_empty() {
        return Ok(None);
    }
    Err(DriverError::WorktreeNotReady(task.id.clone()))
}

/// Turns a missing branch into an error with instructions, and anything else into a failure of git.
pub(super) fn branch_error(store: &Store, task: &Task, error: GitError) -> DriverError {
    match error {
        // A run is recorded before its worktree and branch are created.
        GitError::NoCommit { branch }
            if branch == task.branch.as_str()
                && task.runs.is_empty()
                && task.submission.is_none() =>
        {
            let has_ended = store.require(&task.id).is_ok_and(|it| it.has_ended());
            DriverError::NotStarted {
                task: task.id.clone(),
                next_step: if has_ended {
                    NextStep::Create
                } else {
                    NextStep::Spawn
                },
            }
        }
        GitError::NoCommit { branch } => DriverError::FactUnknown {
            task: task.id.clone(),
            what: "the commit",
            reason: if branch == task.branch.as_str() {
                let back = task.submission.as_ref().map(|it| {
                    let commit = &it.commit;
                    format!("; create it again with `git branch {branch} {commit}`")
                });
                format!("there is no branch `{branch}`{}", back.unwrap_or_default())
            } else {
                let project = &task.project;
                format!(
                    "there is no branch `{branch}`; if you renamed it, run `orange project update \
                     {project} --default-branch BRANCH`"
                )
            },
        },
        error => error.into(),
    }
}
