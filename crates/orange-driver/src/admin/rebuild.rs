//! Rebuilds the database from what is on the disk.

use std::fs;
use std::io;

use orange_config::{Project, reason};
use orange_effects::git::Phase;
use orange_engine::names::WorkspaceName;
use orange_store::{RebuildReport, SkippedTask, Store, WorkspaceRecord, WorkspaceState};

use crate::DriverError;
use crate::admin::Admin;
use crate::fleet::error::FleetError;
use crate::fleet::join::token_file;
use crate::workspaces::lifecycle::slot;

impl Admin {
    /// Restores the database from the copies in the task directories, and finds the workspaces of
    /// the pool again.
    ///
    /// Fails if a database exists, unless `may_move_aside` is set; the database is never deleted.
    /// Decisions made after the last copy are lost, so only the user may ask for a rebuild.
    pub fn rebuild(&self, may_move_aside: bool) -> Result<RebuildReport, DriverError> {
        if self.context.is_called_by_agent() {
            return Err(DriverError::user_only("rebuild the database"));
        }
        // What this machine holds, and what the server has acknowledged, is in the database alone.
        // Without it, effects would start that another machine performs.
        let is_joined = match Store::open_read_only(&self.context.home) {
            Ok(store) => store.membership()?.is_some(),
            Err(_) => token_file(&self.context).exists(),
        };
        if is_joined {
            return Err(FleetError::NotRebuilt.into());
        }
        let path = self.context.home.database();
        let is_there = fs::metadata(&path).is_ok_and(|found| found.len() > 0);
        if is_there && !may_move_aside {
            return Err(DriverError::DatabaseExists { path });
        }
        let mut rebuilt = orange_store::rebuild(&self.context.home)?;
        let mut store = self.context.store()?;
        for project in self.context.projects()?.projects {
            // One unreadable repository must not block the others.
            if let Err(error) = self.find_workspaces(&mut store, &project, &mut rebuilt) {
                rebuilt.skipped.push(SkippedTask {
                    path: project.path,
                    reason: format!("its free workspaces were not restored: {error}"),
                });
            }
        }
        let uncounted = self.agents.restore_spend(&mut store)?;
        rebuilt.skipped.extend(uncounted);
        Ok(rebuilt)
    }

    /// Adds the worktrees that orange created for the project, and that belong to no task, to the
    /// pool again. A worktree that is not marked as idle, or is not clean, is retired until
    /// `workspace gc` has checked it.
    fn find_workspaces(
        &self,
        store: &mut Store,
        project: &Project,
        rebuilt: &mut RebuildReport,
    ) -> Result<(), DriverError> {
        let git = self.workspaces.open_repository(project)?;
        for number in self.numbers_on_disk(project)? {
            let known = store.workspaces(&project.name)?;
            if known.iter().any(|it| it.number == number) {
                continue;
            }
            let name = WorkspaceName::new(format!("{}--{number}", project.name));
            let record = WorkspaceRecord {
                path: self.context.home.workspaces().join(name.as_str()),
                project: project.name.clone(),
                state: WorkspaceState::Free,
                number,
                name,
            };
            let _lock = self.context.lock_workspace(&record.name)?;
            let Ok(Some(worktree)) = git.existing_workspace(&slot(&record))? else {
                continue;
            };
            // Files may have appeared in the worktree since it was released, so check that it is
            // clean. If it cannot be read, `workspace gc` says why.
            let is_clean = worktree.condition().is_ok_and(|it| it.is_at_rest());
            let is_idle = worktree.marker()?.is_some_and(|it| it.phase == Phase::Idle) && is_clean;
            self.workspaces.add_to_pool(store, project, number)?;
            if is_idle {
                rebuilt.workspaces.push(record.name);
            } else {
                store.retire_workspace(&record.name)?;
            }
        }
        Ok(())
    }

    /// The sorted numbers of the directories that are named like workspaces of a project.
    fn numbers_on_disk(&self, project: &Project) -> Result<Vec<u32>, DriverError> {
        let folder = self.context.home.workspaces();
        let failed = |error: io::Error| DriverError::File {
            attempt: "list",
            path: folder.clone(),
            reason: reason(&error),
        };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_str().and_then(|name| name.rsplit_once("--"));
            let number = name.filter(|(project_name, _)| *project_name == project.name.as_str());
            let number = number.and_then(|(_, number)| number.parse::<u32>().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}
