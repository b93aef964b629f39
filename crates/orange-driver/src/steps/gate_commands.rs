//! Runs gate commands outside every agent.
//!
//! A gate may take longer than an agent's shell allows, and must not end with the agent. So the
//! caller records which command it needs, a separate process (the gatherer) runs the command, and
//! the next caller that asks in the same state of the worktree takes the answer. Only the
//! gatherer's own lock is held meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_effects::command::{CommandError, CommandExit};
use orange_effects::git::Head;
use orange_engine::Task;
use orange_engine::input::CommandResult;
use orange_engine::names::TaskId;
use orange_store::{GateCommand, GateResult, Store, WorkspaceRecord};

use crate::DriverError;
use crate::context::GatherPolicy;
use crate::context::background::StartedProcess;
use crate::context::lock::Lock;
use crate::context::script_runs::GATE;
use crate::steps::Steps;

/// A shell's exit code for a program that does not exist.
const NOT_FOUND: i32 = 127;

/// A shell's exit code for a program that cannot be run.
const NOT_EXECUTABLE: i32 = 126;

/// What a shell adds to the number of the signal that killed a program.
const BY_SIGNAL: i32 = 128;

/// How often a command is run at most, if the worktree gets another commit each time.
const ROUNDS: usize = 3;

/// Command results, by program and arguments.
type Results = BTreeMap<Vec<String>, CommandResult>;

impl Steps {
    /// The results of gate commands, all for the same content of the worktree.
    pub(crate) fn command_results(
        &self,
        store: &mut Store,
        task: &Task,
        gates: &[GateCommand],
    ) -> Result<Results, DriverError> {
        let workspace = gate_workspace(store, task)?;
        match self.context.gathering {
            GatherPolicy::Here => self.run_gates(task, gates, &workspace),
            GatherPolicy::Detached(bound) => {
                self.wait_for_answers(store, task, gates, &workspace, Deadline::after(bound))
            }
        }
    }

    fn wait_for_answers(
        &self,
        store: &mut Store,
        task: &Task,
        gates: &[GateCommand],
        workspace: &WorkspaceRecord,
        deadline: Deadline,
    ) -> Result<Results, DriverError> {
        // Report an unreadable worktree and a missing sandbox at once: a gatherer would fail where
        // the caller cannot see it.
        self.head(task, workspace)?;
        self.workspaces.require_possible_sandbox(task)?;
        let commands: Vec<String> = gates.iter().map(|it| it.command.join(" ")).collect();
        let commands = commands.join("`, `");
        self.context
            .progress
            .report(format!("{}: `{commands}`", task.id));
        let mut gatherer = StartedProcess::none();
        let mut outcome = None;
        deadline.wait_for(|| {
            let result = self.check_answers(store, task, gates, workspace, &mut gatherer);
            outcome = result.transpose();
            outcome.is_some() || self.context.progress.is_over()
        });
        outcome.unwrap_or_else(|| {
            Err(DriverError::GateRunning {
                task: task.id.clone(),
                command: commands,
            })
        })
    }

    /// The answers, if all are there and still valid; otherwise starts a gatherer.
    fn check_answers(
        &self,
        store: &mut Store,
        task: &Task,
        gates: &[GateCommand],
        workspace: &WorkspaceRecord,
        gatherer: &mut StartedProcess,
    ) -> Result<Option<Results>, DriverError> {
        let commands = store.gate_commands(&task.id)?;
        let mut is_answered = true;
        for gate in gates {
            let recorded = commands.iter().find(|it| it.command == gate.command);
            let recorded = recorded.filter(|it| it.entered == gate.entered);
            if recorded.is_none() {
                store.request_gate_command(&task.id, gate, clock::now())?;
            }
            is_answered &= recorded.is_some_and(|it| it.answer.is_some());
        }
        if is_answered {
            return self.take_answers(store, task, gates, workspace);
        }
        if gatherer.is_another_due() {
            gatherer.note(
                self.context
                    .start_in_background(&["gather", task.id.as_str()])?,
            );
        }
        Ok(None)
    }

    /// Removes all answers from the store, and returns them if all were given for the current
    /// content of the worktree.
    fn take_answers(
        &self,
        store: &mut Store,
        task: &Task,
        gates: &[GateCommand],
        workspace: &WorkspaceRecord,
    ) -> Result<Option<Results>, DriverError> {
        let state = self.state(task, workspace)?;
        let mut results = Results::new();
        for gate in gates {
            let claimed = store.claim_gate_command(&task.id, &gate.command)?;
            let answer = claimed.and_then(|claimed| claimed.answer);
            if let Some(answer) = answer.filter(|answer| answer.state == state) {
                results.insert(gate.command.clone(), answer.result);
            }
        }
        Ok((results.len() == gates.len()).then_some(results))
    }

    /// Runs every requested command; one gatherer per task at a time.
    pub fn gather_requested(&self, task: &TaskId) -> Result<(), DriverError> {
        let mut store = self.context.store()?;
        let directory = store.require(task)?.directory;
        let Some(_lock) = Lock::to_gather(&directory)? else {
            return Ok(());
        };
        loop {
            let commands = store.gate_commands(task)?.into_iter();
            let required: Vec<GateCommand> = commands.filter(|it| it.answer.is_none()).collect();
            if required.is_empty() {
                return Ok(());
            }
            self.run_and_record(&mut store, task, &required)?;
        }
    }

    /// Runs commands and records their results, unless no caller needs them any more.
    fn run_and_record(
        &self,
        store: &mut Store,
        id: &TaskId,
        gates: &[GateCommand],
    ) -> Result<(), DriverError> {
        for _ in 0..ROUNDS {
            let task = store.require(id)?.task;
            let is_current = |it: &GateCommand| it.entered == task.entered.version;
            let Some(workspace) = store.workspace_of(id)? else {
                break;
            };
            if !gates.iter().all(is_current) {
                break;
            }
            let before = self.head(&task, &workspace)?;
            let results = self.run_gates(&task, gates, &workspace)?;
            if self.head(&task, &workspace)? != before {
                continue;
            }
            let state = self.state(&task, &workspace)?;
            for gate in gates {
                if let Some(result) = results.get(&gate.command) {
                    let answer = GateResult {
                        result: *result,
                        state: state.clone(),
                    };
                    store.record_gate_result(id, gate, &answer)?;
                }
            }
            return Ok(());
        }
        for gate in gates {
            store.claim_gate_command(id, &gate.command)?;
        }
        Ok(())
    }

    /// Runs gate commands in the workspace, one after the other.
    fn run_gates(
        &self,
        task: &Task,
        gates: &[GateCommand],
        workspace: &WorkspaceRecord,
    ) -> Result<Results, DriverError> {
        let mut results = Results::new();
        for gate in gates {
            let result = self.run_gate(task, gate, workspace)?;
            results.insert(gate.command.clone(), result);
        }
        Ok(results)
    }

    fn run_gate(
        &self,
        task: &Task,
        gate: &GateCommand,
        workspace: &WorkspaceRecord,
    ) -> Result<CommandResult, DriverError> {
        // A killed gatherer may have left a gate command running.
        let run = self.workspaces.end_remaining(GATE, task)?;
        let command = self
            .workspaces
            .workflow_command(task, &gate.command, workspace, GATE, Some(&run))?
            .timeout(Duration::from_secs(gate.timeout));
        match command.run() {
            Ok(finished) => Ok(match finished.ending {
                CommandExit::Code(code) => CommandResult::Exited(code),
                CommandExit::Signal(signal) => CommandResult::Exited(BY_SIGNAL + signal),
                CommandExit::TimedOut(_) => CommandResult::TimedOut,
            }),
            Err(CommandError::Missing { .. }) => Ok(CommandResult::Exited(NOT_FOUND)),
            Err(CommandError::NotStarted { .. }) => Ok(CommandResult::Exited(NOT_EXECUTABLE)),
            Err(error) => Err(error.into()),
        }
    }

    /// A fingerprint of the worktree's content.
    fn state(&self, task: &Task, workspace: &WorkspaceRecord) -> Result<String, DriverError> {
        let (_, git) = self.workspaces.repository_of(task)?;
        Ok(git.worktree(&workspace.path)?.state_hash()?)
    }

    fn head(&self, task: &Task, workspace: &WorkspaceRecord) -> Result<Head, DriverError> {
        let (_, git) = self.workspaces.repository_of(task)?;
        Ok(git.worktree(&workspace.path)?.head()?)
    }
}

fn gate_workspace(store: &Store, task: &Task) -> Result<WorkspaceRecord, DriverError> {
    let workspace = store.workspace_of(&task.id)?;
    workspace.ok_or_else(|| DriverError::FactUnknown {
        task: task.id.clone(),
        what: "the result of a command",
        reason: String::from("it has no workspace to run the command in"),
    })
}
