//! A task's worktree: reserved, checked out, bound, and given back.
//!
//! Invariant: nothing here deletes work. What is unsaved when a worktree is given back is in a
//! rescue, and a worktree that cannot be made clean leaves the pool as it is.

use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::names::WorkspaceName;

use super::Driver;
use super::act::Failure;
use crate::clock;
use crate::config::Project;
use crate::effects::git::{Acquire, AcquireRefusal, Acquisition, Git, Release, Released, Slot};
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
        self.check_out(store, task, &project, &workspace)?;
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

    /// Brings the worktree onto the branch; one that exists is used, else it is made.
    ///
    /// A place that something else is in leaves the pool, and the next try takes another.
    fn check_out(
        &self,
        store: &mut Store,
        task: &Task,
        project: &Project,
        workspace: &WorkspaceRecord,
    ) -> Result<(), Failure> {
        let git = self.repository(project)?;
        let acquire = Acquire {
            slot: Slot {
                name: &workspace.name,
                path: &workspace.path,
            },
            task: &task.id,
            branch: &task.branch,
            default: Some(&project.default_branch),
            task_file: &project.task_file,
            excluded: &[],
        };
        match git.acquire(&acquire).map_err(Failure::passing)? {
            Acquisition::Acquired(_) => Ok(()),
            Acquisition::Refused(refusal) => {
                let unusable = matches!(
                    refusal,
                    AcquireRefusal::Slot(_)
                        | AcquireRefusal::Taken(_)
                        | AcquireRefusal::NotAtRest { .. }
                        | AcquireRefusal::NotReleased(_)
                );
                if unusable {
                    let retired = store.retire_workspace(&workspace.name);
                    retired.map_err(Failure::passing)?;
                    return Err(Failure::passing(refusal.hint()));
                }
                Err(Failure::for_good(refusal.hint()))
            }
        }
    }

    fn repository(&self, project: &Project) -> Result<Git, Failure> {
        Git::open("git", &project.path, &self.environment).map_err(Failure::passing)
    }

    /// Takes TASK.md out, saves what is unsaved, and leaves the branch.
    ///
    /// The branch and its commits stay where they are. A worktree that cannot be made clean without
    /// losing something is left as it is, and leaves the pool.
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
        let projects = self.projects().map_err(Failure::passing)?;
        let project = projects.require(&task.project).map_err(Failure::passing)?;
        let released = self.repository(project)?.release(&Release {
            slot: Slot {
                name: &workspace.name,
                path: &workspace.path,
            },
            task: &task.id,
            default: Some(&project.default_branch),
        });
        match released.map_err(Failure::passing)? {
            Released::Free { .. } | Released::Absent => {}
            Released::Retired { .. } | Released::NotThatTasks { .. } | Released::Refused(_) => {
                let retired = store.retire_workspace(&workspace.name);
                retired.map_err(Failure::passing)?;
            }
        }
        Ok(EffectOutcome::Done)
    }
}
