//! What a list shows about a task beyond its row, without git.

use std::collections::BTreeMap;
use std::sync::Arc;

use orange_config::clock;
use orange_engine::Workflow;
use orange_engine::attention::{Need, need, question};
use orange_engine::input::{DecisionContext, Facts};
use orange_engine::language::when::{Operator, When};
use orange_engine::names::{HarnessName, ProjectName, TaskId, WorkflowName};
use orange_engine::next_step::NextStep;
use orange_engine::role::Role;
use orange_engine::task::Submission;
use orange_engine::{Task, next_steps};
use orange_store::{FileStamp, ImportResult, REVIEW_ROUND_FIELD, Store, TaskDirectory};

use crate::DriverError;
use crate::context::Context;
use crate::context::ids;
use crate::steps::pinned_workflow;
use crate::views::Views;

/// A quick view of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSummary {
    /// The harness that works on the task now, or will.
    pub harness: HarnessName,
    /// The workflow it is pinned to.
    pub workflow: WorkflowName,
    /// Where the task can go, judging by its TASK.md and without git.
    pub ways: Vec<NextStep>,
    /// The maximum number of reviews.
    pub rounds: Option<i64>,
    /// The agent that can be respawned.
    pub respawn: Option<Role>,
    /// Whether it was cancelled, so that it can be reopened.
    pub is_cancelled: bool,
    /// What its agent asks the user.
    pub question: Option<String>,
    /// The number of unread messages.
    pub unread: usize,
    /// The commit that was submitted.
    pub submission: Option<Submission>,
}

/// Reads summaries of tasks, one after the other.
#[derive(Debug)]
pub struct SummaryReader {
    context: Arc<Context>,
    store: Store,
    /// What each summary was read from.
    sources: BTreeMap<TaskId, Source>,
}

/// What a summary was read from; while it is the same, so is the summary.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    /// The last commit of the store.
    sequence: u64,
    project: ProjectName,
    file: Option<FileStamp>,
}

impl Views {
    pub fn summary_reader(&self) -> Result<SummaryReader, DriverError> {
        Ok(SummaryReader {
            context: Arc::clone(&self.context),
            store: Store::open_read_only(&self.context.home)?,
            sources: BTreeMap::new(),
        })
    }
}

impl SummaryReader {
    /// Those of these tasks whose summary may differ from the last one that was read: the store or
    /// the task's TASK.md has changed.
    pub fn changed_tasks(&mut self, tasks: &[TaskId]) -> Result<Vec<TaskId>, DriverError> {
        self.reopen_if_replaced()?;
        let sequence = self.store.sequence()?;
        let is_unchanged = |id: &&TaskId| {
            let source = self.sources.get(*id);
            source.is_some_and(|source| {
                // A file that could not be inspected may have changed.
                source.sequence == sequence
                    && source.file.is_some()
                    && source.file == self.file_stamp(&source.project, id)
            })
        };
        let changed = tasks.iter().filter(|id| !is_unchanged(id));
        Ok(changed.cloned().collect())
    }

    fn file_stamp(&self, project: &ProjectName, task: &TaskId) -> Option<FileStamp> {
        let directory = TaskDirectory::new(&self.context.home, project, task).ok()?;
        FileStamp::of_task_file(&directory)
    }

    /// A rebuild replaces the database.
    fn reopen_if_replaced(&mut self) -> Result<(), DriverError> {
        if self.store.is_replaced() {
            self.store = Store::open_read_only(&self.context.home)?;
            self.sources.clear();
        }
        Ok(())
    }

    /// A quick view of a task; writes nothing.
    pub fn read_summary(&mut self, task: &TaskId) -> Result<TaskSummary, DriverError> {
        self.reopen_if_replaced()?;
        // What changes while it is read is read again next time.
        let sequence = self.store.sequence()?;
        let stored = self.store.require(task)?;
        let project = stored.task.project.clone();
        let file = self.file_stamp(&project, task);
        let source = Source {
            sequence,
            project,
            file,
        };
        self.sources.insert(task.clone(), source);
        let document = match orange_store::peek(&self.store, task)? {
            ImportResult::Read(imported) => Some(imported.document),
            ImportResult::Unknown(_) => None,
        };
        let question = document.as_ref().and_then(question);
        let context = DecisionContext {
            at: clock::now(),
            fresh: ids::fresh()?,
            document,
            facts: Facts {
                entered: stored.task.entered.version,
                ..Facts::default()
            },
        };
        let unread = self.store.inbox(task)?;
        let unread = unread.iter().filter(|it| it.read_at.is_none()).count();
        let workflow = &*pinned_workflow(&stored)?;
        let task = &stored.task;
        let is_in_review = workflow
            .state(&task.status)
            .is_some_and(|state| state.expects.contains(&Role::Reviewer));
        let asks_user = workflow
            .state(&task.status)
            .is_some_and(|state| need(workflow, state) == Some(Need::Question));
        let harness = if is_in_review {
            &task.review_harness
        } else {
            &task.harness
        };
        Ok(TaskSummary {
            harness: harness.clone(),
            workflow: task.workflow.clone(),
            ways: next_steps(workflow, task, &context),
            rounds: rounds(workflow),
            respawn: missing_agent(workflow, task),
            is_cancelled: workflow.is_cancelled(&task.status),
            question: question.filter(|_| asks_user),
            unread,
            submission: stored.task.submission.clone(),
        })
    }
}

/// The limit that the workflow compares the number of reviews with.
fn rounds(workflow: &Workflow) -> Option<i64> {
    let guards = workflow.edges.iter().filter_map(|edge| edge.when.as_ref());
    let mut comparisons = guards.flat_map(When::comparisons);
    let is_bound = |operator| matches!(operator, Operator::Less | Operator::GreaterOrEqual);
    let found =
        comparisons.find(|it| it.field.as_str() == REVIEW_ROUND_FIELD && is_bound(it.operator));
    found.map(|comparison| comparison.value)
}

/// The first agent that is missing and that the status allows to respawn, expected ones first.
fn missing_agent(workflow: &Workflow, task: &Task) -> Option<Role> {
    let state = workflow.state(&task.status)?;
    let is_gone = |role: &&Role| match task.runs.get(*role) {
        None => true,
        Some(run) => run.state.has_ended(),
    };
    let expected = state
        .expects
        .iter()
        .filter(|it| state.respawn.contains_key(*it));
    let mut candidates = expected.chain(state.respawn.keys());
    candidates.find(is_gone).cloned()
}
