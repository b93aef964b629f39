//! The results of headless runs, read from what they printed.

use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use orange_config::RunResult;
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_engine::role::Role;
use orange_store::RunRecord;
use schemars::JsonSchema;
use serde::Serialize;

use crate::DriverError;
use crate::agents::Agents;
use crate::context::run_location::result_file;

/// How many bytes from the end of a run's output are read; sums cover only these bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The result of one headless run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResultOfRun {
    /// The run.
    pub run: RunId,
    /// The role it ran as.
    pub role: Role,
    /// What it reported about itself.
    #[serde(flatten)]
    pub result: RunResult,
}

impl Agents {
    /// The results of all headless runs of a task, in the order of their starts.
    pub fn results(&self, task: &TaskId) -> Result<Vec<ResultOfRun>, DriverError> {
        let store = self.context.read_store()?;
        let project = store.require(task)?.task.project;
        let runs = store.runs(task)?;
        let results = runs.into_iter().filter_map(|run| {
            Some(ResultOfRun {
                result: self.result_of(&project, &run)?,
                run: run.id,
                role: run.role,
            })
        });
        Ok(results.collect())
    }

    /// The result of a run; `None` if the run is not headless, or its harness does not define how
    /// to read results.
    pub(crate) fn result_of(&self, project: &ProjectName, run: &RunRecord) -> Option<RunResult> {
        if !run.headless {
            return None;
        }
        let folder = self
            .context
            .launch_directory(project, &run.task, &run.id)
            .ok()?;
        let printed = read_tail(&result_file(&folder), MAX_BYTES)?;
        let harnesses = self.context.harnesses().ok()?;
        let harness = harnesses.require(&run.harness).ok()?;
        let locations = harness.result.as_ref()?;
        Some(locations.read(&printed, &harness.deaths))
    }
}

/// The last bytes of a regular file; `None` for anything else, because reading a pipe or a device
/// might never stop.
pub(crate) fn read_tail(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    let metadata = path.metadata().ok().filter(Metadata::is_file)?;
    let mut file = File::open(path).ok()?;
    let from = metadata.len().saturating_sub(max_bytes);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
