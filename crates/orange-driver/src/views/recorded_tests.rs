//! What the command gates of a task have shown.

use orange_engine::event::Fact;
use orange_engine::language::gates::GateKind;
use orange_engine::names::{CommitId, TaskId};

use crate::DriverError;
use crate::steps::pinned_workflow;
use crate::views::Views;
use crate::workspaces::test_run::TestResult;

impl Views {
    /// What the command gates of a task's workflow have shown for a commit of its branch. A gate
    /// that failed leaves no record, so without a success the result is unknown.
    pub fn recorded_tests(
        &self,
        task: &TaskId,
        head: Option<&CommitId>,
    ) -> Result<TestResult, DriverError> {
        let store = self.context.read_store()?;
        let workflow = pinned_workflow(&store.require(task)?)?;
        let commands = workflow.gates.values().filter_map(|gate| match &gate.kind {
            GateKind::Command(gate) => Some(gate.evidence()),
            _ => None,
        });
        let commands: Vec<String> = commands.collect();
        if commands.is_empty() || head.is_none() {
            return Ok(TestResult::NotRun);
        }
        let events = store.events(task, 0)?.into_iter().rev();
        let mut successes = events.filter_map(|it| match it.event.fact {
            Fact::StatusChanged(change)
                if change.evidence.iter().any(|it| commands.contains(it)) =>
            {
                let is_complete = commands.iter().all(|it| change.evidence.contains(it));
                Some((change.submission, is_complete))
            }
            _ => None,
        });
        Ok(match successes.next() {
            Some((Some(submission), true)) if Some(&submission.commit) == head => {
                TestResult::Passed
            }
            Some((Some(submission), false)) if Some(&submission.commit) == head => {
                let reason = "only some of the gates have recorded a success";
                TestResult::Unknown(String::from(reason))
            }
            Some(_) => TestResult::Unknown(String::from("they passed for an earlier commit")),
            None => TestResult::Unknown(String::from("no gate has recorded a success")),
        })
    }
}
