//! Checks new tasks before any of them is created.

use std::collections::BTreeMap;

use orange_config::clock;
use orange_engine::input::{DecisionContext, Facts};
use orange_engine::language::workflow::Kind;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::{Decision, Refusal, create};
use orange_store::{RowFilter, StoreError, TaskRow};

use super::branch_name::BranchPattern;
use super::create::{NewTaskPlan, NewTaskRequest};
use super::{Steps, pinned_workflow};
use crate::DriverError;
use crate::context::ids;

/// What would become of a new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewTaskOutlook {
    /// It can be created.
    Possible,
    /// The project has a task with this summary that was not cancelled.
    Exists(Box<TaskRow>),
    Refused(Box<Refusal>),
    /// Its branch could not be named.
    Unnamed(String),
}

impl Steps {
    /// What would become of these new tasks, which differ in nothing but their text. Creates
    /// nothing.
    pub(crate) fn preview(
        &self,
        new: &[NewTaskRequest],
    ) -> Result<Vec<NewTaskOutlook>, DriverError> {
        let Some(first) = new.first() else {
            return Ok(Vec::new());
        };
        let plan = self.prepare_new_task(first)?;
        let existing = self.tasks_by_summary(&plan.project.name)?;
        let outlooks = new.iter().map(|new| match existing.get(&new.summary) {
            Some(row) => Ok(NewTaskOutlook::Exists(Box::new(row.clone()))),
            None => outlook(&plan, new),
        });
        outlooks.collect()
    }

    /// The tasks of a project that were not cancelled, by their summaries. Of several with one
    /// summary, one that has not finished.
    fn tasks_by_summary(
        &self,
        project: &ProjectName,
    ) -> Result<BTreeMap<String, TaskRow>, DriverError> {
        let store = match self.context.read_store() {
            Err(StoreError::Missing { .. }) => return Ok(BTreeMap::new()),
            store => store?,
        };
        let filter = RowFilter {
            project: Some(project.clone()),
            ..RowFilter::default()
        };
        let mut found: BTreeMap<String, TaskRow> = BTreeMap::new();
        for row in store.rows(&filter)?.rows {
            let is_finished = row.kind == Some(Kind::Terminal);
            if is_finished {
                let stored = store.require(&row.id)?;
                let workflow = pinned_workflow(&stored)?;
                if workflow.is_cancelled(&row.status) || found.contains_key(&row.summary) {
                    continue;
                }
            }
            found.insert(row.summary.clone(), row);
        }
        Ok(found)
    }
}

fn outlook(plan: &NewTaskPlan, new: &NewTaskRequest) -> Result<NewTaskOutlook, DriverError> {
    let id = TaskId::new("0".repeat(ids::SHORTEST));
    let pattern = BranchPattern::new(&plan.branch_template, &new.summary);
    let branch = match pattern.branch_of(&id) {
        Ok(branch) => branch,
        Err(error) => return Ok(NewTaskOutlook::Unnamed(error.to_string())),
    };
    let context = DecisionContext {
        at: clock::now(),
        fresh: ids::fresh()?,
        document: None,
        facts: Facts::default(),
    };
    let decision = create(&plan.workflow, &plan.new_task(&id, branch, new), &context);
    Ok(match decision {
        Decision::Refusal(refusal) => NewTaskOutlook::Refused(Box::new(refusal)),
        Decision::Plan(_) | Decision::Needs(_) => NewTaskOutlook::Possible,
    })
}
