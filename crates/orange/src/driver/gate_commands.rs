//! How a command of a gate ends, told outside every agent.
//!
//! A gate may take longer than an agent's shell allows, and must not end with the agent. So who
//! asks notes what it wants to know, a gatherer runs the command, and whoever asks next in the same
//! state of the worktree takes the answer. Nothing is locked meanwhile but the gatherer's own lock.

use std::time::Duration;

use orange_engine::Task;
use orange_engine::input::CommandResult;
use orange_engine::names::TaskId;

use super::performer_lock::PerformerLock;
use super::wait::Called;
use super::{Driver, DriverError};
use crate::clock::{self, Deadline};
use crate::effects::command::{CommandError, Ending};
use crate::effects::git::Head;
use crate::store::{GateAnswer, GateCommand, Store, WorkspaceRecord};

/// What a shell answers for a program that does not exist.
const NOT_FOUND: i32 = 127;

/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

/// How often a command is run again because the worktree got another commit meanwhile.
const ROUNDS: usize = 3;

/// Who runs the commands of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// This process. Not for one that an agent's end could end.
    Here,
    /// A process of its own, which is waited for this long.
    Detached(Duration),
}

impl Driver {
    /// How a command of a gate ends.
    pub(super) fn command_result(
        &self,
        store: &mut Store,
        task: &Task,
        command: &[String],
        timeout: u64,
    ) -> Result<CommandResult, DriverError> {
        let workspace = gate_workspace(store, task)?;
        match self.gathering {
            Gathering::Here => self.run_gate(task, command, timeout, &workspace),
            Gathering::Detached(bound) => {
                let wanted = GateCommand {
                    command: command.to_vec(),
                    entered: task.entered.version,
                    timeout,
                    answer: None,
                };
                self.wait_for_answer(store, task, &wanted, &workspace, Deadline::after(bound))
            }
        }
    }

    fn wait_for_answer(
        &self,
        store: &mut Store,
        task: &Task,
        wanted: &GateCommand,
        workspace: &WorkspaceRecord,
        deadline: Deadline,
    ) -> Result<CommandResult, DriverError> {
        let mut called = Called::none();
        let mut outcome = None;
        deadline.wait_for(|| {
            let looked = self.look_for_answer(store, task, wanted, workspace, &mut called);
            outcome = looked.transpose();
            outcome.is_some()
        });
        outcome.unwrap_or_else(|| {
            Err(DriverError::GateRunning {
                task: task.id.clone(),
                command: wanted.command.join(" "),
            })
        })
    }

    /// The answer, if it is there and still holds; else somebody is made to find it out.
    fn look_for_answer(
        &self,
        store: &mut Store,
        task: &Task,
        wanted: &GateCommand,
        workspace: &WorkspaceRecord,
        called: &mut Called,
    ) -> Result<Option<CommandResult>, DriverError> {
        let known = store.gate_commands(&task.id)?;
        let known = known.into_iter().find(|it| it.command == wanted.command);
        let known = known.filter(|known| known.entered == wanted.entered);
        match known.map(|known| known.answer) {
            Some(Some(answer)) => {
                // Taken whether or not it holds: an old answer is no answer.
                let taken = store.take_gate_command(&task.id, &wanted.command)?;
                let is_ours = taken.and_then(|taken| taken.answer) == Some(answer.clone());
                let holds = is_ours && answer.state == self.state(task, workspace)?;
                return Ok(holds.then_some(answer.result));
            }
            Some(None) => {}
            None => store.want_gate_command(&task.id, wanted, clock::now())?,
        }
        if called.is_another_due() {
            called.note(self.start_apart("gather", &task.id)?);
        }
        Ok(None)
    }

    /// Runs every command that is wanted; one gatherer for each task at a time.
    pub fn gather_wanted(&self, task: &TaskId) -> Result<(), DriverError> {
        let mut store = self.store()?;
        let directory = store.require(task)?.directory;
        let Some(_lock) = PerformerLock::take_gathering(&directory)? else {
            return Ok(());
        };
        loop {
            let commands = store.gate_commands(task)?;
            let Some(wanted) = commands.into_iter().find(|it| it.answer.is_none()) else {
                return Ok(());
            };
            self.find_out(&mut store, task, &wanted)?;
        }
    }

    /// Runs a command and keeps how it ended, unless nobody wants to know any more.
    fn find_out(
        &self,
        store: &mut Store,
        id: &TaskId,
        wanted: &GateCommand,
    ) -> Result<(), DriverError> {
        for _ in 0..ROUNDS {
            let task = store.require(id)?.task;
            let held = store.workspace_of(id)?;
            let is_wanted = task.entered.version == wanted.entered;
            let Some(workspace) = held.filter(|_| is_wanted) else {
                break;
            };
            let before = self.head(&task, &workspace)?;
            let result = self.run_gate(&task, &wanted.command, wanted.timeout, &workspace)?;
            if self.head(&task, &workspace)? == before {
                let state = self.state(&task, &workspace)?;
                let answer = GateAnswer { result, state };
                return Ok(store.answer_gate_command(id, wanted, &answer)?);
            }
        }
        store.take_gate_command(id, &wanted.command)?;
        Ok(())
    }

    /// Runs a command of a gate in the workspace.
    fn run_gate(
        &self,
        task: &Task,
        command: &[String],
        seconds: u64,
        workspace: &WorkspaceRecord,
    ) -> Result<CommandResult, DriverError> {
        let command = self.own_command(task, command, workspace, "gate");
        match command.timeout(Duration::from_secs(seconds)).run() {
            Ok(finished) => Ok(match finished.ending {
                Ending::Code(code) => CommandResult::Exited(code),
                Ending::Signal(signal) => CommandResult::Exited(BY_SIGNAL + signal),
                Ending::TimedOut(_) => CommandResult::TimedOut,
            }),
            Err(CommandError::Missing { .. }) => Ok(CommandResult::Exited(NOT_FOUND)),
            Err(error) => Err(error.into()),
        }
    }

    /// One word for what the worktree holds.
    fn state(&self, task: &Task, workspace: &WorkspaceRecord) -> Result<String, DriverError> {
        let (_, git) = self.repository_of(task)?;
        Ok(git.worktree(&workspace.path)?.state()?)
    }

    fn head(&self, task: &Task, workspace: &WorkspaceRecord) -> Result<Head, DriverError> {
        let (_, git) = self.repository_of(task)?;
        Ok(git.worktree(&workspace.path)?.head()?)
    }
}

fn gate_workspace(store: &Store, task: &Task) -> Result<WorkspaceRecord, DriverError> {
    let held = store.workspace_of(&task.id)?;
    held.ok_or_else(|| DriverError::FactUnknown {
        task: task.id.clone(),
        what: "how a command ends",
        reason: String::from("it has no workspace to run it in"),
    })
}
