//! Creates the child tasks that a report asks for.

use orange_engine::Task;
use orange_engine::effect::{EffectId, EffectOutcome};
use orange_engine::names::{BranchName, TaskId};
use orange_engine::report::Delegation;
use orange_engine::role::Role;
use orange_engine::task::{AgentSettings, Queueing};
use orange_store::Store;

use crate::DriverError;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::steps::create::{CreateResult, NewTaskRequest};

/// How many children one report may request.
const MAX_CHILDREN: usize = 20;

/// How many generations there may be, including the first task.
const MAX_GENERATIONS: usize = 4;

impl Performer {
    /// Makes sure that each delegation has its task. A child is identified by its branch, which
    /// names the effect and the position in the report, so that a retry creates no duplicates.
    pub(crate) fn create_children(
        &self,
        store: &mut Store,
        task: &Task,
        effect: EffectId,
        delegations: &[Delegation],
    ) -> Result<EffectOutcome, Failure> {
        let count = delegations.len();
        if count > MAX_CHILDREN {
            return Err(Failure::permanent(format!(
                "the report requests {count} children, but at most {MAX_CHILDREN} are allowed; \
                 create those you want with `orange task create --parent {}`",
                task.id
            )));
        }
        if generation(store, task).map_err(Failure::temporary)? >= MAX_GENERATIONS {
            return Err(Failure::permanent(format!(
                "the report requests children, but at most {MAX_GENERATIONS} generations of tasks \
                 are allowed; create those you want with `orange task create --parent {}`",
                task.id
            )));
        }
        let mut children = Vec::new();
        for (index, delegation) in delegations.iter().enumerate() {
            let number = index + 1;
            let branch = BranchName::new(format!("orange-tasks/{}-{effect}-{number}", task.id));
            let existing = child_on(store, task, &branch);
            let child = match existing.map_err(Failure::temporary)? {
                Some(child) => child,
                None => self.create_child(task, branch, number, delegation)?,
            };
            children.push(child);
        }
        self.scheduler
            .start_if_unsupervised(store, &children)
            .map_err(Failure::temporary)?;
        Ok(EffectOutcome::Children(children))
    }

    /// Creates one child. Performs none of its effects: the child has its own performer.
    fn create_child(
        &self,
        task: &Task,
        branch: BranchName,
        number: usize,
        delegation: &Delegation,
    ) -> Result<TaskId, Failure> {
        let harnesses = self.context.harnesses().map_err(Failure::temporary)?;
        let suggested = delegation.suggested_agent.clone();
        let suggested = suggested.filter(|name| harnesses.require(name).is_ok());
        let harness = suggested.unwrap_or_else(|| task.harness.clone());
        let is_same = harness == task.harness;
        let new = NewTaskRequest {
            project: Some(task.project.clone()),
            by: Role::Worker,
            summary: title(task, number, delegation),
            context: context(delegation),
            branch: Some(branch),
            workflow: Some(task.workflow.to_string()),
            harness: Some(harness),
            review_harness: Some(task.review_harness.clone()),
            status: None,
            agent_settings: if is_same {
                task.agent_settings.clone()
            } else {
                AgentSettings::default()
            },
            labels: delegation.labels.clone(),
            queueing: Queueing {
                priority: task.queueing.priority,
                parent: Some(task.id.clone()),
                starts_automatically: true,
                ..Queueing::default()
            },
            issue: None,
            job: None,
            pull_request: None,
        };
        let mut result = self.steps.create(&new).map_err(Failure::temporary)?;
        match result.created {
            CreateResult::Recorded(recorded) => {
                if recorded.copies.is_err() {
                    let synced = self.steps.sync_files(&mut result.store, &recorded.task);
                    self.steps.log_failure(&recorded.task, synced);
                }
                Ok(recorded.task)
            }
            CreateResult::Refused(refusal) => Err(Failure::permanent(refusal)),
        }
    }
}

/// The number of tasks from the root down to this one.
fn generation(store: &Store, task: &Task) -> Result<usize, DriverError> {
    let mut generation = 1;
    let mut parent = task.queueing.parent.clone();
    while let Some(id) = parent.filter(|_| generation < MAX_GENERATIONS) {
        generation += 1;
        parent = store.require(&id)?.task.queueing.parent;
    }
    Ok(generation)
}

/// The title of a child: one line, without NUL, which no file or argument can hold.
fn title(task: &Task, number: usize, delegation: &Delegation) -> String {
    let clean = delegation.title.replace('\0', " ");
    let title = clean.split_whitespace().collect::<Vec<&str>>().join(" ");
    if title.is_empty() {
        return format!("Part {number} of: {}", task.summary);
    }
    title
}

fn context(delegation: &Delegation) -> Option<String> {
    let mut text = delegation.body.replace('\0', " ").trim().to_owned();
    if !delegation.labels.is_empty() {
        let labels = delegation.labels.join(", ").replace('\0', " ");
        text.push_str("\n\nLabels: ");
        text.push_str(&labels);
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn child_on(
    store: &Store,
    task: &Task,
    branch: &BranchName,
) -> Result<Option<TaskId>, DriverError> {
    for child in store.children(&task.id)? {
        if store.require(&child.task)?.task.branch == *branch {
            return Ok(Some(child.task));
        }
    }
    Ok(None)
}
