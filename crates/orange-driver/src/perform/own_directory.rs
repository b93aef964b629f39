//! Prepares the directory of a run without a worktree.
//!
//! The run gets the path of the repository, not a checkout of its own. Nothing but the agent's own
//! permissions keeps it from writing there, so the state of the repository is saved before the run
//! and compared when the run has ended.

use std::fs;
use std::path::PathBuf;

use orange_config::Project;
use orange_effects::private_file;
use orange_engine::Task;
use orange_engine::effect::Spawn;
use orange_store::TaskDirectory;
use orange_store::steps::reach;

use crate::context::run_location::repository_file;
use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Creates the task's own directory with a copy of TASK.md, and saves the state of the
    /// repository.
    pub(super) fn prepare_own_directory(
        &self,
        task: &Task,
        spawn: &Spawn,
    ) -> Result<PathBuf, Failure> {
        let projects = self.context.projects().map_err(Failure::permanent)?;
        let project = projects.require(&task.project);
        let project = project.map_err(Failure::permanent)?;
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id);
        let directory = directory.map_err(Failure::permanent)?;
        let text = fs::read(directory.task_file()).map_err(Failure::temporary)?;
        let copy = directory.own_directory().join(&project.task_file);
        private_file::write_unsynced(&copy, &text).map_err(Failure::temporary)?;
        let state = self.workspaces.repository_state(project);
        let state = state.map_err(Failure::temporary)?;
        let state = serde_json::to_vec(&state).map_err(Failure::permanent)?;
        let run = directory.run(&spawn.run).map_err(Failure::permanent)?;
        private_file::write(&repository_file(&run), &state).map_err(Failure::temporary)?;
        reach("the state of the repository is saved");
        Ok(directory.own_directory())
    }
}

/// The prompt of a run without a worktree.
pub(super) fn name_repository(prompt: &str, project: &Project) -> String {
    format!(
        "{}\n\nYou have no worktree. Your working directory is your own; write files only there. \
         The repository of the project is {}. Only read it: change no file, branch, commit or \
         setting in it. Orange compares it with its state before this run.\n",
        prompt.trim_end(),
        project.path.display()
    )
}
