//! Gathers the facts that a decision needs, without a lock.

use orange_effects::private_file::{self, PrivateFileError};
use orange_engine::Task;
use orange_engine::apply::origin;
use orange_engine::decision::Needs;
use orange_engine::event::Event;
use orange_engine::input::{FactNeeded, GitFacts, UncommittedWork};
use orange_engine::language::gates::GitCondition;
use orange_engine::names::{BranchName, CommitId, RunId};
use orange_engine::report::Report;
use orange_store::{GateCommand, Store, StoredTask, UnreadableReason};

use crate::DriverError;
use crate::context::run_location::{report_file, repository_file};
use crate::steps::{GatheredFacts, Steps, read_document};
use crate::workspaces::kept::missing_worktree_notice;
use crate::workspaces::repository::BranchQuestion;

/// The largest report in bytes; a larger one is not read.
const LARGEST_REPORT: u64 = 1024 * 1024;

impl Steps {
    /// Whether the task has a pull request or its project may be on a forge.
    pub(crate) fn may_be_on_forge(&self, task: &Task) -> bool {
        let projects = self.forge.projects_on_forge();
        task.pull_request.is_some() || projects.map_or(true, |it| it.contains(&task.project))
    }

    /// Adds the needed facts to the known ones, or fails if one of them is unavailable.
    pub(crate) fn gather(
        &self,
        store: &mut Store,
        stored: &StoredTask,
        needs: &Needs,
        known: &mut GatheredFacts,
    ) -> Result<(), DriverError> {
        let task = &stored.task;
        known.facts.entered = needs.entered;
        let mut commands = Vec::new();
        let runs_commands = |fact: &FactNeeded| matches!(fact, FactNeeded::Command { .. });
        if needs.facts.iter().any(runs_commands) {
            self.workspaces.import_commits(store, task)?;
        }
        for fact in &needs.facts {
            match fact {
                FactNeeded::Document => {
                    if known.unreadable.is_none() {
                        read_document(store, &task.id, known)?;
                    }
                    if known.is_end_of_run {
                        read_last_document(store, task, known)?;
                    }
                    if let Some(unreadable) = &known.unreadable
                        && known.document.is_none()
                    {
                        return Err(DriverError::DocumentUnknown {
                            task: task.id.clone(),
                            reason: unreadable.to_string(),
                        });
                    }
                }
                FactNeeded::Git => {
                    let question = BranchQuestion {
                        branch: known.branch.as_ref(),
                        head: known.head.as_ref(),
                        is_merge: known.is_merge,
                    };
                    let facts = self.workspaces.git_facts(store, task, question);
                    let branch = known.branch.as_ref().unwrap_or(&task.branch);
                    known.facts.git = Some(match facts {
                        Ok(facts) => {
                            let notice = self.task_file_notice(task, branch, &facts)?;
                            known.notices.extend(notice);
                            facts
                        }
                        Err(DriverError::FactUnknown { reason, .. }) if known.is_end_of_run => {
                            facts_without_branch(reason)
                        }
                        Err(error) => return Err(error),
                    });
                }
                FactNeeded::Origin => {
                    let events = store.events(&task.id, 0)?.into_iter();
                    let events: Vec<Event> = events.map(|recorded| recorded.event).collect();
                    let origin = origin(&events).map_err(|error| DriverError::FactUnknown {
                        task: task.id.clone(),
                        what: "its history",
                        reason: error.to_string(),
                    })?;
                    known.facts.origin = Some(origin);
                }
                FactNeeded::PullRequest => {
                    let facts = self.forge.facts(store, task);
                    let facts = facts.map_err(|failure| failure.into_driver_error(&task.id))?;
                    known.facts.pull_request = Some(facts);
                }
                FactNeeded::Report { run } => {
                    let report = self.report(task, run)?;
                    let changes = self.changes_during(store, task, run)?;
                    let report = match changes {
                        Some(changes) => Some(Report::with_changed_repository(report, &changes)),
                        None => report,
                    };
                    known.facts.reports.insert(run.clone(), report);
                }
                FactNeeded::Command { command, timeout } => {
                    commands.push(GateCommand {
                        command: command.clone(),
                        entered: task.entered.version,
                        timeout: *timeout,
                        answer: None,
                    });
                }
            }
        }
        if !commands.is_empty() {
            let results = self.command_results(store, task, &commands)?;
            known.facts.commands.extend(results);
        }
        Ok(())
    }

    /// A notice for the user if TASK.md is in the branch's commits. It is given at once, because no
    /// merge accepts the file, and more and more commits will contain it.
    fn task_file_notice(
        &self,
        task: &Task,
        branch: &BranchName,
        facts: &GitFacts,
    ) -> Result<Option<String>, DriverError> {
        if facts
            .met_conditions
            .contains(&GitCondition::TaskFileUntracked)
        {
            return Ok(None);
        }
        let projects = self.context.projects()?;
        let file = &projects.require(&task.project)?.task_file;
        Ok(Some(format!(
            "`{file}` was committed to `{branch}`, so it cannot be merged; remove it with \
             `git rm --cached {file}` and `git commit --amend`, or with `git rebase -i`"
        )))
    }

    /// The report of a headless run, if it left one; for an unreadable report, one that holds the
    /// reason.
    fn report(&self, task: &Task, run: &RunId) -> Result<Option<Report>, DriverError> {
        let directory = self.context.run_directory(&task.project, &task.id, run)?;
        let path = report_file(&directory);
        let bytes = match private_file::read_from_agent(&path, LARGEST_REPORT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(PrivateFileError::System { reason, .. }) => {
                return Err(DriverError::FactUnknown {
                    task: task.id.clone(),
                    what: "the report",
                    reason,
                });
            }
            Err(error) => return Ok(Some(Report::unreadable(error.to_string()))),
        };
        let parsed = Report::find_object(&bytes)
            .and_then(|object| serde_json::from_str(object).map_err(|error| error.to_string()));
        Ok(Some(parsed.unwrap_or_else(Report::unreadable)))
    }
}

/// The largest saved state of a repository in bytes.
const LARGEST_STATE: u64 = 64 * 1024 * 1024;

impl Steps {
    /// What changed in the repository during a run that may only read it; `None` for any other run
    /// and if nothing changed.
    fn changes_during(
        &self,
        store: &Store,
        task: &Task,
        run: &RunId,
    ) -> Result<Option<String>, DriverError> {
        let directory = self.context.run_directory(&task.project, &task.id, run)?;
        let path = repository_file(&directory);
        let saved = match private_file::read_from_agent(&path, LARGEST_STATE) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let changes = saved.and_then(|saved| {
            let changes = self.workspaces.repository_changes(store, task, &saved);
            changes.map_err(|error| error.to_string())
        });
        Ok(changes.unwrap_or_else(|error| Some(format!("it cannot be compared: {error}"))))
    }
}

/// The facts about a branch that an agent renamed or deleted: no condition holds.
fn facts_without_branch(reason: String) -> GitFacts {
    GitFacts {
        head: CommitId::new(""),
        base: CommitId::new(""),
        met_conditions: Vec::new(),
        uncommitted: UncommittedWork {
            others: vec![reason],
            ..UncommittedWork::default()
        },
        named: None,
    }
}

/// Uses the last known text if TASK.md cannot be read, as if the file had been removed: an agent
/// that has ended will not repair it. A file that is just being written is read later.
fn read_last_document(
    store: &Store,
    task: &Task,
    known: &mut GatheredFacts,
) -> Result<(), DriverError> {
    let Some(unreadable) = &known.unreadable else {
        return Ok(());
    };
    if *unreadable == UnreadableReason::Changing {
        return Ok(());
    }
    known.document = orange_store::last_document(store, &task.id)?;
    let id = &task.id;
    let workspace = store.workspace_of(id)?;
    let is_gone = workspace.is_some_and(|it| !it.path.is_dir());
    known.notices.push(if is_gone {
        missing_worktree_notice(id)
    } else {
        format!(
            "TASK.md cannot be read: {unreadable}; correct it, or remove it, and orange \
             restores its last text"
        )
    });
    Ok(())
}
