//! What the agents of tasks used, as they report it.

use std::collections::BTreeMap;

use orange_engine::names::TaskId;
use orange_engine::usage::Usage;
use orange_store::TaskRow;

use crate::DriverError;
use crate::views::Views;

impl Views {
    /// What the agents of a task used.
    pub fn usage_of(&self, task: &TaskId) -> Result<Usage, DriverError> {
        let store = self.context.read_store()?;
        let project = store.require(task)?.task.project;
        let harnesses = self.context.harnesses().ok();
        let runs = store.runs(task)?;
        Ok(self.agents.usage(harnesses.as_ref(), &project, &runs))
    }

    /// What the agents of each of these tasks used.
    pub fn usage<'a>(
        &self,
        tasks: impl IntoIterator<Item = &'a TaskRow>,
    ) -> Result<BTreeMap<TaskId, Usage>, DriverError> {
        let mut tasks = tasks.into_iter().peekable();
        // A home without a database has no tasks.
        if tasks.peek().is_none() {
            return Ok(BTreeMap::new());
        }
        let store = self.context.read_store()?;
        let harnesses = self.context.harnesses().ok();
        let mut usages = BTreeMap::new();
        for row in tasks {
            let runs = store.runs(&row.id)?;
            let usage = self.agents.usage(harnesses.as_ref(), &row.project, &runs);
            usages.insert(row.id.clone(), usage);
        }
        Ok(usages)
    }
}
