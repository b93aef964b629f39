//! Runs a test command on the committed work of a task.

use orange_effects::command::CommandExit;
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::workspaces::Workspaces;
use crate::workspaces::verification::{Verification, VerificationRun};

/// The exit codes of a shell that could not run a program.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// What is known about the tests of a task's last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestResult {
    Passed,
    /// How the command ended.
    Failed(String),
    /// Why it is not known.
    Unknown(String),
    /// Nothing has tested the task.
    NotRun,
}

impl Workspaces {
    /// Runs a command on the last commit of a task's branch, in the worktree for verifications.
    /// The task's own worktree is not touched. Merges of the repository wait for the command.
    pub fn run_tests(&self, task: &TaskId, command: &str) -> Result<TestResult, DriverError> {
        let Some(head) = self.diff_size(task)?.head else {
            return Ok(TestResult::NotRun);
        };
        let store = Store::open_read_only(&self.context.home)?;
        let task = store.require(task)?.task;
        let (project, git) = self.repository_of(&task)?;
        let timeout = self.context.settings(Some(&project))?.merge.verify_timeout;
        let _lock = git.lock_merges()?;
        let verification = Verification {
            task: &task,
            project: &project,
            git: &git,
            command,
            timeout,
            is_cancelled: &|| self.context.progress.is_over(),
        };
        Ok(match self.run_on(&verification, &head)? {
            VerificationRun::Exited {
                ending: CommandExit::Code(0),
                ..
            } => TestResult::Passed,
            VerificationRun::Exited {
                ending: CommandExit::Code(code @ (NOT_EXECUTABLE | NOT_FOUND)),
                ..
            } => TestResult::Unknown(format!("`{command}` could not be run (exit code {code})")),
            VerificationRun::Exited { ending, .. } => TestResult::Failed(ending.to_string()),
            VerificationRun::Cancelled => TestResult::Unknown(String::from("interrupted")),
            VerificationRun::NotRun { reason, .. } => TestResult::Unknown(reason),
        })
    }
}
