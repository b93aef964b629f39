//! Writes the file that tells a run what happened before it.
//!
//! The file is in the run's directory, outside the worktree, so git never sees it. It is written
//! before the files that start the run, and again if the start is prepared again.

use std::fmt::Write as _;
use std::path::Path;

use orange_config::Project;
use orange_effects::private_file;
use orange_engine::Task;
use orange_engine::context_file::{
    CONTEXT_FILE, ContextFacts, Parent, Source, compose, earlier_attempts, error_to_tell,
    last_report, relative_path,
};
use orange_engine::effect::Spawn;
use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_store::steps::reach;
use orange_store::{Store, TaskDirectory};

use crate::DriverError;
use crate::context::notes;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::workspaces::rescues::RescueInfo;

/// The project's own instructions for runs of orange, below the repository.
const INSTRUCTIONS: &str = ".orange/instructions.md";

/// The largest file that is read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Whether a prompt sends its run to the context file. The name of the run is in it, so no other
/// text of the prompt can look like it.
pub(super) fn names_context_file(spawn: &Spawn) -> bool {
    spawn.prompt.contains(&relative_path(&spawn.run))
}

impl Performer {
    /// Writes the file of a run whose prompt names it, and puts the whole path into the prompt.
    pub(super) fn with_context_file(
        &self,
        store: &Store,
        task: &Task,
        project: &Project,
        spawn: &Spawn,
        prompt: &str,
    ) -> Result<String, Failure> {
        if !names_context_file(spawn) {
            return Ok(prompt.to_owned());
        }
        let directory = self
            .context
            .run_directory(&task.project, &task.id, &spawn.run);
        let path = directory.map_err(Failure::permanent)?.join(CONTEXT_FILE);
        let facts = self.context_facts(store, task, project, spawn);
        let text = compose(&task.id, &facts.map_err(Failure::temporary)?);
        private_file::write(&path, text.as_bytes()).map_err(Failure::temporary)?;
        reach("the context file is written");
        let path = path.display().to_string();
        Ok(prompt.replace(&relative_path(&spawn.run), &path))
    }

    fn context_facts(
        &self,
        store: &Store,
        task: &Task,
        project: &Project,
        spawn: &Spawn,
    ) -> Result<ContextFacts, DriverError> {
        let attempts = earlier_attempts(&events(store, &task.id)?, &spawn.role, &spawn.run);
        let diff = if attempts.is_empty() {
            String::new()
        } else {
            self.uncommitted_changes(&task.id)
        };
        let tree = if self.context.settings(Some(project))?.context_tree {
            self.workspaces.files_of_branch(task)?
        } else {
            Vec::new()
        };
        Ok(ContextFacts {
            parent: parent(store, task)?,
            last_error: error_to_tell(task.last_error.as_ref(), &attempts),
            attempts,
            issue: self.issue(task)?,
            notes: notes::accepted(&self.context, &task.project)?,
            instructions: read_source(&project.path.join(INSTRUCTIONS)),
            skills: self.skills(task, &spawn.role),
            tree,
            diff,
            other_branches: self.other_branches(task)?,
        })
    }

    /// What earlier runs left uncommitted. A failure is said in the file: it must not prevent the
    /// start.
    fn uncommitted_changes(&self, task: &TaskId) -> String {
        let uncommitted = match self.workspaces.diff(task, false, false) {
            Ok(diff) => diff.uncommitted,
            Err(error) => return format!("The changes could not be read: {error}"),
        };
        let Some(part) = uncommitted else {
            return String::new();
        };
        let mut text = String::from_utf8_lossy(&part.text).into_owned();
        for path in &part.omitted {
            let _never_fails = writeln!(text, "not shown: {}", path.display());
        }
        text
    }

    /// What earlier runs committed on branches that are not the task's.
    fn other_branches(&self, task: &Task) -> Result<String, DriverError> {
        let rescues = self.workspaces.rescues_of(&task.id, None)?;
        let mut text = String::new();
        for rescue in RescueInfo::other_branches(&rescues) {
            if let Some(notice) = rescue.describe_other_branch() {
                let _never_fails = writeln!(text, "{notice}:");
            }
            for commit in &rescue.branch_commits {
                let _never_fails = writeln!(text, "  {commit}");
            }
        }
        Ok(text)
    }

    /// The text of the issue that the task is for.
    fn issue(&self, task: &Task) -> Result<Option<Source>, DriverError> {
        if task.issue.is_none() {
            return Ok(None);
        }
        let directory = TaskDirectory::new(&self.context.home, &task.project, &task.id)?;
        Ok(read_source(&directory.issue_file()))
    }

    /// The skills that were chosen for the worker.
    fn skills(&self, task: &Task, role: &Role) -> Vec<(String, Source)> {
        let route = task.routing.route.as_ref();
        let route = route.filter(|_| *role == Role::Worker);
        let names = route.into_iter().flat_map(|route| &route.skills);
        let skills = names.filter_map(|name| {
            let (path, text) = self.context.skill(task, name)?;
            Some((name.clone(), source(&path, text)))
        });
        skills.collect()
    }
}

fn parent(store: &Store, task: &Task) -> Result<Option<Parent>, DriverError> {
    let Some(id) = &task.queueing.parent else {
        return Ok(None);
    };
    let events = events(store, id)?;
    Ok(last_report(&events).map(|report| Parent {
        id: id.clone(),
        report: report.clone(),
    }))
}

fn events(store: &Store, task: &TaskId) -> Result<Vec<Event>, DriverError> {
    let events = store.events(task, 0)?.into_iter();
    Ok(events.map(|it| it.event).collect())
}

/// A file that may be missing. One that cannot be read, or is too large, is left out.
fn read_source(path: &Path) -> Option<Source> {
    let bytes = private_file::read_from_agent(path, MAX_FILE).ok()??;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then(|| source(path, text))
}

fn source(path: &Path, text: String) -> Source {
    Source {
        text,
        path: path.display().to_string(),
    }
}
