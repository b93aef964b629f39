//! Carries out `orange uninstall`, one step after the other.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_effects::process::{marked_runs, terminate};
use orange_effects::tmux::TmuxError;
use orange_engine::Task;
use orange_engine::names::{RunId, TaskId};
use orange_store::{Store, StoredTask, TaskFilter};

use super::{UninstallPlan, UninstallReport, export};
use crate::DriverError;
use crate::admin::Admin;
use crate::admin::skills::{SkillAction, SkillOutcome};
use crate::context::lock::Lock;

/// How long the supervisor or the tmux server may take to exit.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How long to wait for an effect that is being performed. A merge can take longer; then
/// the uninstall fails.
const PERFORMER_TIMEOUT: Duration = Duration::from_secs(3);

impl Admin {
    /// Stops everything, saves and exports work, and removes what orange has put on this machine.
    ///
    /// If something cannot be saved, it stays, and so do the home and the program. The report lists
    /// what stays, and another call finishes the removal. A program that the install script did not
    /// install stays too.
    pub fn uninstall(&self, plan: &UninstallPlan) -> Result<UninstallReport, DriverError> {
        self.callers.require_user("uninstall orange")?;
        let mut report = UninstallReport::default();
        self.remove_skills(&mut report);
        self.remove_servers(&mut report);
        if !self.context.home.path().exists() {
            report.is_removed = report.problems.is_empty();
            self.remove_program(&mut report);
            return Ok(report);
        }
        self.context.stop_supervisor(TIMEOUT)?;
        // Held until the end, so that no other supervisor starts agents again.
        let _supervision = self.context.take_supervision(false)?;
        let has_database = self.context.home.database().exists();
        let store = has_database.then(|| self.context.store());
        let mut store = store.transpose()?;
        let mut locks = Vec::new();
        let mut kept = BTreeSet::new();
        if let Some(store) = &mut store {
            self.end_merges(store, &mut report)?;
            let tasks = stored_tasks(store)?;
            for stored in &tasks {
                locks.extend(lock_task(stored)?);
            }
            let unstopped = self.stop_agents(store, &tasks, &mut report);
            kept = self.clear_projects(store, &tasks, &unstopped, &mut report)?;
        }
        self.clear_leftovers(&plan.export, &kept, &mut report)?;
        self.stop_tmux(&mut report);
        if report.problems.is_empty() {
            self.report_progress("removing orange's home directory");
            // Close the database first: closing it later would write its files again.
            drop(store);
            report.left = export::empty_home(&self.context.home, &plan.export)?;
            report.is_removed = report.left.is_empty();
        }
        drop(locks);
        report.export = Some(plan.export.clone()).filter(|it| it.exists());
        self.remove_program(&mut report);
        Ok(report)
    }

    /// The last step: without the program nothing else could be repeated.
    fn remove_program(&self, report: &mut UninstallReport) {
        if report.problems.is_empty() {
            report.program_problems = self.installed_files().remove();
        }
    }

    pub(super) fn report_progress(&self, action: &str) {
        self.context.progress.report(action.to_owned());
    }

    /// Finishes or undoes merges that were interrupted, while it is still known what they did.
    fn end_merges(
        &self,
        store: &mut Store,
        report: &mut UninstallReport,
    ) -> Result<(), DriverError> {
        for stored in stored_tasks(store)? {
            let id = &stored.task.id;
            if let Some(notice) = self.requests.performer.end_abandoned_merge(store, id)? {
                report.problems.push(format!(
                    "task `{id}`: {notice}; solve this, or give the merge up with \
                     `orange task cancel {id}`"
                ));
            }
        }
        Ok(())
    }

    fn remove_skills(&self, report: &mut UninstallReport) {
        let removed = match self.update_skills(None, SkillAction::Remove) {
            Err(DriverError::NoSkills(_)) => return,
            removed => removed,
        };
        match removed {
            Ok((skills, _)) => {
                let failed = skills
                    .iter()
                    .filter(|it| it.outcome == SkillOutcome::Failed);
                report.problems.extend(failed.map(|it| {
                    let reason = it.reason.as_deref().unwrap_or_default();
                    format!("skill `{}`: {reason}", it.path.display())
                }));
            }
            Err(error) => report.problems.push(format!("skills: {error}")),
        }
    }

    fn remove_servers(&self, report: &mut UninstallReport) {
        let removed = match self.update_mcp_servers(None, SkillAction::Remove) {
            Ok(removed) => removed,
            Err(error) => return report.problems.push(format!("MCP servers: {error}")),
        };
        let failed = removed
            .iter()
            .filter(|it| it.outcome == SkillOutcome::Failed);
        report.problems.extend(failed.map(|it| {
            let reason = it.reason.as_deref().unwrap_or_default();
            format!("MCP server in `{}`: {reason}", it.path.display())
        }));
    }

    /// Ends every agent, and the processes that earlier agents left running. Returns the tasks with
    /// an agent that may still be running; their worktrees must stay.
    fn stop_agents(
        &self,
        store: &Store,
        tasks: &[StoredTask],
        report: &mut UninstallReport,
    ) -> BTreeSet<TaskId> {
        let mut unstopped = BTreeSet::new();
        let home = self.context.home.path().as_os_str();
        let marked = match marked_runs() {
            Ok(marked) => marked.into_iter(),
            Err(error) => {
                let problem = format!("running agents are unknown, so worktrees are kept: {error}");
                report.problems.push(problem);
                return tasks.iter().map(|it| it.task.id.clone()).collect();
            }
        };
        let marked = marked.filter(|(_, of_home)| of_home.as_deref() == Some(home));
        let marked: BTreeSet<RunId> = marked.map(|(run, _)| run).collect();
        for stored in tasks {
            let task = &stored.task;
            self.report_progress(&format!("stopping the agents of {}", task.id));
            let stopped = self.stop_agents_of(store, task, &marked);
            if let Err(reason) = stopped {
                let id = &task.id;
                report
                    .problems
                    .push(format!("task `{id}`: {reason}; its worktree is kept"));
                unstopped.insert(id.clone());
            }
        }
        unstopped
    }

    fn stop_agents_of(
        &self,
        store: &Store,
        task: &Task,
        marked: &BTreeSet<RunId>,
    ) -> Result<(), String> {
        let runs = store.runs(&task.id).map_err(|error| error.to_string())?;
        let runs = runs.iter().filter(|run| {
            run.ended_at.is_none() && run.place.is_some() || marked.contains(&run.id)
        });
        let mut problems = Vec::new();
        for run in runs {
            if let Err(failure) = self.agents.end_run(store, task, &run.id) {
                problems.push(format!("cannot stop the {}: {}", run.role, failure.error));
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(problems.join("; "))
    }

    fn stop_tmux(&self, report: &mut UninstallReport) {
        let tmux = &self.context.tmux;
        match tmux.list() {
            Ok(listing) => {
                let _gone = terminate(&listing.server.process);
                let is_gone = || matches!(tmux.list(), Err(TmuxError::NoServer(_)));
                if Deadline::after(TIMEOUT).wait_for(is_gone) {
                    return;
                }
            }
            Err(TmuxError::NoServer(_)) => return,
            Err(_) if tmux.require_short_path().is_err() => return,
            Err(_) => {}
        }
        let socket = self.context.home.tmux_socket();
        report.problems.push(format!(
            "the tmux server of orange does not exit: run `tmux -S {} kill-server`",
            socket.display()
        ));
    }
}

fn stored_tasks(store: &Store) -> Result<Vec<StoredTask>, DriverError> {
    let listed = store.list(&TaskFilter::default())?.tasks.into_iter();
    let tasks = listed.map(|it| store.require(&it.task.id).map_err(DriverError::from));
    tasks.collect()
}

/// Takes the performer lock of a task, so that no process performs its effects any more. `None` if
/// the task has no directory.
fn lock_task(stored: &StoredTask) -> Result<Option<Lock>, DriverError> {
    let directory: &Path = &stored.directory;
    if !directory.exists() {
        return Ok(None);
    }
    let deadline = Deadline::after(PERFORMER_TIMEOUT);
    loop {
        if let Some(lock) = Lock::to_perform(directory)? {
            return Ok(Some(lock));
        }
        if deadline.has_passed() {
            let task = stored.task.id.clone();
            return Err(DriverError::TaskBusy { task });
        }
    }
}
