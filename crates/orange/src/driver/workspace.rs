//! A task's worktree: reserved, checked out, bound, and given back.
//!
//! Invariant: nothing here deletes work. A worktree with anything uncommitted or untracked in it
//! is taken out of the pool as it is instead of being given to another task.

use std::fs;
use std::path::Path;

use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::input::GitFacts;
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, CommitId, TaskId, WorkspaceName};

use super::act::Failure;
use super::{Driver, DriverError};
use crate::clock;
use crate::config::{Project, reason};
use crate::store::{self, Reservation, Store, StoreError, WorkspaceRecord, WorkspaceState};

impl Driver {
    /// Makes sure that the task has a worktree on its branch, with TASK.md in it.
    pub(super) fn acquire(&self, store: &mut Store, task: &Task) -> Result<EffectOutcome, Failure> {
        let projects = self.projects().map_err(Failure::for_good)?;
        let project = projects
            .require(&task.project)
            .map_err(Failure::for_good)?
            .clone();
        let workspace = match store.workspace_of(&task.id).map_err(Failure::passing)? {
            Some(workspace) => workspace,
            None => self.reserve(store, task, &project)?,
        };
        // A failure leaves the reservation: the next try, or a release, goes on from there.
        let ready = self.check_out(task, &project, &workspace.path);
        ready.map_err(|error| match error {
            DriverError::FactUnknown { .. } => Failure::for_good(error),
            // Another git may be at work, left by a performer that was killed.
            error => Failure::passing(error),
        })?;
        let file = workspace.path.join(&project.task_file);
        let bound = store::bind(store, &task.id, &file, clock::now());
        bound.map_err(|error| match error {
            StoreError::Occupied { .. } => Failure::for_good(error),
            error => Failure::passing(error),
        })?;
        Ok(EffectOutcome::Bound(workspace.name))
    }

    fn reserve(
        &self,
        store: &mut Store,
        task: &Task,
        project: &Project,
    ) -> Result<WorkspaceRecord, Failure> {
        for _ in 0..=project.pool_size {
            let all = store.workspaces(&project.name).map_err(Failure::passing)?;
            let in_use = all.iter().filter(|it| it.state != WorkspaceState::Retired);
            let name = match all.iter().find(|it| it.state == WorkspaceState::Free) {
                Some(free) => free.name.clone(),
                None if in_use.count() < project.pool_size as usize => {
                    let number = all.iter().map(|it| it.number).max().unwrap_or(0) + 1;
                    let name = WorkspaceName::new(format!("{}--{number}", project.name));
                    let path = self.home.workspaces().join(name.as_str());
                    let added = store.add_workspace(&name, &project.name, number, &path);
                    added.map_err(Failure::passing)?;
                    name
                }
                None => break,
            };
            let reserved = store.reserve_workspace(&name, &task.id);
            if reserved.map_err(Failure::passing)? == Reservation::Reserved {
                let found = store.workspace_of(&task.id).map_err(Failure::passing)?;
                if let Some(found) = found {
                    return Ok(found);
                }
            }
        }
        let (size, name) = (project.pool_size, &project.name);
        Err(Failure::for_good(format!(
            "all {size} workspaces of project `{name}` are in use; finish or cancel a task, or \
             raise `pool_size` in projects.json"
        )))
    }

    /// Checks the branch out; one that exists is used, else it begins at the default branch.
    fn check_out(&self, task: &Task, project: &Project, path: &Path) -> Result<(), DriverError> {
        let branch = task.branch.as_str();
        let reference = format!("refs/heads/{branch}");
        let wrong = |reason: String| DriverError::FactUnknown {
            task: task.id.clone(),
            what: "the worktree",
            reason,
        };
        if task.branch == project.default_branch {
            return Err(wrong(format!("`{branch}` is the default branch")));
        }
        let tracked = ["ls-files", "--error-unmatch", "--", &project.task_file];
        if self.git_if(&project.path, &tracked)?.is_some() {
            let file = &project.task_file;
            return Err(wrong(format!("the repository has a `{file}` of its own")));
        }
        self.exclude(project)?;
        let known = ["show-ref", "--verify", "--quiet", &reference];
        let exists = self.git_if(&project.path, &known)?.is_some();
        let base = project.default_branch.as_str();
        let shown = path.to_string_lossy();
        let is_worktree = path.join(".git").exists();
        let on = |driver: &Driver| driver.git_if(path, &["symbolic-ref", "--quiet", "HEAD"]);
        if !is_worktree {
            // What a killed process left of a worktree is forgotten before it is made again.
            self.git(&project.path, &["worktree", "prune"])?;
            let add: &[&str] = if exists {
                &["worktree", "add", &shown, branch]
            } else {
                &["worktree", "add", "-b", branch, &shown, base]
            };
            self.git(&project.path, add)?;
        } else if on(self)?.as_deref() != Some(reference.as_str()) {
            let switch: &[&str] = if exists {
                &["checkout", "--no-overwrite-ignore", branch]
            } else {
                &["checkout", "--no-overwrite-ignore", "-b", branch, base]
            };
            self.git(path, switch)?;
        }
        // While git fills a new worktree, it keeps it locked.
        let own = self.git(path, &["rev-parse", "--absolute-git-dir"])?;
        let lock = Path::new(&own).join("locked");
        if lock.exists() {
            return Err(DriverError::File {
                attempt: "use the worktree before it is whole",
                path: lock,
                reason: String::from("git has not finished it"),
            });
        }
        // Only what can be seen counts: a half-made worktree must not pass for a whole one.
        match on(self)? {
            Some(found) if found == reference => Ok(()),
            found => Err(wrong(format!(
                "it is on `{}`, not on `{branch}`",
                found.unwrap_or_else(|| String::from("no branch"))
            ))),
        }
    }

    /// Keeps TASK.md out of what git shows, in every worktree of the repository.
    fn exclude(&self, project: &Project) -> Result<(), DriverError> {
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let folder = self.git(&project.path, &common)?;
        let path = Path::new(&folder).join("info/exclude");
        let failed = |error: &std::io::Error| DriverError::File {
            attempt: "write",
            path: path.clone(),
            reason: reason(error),
        };
        let text = fs::read_to_string(&path).unwrap_or_default();
        let line = format!("/{}", project.task_file);
        if text.lines().any(|found| found == line) {
            return Ok(());
        }
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        fs::write(&path, format!("{text}{end}{line}\n")).map_err(|error| failed(&error))
    }

    /// Takes TASK.md out, leaves the branch, and keeps whatever is unsaved.
    ///
    /// The branch and its commits stay where they are. A worktree that is not clean is retired.
    pub(super) fn release(
        &self,
        store: &mut Store,
        task: &Task,
        meant: Option<&WorkspaceName>,
    ) -> Result<EffectOutcome, Failure> {
        let held = store.workspace_of(&task.id).map_err(Failure::passing)?;
        let held = held.filter(|held| meant.is_none_or(|meant| held.name == *meant));
        store::release(store, &task.id, clock::now()).map_err(Failure::passing)?;
        let Some(workspace) = held else {
            return Ok(EffectOutcome::Done);
        };
        let path = &workspace.path;
        if path.join(".git").exists() {
            self.git(path, &["checkout", "--detach", "--quiet"])
                .map_err(Failure::passing)?;
            let unsaved = ["status", "--porcelain", "--untracked-files=all"];
            let unsaved = self.git(path, &unsaved).map_err(Failure::passing)?;
            if !unsaved.is_empty() {
                let retired = store.retire_workspace(&workspace.name);
                retired.map_err(Failure::passing)?;
            }
        }
        Ok(EffectOutcome::Done)
    }

    /// The branch that a task's worktree is on.
    pub fn branch_of_worktree(&self, task: &TaskId) -> Result<BranchName, DriverError> {
        let unknown = |reason: &str| DriverError::FactUnknown {
            task: task.clone(),
            what: "the branch",
            reason: reason.to_owned(),
        };
        let held = self.store()?.workspace_of(task)?;
        let held = held.ok_or_else(|| unknown("it has no workspace"))?;
        let head = ["symbolic-ref", "--quiet", "--short", "HEAD"];
        let found = self.git_if(&held.path, &head)?;
        let found = found.ok_or_else(|| unknown("its worktree is on no branch"))?;
        Ok(BranchName::new(found))
    }

    /// What is known about a branch and the task's worktree.
    pub(super) fn git_facts(
        &self,
        store: &Store,
        task: &Task,
        branch: &BranchName,
    ) -> Result<GitFacts, DriverError> {
        let projects = self.projects()?;
        let project = projects.require(&task.project)?;
        let held = store.workspace_of(&task.id)?;
        if held.is_some() && *branch != task.branch {
            let found = self.branch_of_worktree(&task.id)?;
            if found != *branch {
                return Err(DriverError::FactUnknown {
                    task: task.id.clone(),
                    what: "the branch",
                    reason: format!(
                        "its worktree is on `{found}`; rename it there first with `git branch -m {branch}`"
                    ),
                });
            }
        }
        let place = held.as_ref().map_or(&project.path, |held| &held.path);
        let commit = |name: &str| -> Result<String, DriverError> {
            let meant = format!("refs/heads/{name}^{{commit}}");
            self.git(&project.path, &["rev-parse", "--verify", "--quiet", &meant])
                .map_err(|_| DriverError::FactUnknown {
                    task: task.id.clone(),
                    what: "the commit",
                    reason: format!("there is no branch `{name}`"),
                })
        };
        let base = commit(project.default_branch.as_str())?;
        let head = commit(branch.as_str()).or_else(|error| match &held {
            Some(held) => self.git(&held.path, &["rev-parse", "HEAD"]),
            None => Err(error),
        })?;
        let mut holds = Vec::new();
        let unsaved = self.git(place, &["status", "--porcelain", "--untracked-files=all"])?;
        if unsaved.is_empty() {
            holds.push(GitCondition::Clean);
        }
        let range = format!("{base}..{head}");
        if self.git(&project.path, &["rev-list", "--count", &range])? != "0" {
            holds.push(GitCondition::CommitsAhead);
        }
        if *branch != project.default_branch {
            holds.push(GitCondition::BranchNotDefault);
        }
        let file = ["ls-tree", "--name-only", &head, "--", &project.task_file];
        if self.git(&project.path, &file)?.is_empty() {
            holds.push(GitCondition::TaskFileUntracked);
        }
        Ok(GitFacts {
            head: CommitId::new(head),
            base: CommitId::new(base),
            holds,
        })
    }
}
