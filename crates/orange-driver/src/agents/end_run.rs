//! Ends one run and keeps its pane's output.

use orange_effects::private_file;
use orange_effects::tmux;
use orange_engine::Task;
use orange_engine::names::RunId;
use orange_store::Store;

use crate::agents::Agents;
use crate::context::run_location;
use crate::failure::Failure;

impl Agents {
    /// Ends the processes of a run, closes its pane, and keeps the pane's output in a file.
    pub(crate) fn end_run(&self, store: &Store, task: &Task, run: &RunId) -> Result<(), Failure> {
        let folder = self.context.launch_directory(&task.project, &task.id, run);
        let folder = folder.map_err(Failure::permanent)?;
        let records = store.runs(&task.id).map_err(Failure::temporary)?;
        let record = records.iter().find(|record| record.id == *run);
        let pane = record.and_then(|record| {
            run_location::recorded_pane(record, &run_location::run_file(&folder))
        });
        let killed = self.context.tmux.kill(&tmux::KillRequest {
            run,
            recorded: pane.as_ref(),
            scrollback: Some(&run_location::output_file(&folder)),
            spared: &[],
            timeouts: self.context.bounds.kill_timeouts,
        });
        killed.map_err(Failure::temporary)?;
        self.record_usage_of_ended(store, &task.id, run);
        // If the pane never started the agent, this file still holds the run's secret.
        private_file::remove(&run_location::run_file(&folder)).map_err(Failure::temporary)
    }
}
