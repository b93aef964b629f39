//! Runs a verification command of the user on a commit.
//!
//! The command comes from the user's own configuration; the code it runs comes from agents, as in
//! any worktree of a task. The command may run twice, because the process that runs it may be
//! killed; processes that an earlier attempt left running are ended first.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use orange_config::Project;
use orange_config::clock::Deadline;
use orange_effects::command::CommandExit;
use orange_effects::git::{Git, GitError, MergeObstacle, Slot};
use orange_effects::process::marked_runs;
use orange_engine::Task;
use orange_engine::names::{CommitId, WorkspaceName};
use orange_store::Store;

use crate::DriverError;
use crate::context::script_runs::VERIFY;
use crate::workspaces::Workspaces;
use crate::workspaces::sandbox::task_commands::TaskCommand;

/// How much of the output an agent gets to see.
const MAX_OUTPUT: u64 = 4000;

/// A verification of merged results.
pub(crate) struct Verification<'a> {
    pub(crate) task: &'a Task,
    pub(crate) project: &'a Project,
    pub(crate) git: &'a Git,
    /// A command line for a shell.
    pub(crate) command: &'a str,
    pub(crate) timeout: Duration,
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
}

/// How a verification ended.
pub(super) enum VerificationRun {
    Exited {
        ending: CommandExit,
        log: PathBuf,
        /// Where its output begins in the log.
        start: u64,
    },
    Cancelled,
    /// The command could not be run.
    NotRun {
        log: PathBuf,
        reason: String,
    },
}

impl Workspaces {
    /// Runs the command on a merged result.
    pub(crate) fn verify(
        &self,
        verification: &Verification<'_>,
        commit: &CommitId,
    ) -> Result<Result<(), MergeObstacle>, GitError> {
        let command = verification.command.to_owned();
        Ok(match self.run_on(verification, commit)? {
            VerificationRun::Exited {
                ending: CommandExit::Code(0),
                ..
            } => Ok(()),
            VerificationRun::Exited { ending, log, start } => Err(MergeObstacle::NotVerified {
                command,
                ending: ending.to_string(),
                output: log_tail(&log, start),
                log,
            }),
            VerificationRun::Cancelled => Err(MergeObstacle::Cancelled),
            VerificationRun::NotRun { log, reason } => Err(MergeObstacle::NotVerified {
                command,
                ending: format!("could not be run: {reason}"),
                log,
                output: String::new(),
            }),
        })
    }

    /// Runs the command on a commit. The caller holds the merge lock.
    pub(super) fn run_on(
        &self,
        verification: &Verification<'_>,
        commit: &CommitId,
    ) -> Result<VerificationRun, GitError> {
        let Verification {
            task,
            project,
            git,
            command,
            ..
        } = *verification;
        self.context
            .progress
            .report(format!("{}: `{command}`", task.id));
        let title = format!("{command}, on {commit}");
        let (log, file) = match self.script_log(VERIFY, task, &title) {
            Ok(opened) => opened,
            Err(failure) => {
                return Ok(VerificationRun::NotRun {
                    log: PathBuf::new(),
                    reason: failure.error,
                });
            }
        };
        let not_run = |reason: String| VerificationRun::NotRun {
            log: log.clone(),
            reason,
        };
        let start = fs::metadata(&log).map_or(0, |it| it.len());
        let name = WorkspaceName::new(project.name.as_str());
        let path = self.context.home.verification().join(name.as_str());
        let slot = Slot {
            name: &name,
            path: &path,
        };
        if let Err(error) = self.end_verifications(project) {
            return Ok(not_run(error.to_string()));
        }
        let directory = match git.check_out_for_verification(&slot, commit)? {
            Ok(directory) => directory,
            Err(refusal) => return Ok(not_run(refusal.to_string())),
        };
        Ok(
            match self.run_verification(verification, &directory, file) {
                Ok(Some(ending)) => VerificationRun::Exited { ending, log, start },
                Ok(None) => VerificationRun::Cancelled,
                Err(reason) => not_run(reason),
            },
        )
    }

    /// Ends the processes that a verification for a task left running.
    pub(crate) fn end_verification(&self, task: &Task) -> Result<(), DriverError> {
        self.end_remaining(VERIFY, task)?;
        Ok(())
    }

    /// Ends the processes that earlier verifications of a project left running, for any of its
    /// tasks, because all verifications of a project share one worktree.
    fn end_verifications(&self, project: &Project) -> Result<(), DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let home = self.context.home.path().as_os_str();
        for (run, run_home) in marked_runs().unwrap_or_default() {
            if run_home.as_deref() != Some(home) || !run.as_str().starts_with(VERIFY) {
                continue;
            }
            let task = self.context.task_of_script(&run);
            let stored = task.map(|task| store.load(&task)).transpose()?.flatten();
            if let Some(stored) = stored.filter(|it| it.task.project == project.name) {
                self.end_remaining(VERIFY, &stored.task)?;
            }
        }
        Ok(())
    }

    /// Runs the command to its end; `None` if the merge was cancelled meanwhile.
    fn run_verification(
        &self,
        verification: &Verification<'_>,
        directory: &Path,
        log: File,
    ) -> Result<Option<CommandExit>, String> {
        let end_remaining = || {
            let ended = self.end_remaining(VERIFY, verification.task);
            ended.map_err(|error| error.to_string())
        };
        let run = end_remaining()?;
        let command = TaskCommand {
            program: "sh",
            arguments: &["-c", verification.command].map(str::to_owned),
            directory,
            variables: self.command_variables(verification.task, VERIFY, Some(&run)),
        };
        let Verification {
            task, project, git, ..
        } = verification;
        let command = self.command_in_verification(task, project, git, command);
        let command = command.map_err(|error| error.to_string())?;
        let command = command.timeout(verification.timeout);
        let mut was_cancelled = false;
        let ending = thread::scope(|scope| {
            let running = scope.spawn(|| command.run_into(log));
            while !running.is_finished() {
                Deadline::after(Duration::from_millis(500)).wait_for(|| running.is_finished());
                if !was_cancelled && (verification.is_cancelled)() {
                    was_cancelled = true;
                    end_remaining()?;
                }
            }
            let ending = running.join().map_err(|_| String::from("it panicked"))?;
            ending.map_err(|error| error.to_string())
        });
        end_remaining()?;
        Ok(Some(ending?).filter(|_| !was_cancelled))
    }
}

/// The last bytes that a log has after a position, as plain text.
fn log_tail(log: &Path, start: u64) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(
            start.max(length.saturating_sub(MAX_OUTPUT)),
        ))?;
        let mut bytes = Vec::new();
        file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_shown = |it: &char| !it.is_control() || matches!(it, '\n' | '\t');
    text.chars().filter(is_shown).collect()
}
