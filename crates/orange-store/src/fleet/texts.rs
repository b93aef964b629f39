//! The texts that a commit names: pinned workflows and imported documents.
//!
//! Their order follows from the events: the creation names its workflow, then its document if it
//! had one; a change of the workflow names the new one; an import names its document. So they can be
//! told apart again on another machine.

use std::collections::BTreeMap;

use orange_engine::event::{Event, Fact};
use orange_engine::names::TaskId;
use orange_fleet::chain::Sha;
use rusqlite::Connection;

use crate::error::{StoreError, failed};

/// Which text of a task an event names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedText {
    Workflow,
    Document,
}

/// What each of a commit's texts is, as far as the events tell.
pub(super) fn kinds<'a>(
    events: impl IntoIterator<Item = &'a Event>,
    count: usize,
) -> Vec<NamedText> {
    let mut is_created = false;
    let mut kinds = Vec::new();
    for event in events {
        match event.fact {
            Fact::TaskCreated(_) => {
                is_created = true;
                kinds.push(NamedText::Workflow);
            }
            Fact::WorkflowChanged { .. } => kinds.push(NamedText::Workflow),
            Fact::DocumentImported { .. } => kinds.push(NamedText::Document),
            _ => {}
        }
    }
    // Only whether the task was created with a document does not follow from the events.
    if is_created && kinds.len() < count {
        kinds.insert(1, NamedText::Document);
    }
    kinds
}

/// The texts of one task, by the version of the event that names them.
#[derive(Debug)]
pub(super) struct TaskTexts {
    documents: BTreeMap<u64, String>,
    /// The workflow until each version.
    former_workflows: BTreeMap<u64, String>,
    workflow: String,
}

impl TaskTexts {
    pub(super) fn of(connection: &Connection, task: &TaskId) -> Result<Self, StoreError> {
        let attempt = "read the texts of a task";
        let workflow = connection
            .query_row(
                "SELECT workflow_hash FROM tasks WHERE id = ?1",
                [task.as_str()],
                |row| row.get(0),
            )
            .map_err(failed(attempt))?;
        let by_version = |sql: &str| -> Result<BTreeMap<u64, String>, StoreError> {
            let mut statement = connection.prepare(sql).map_err(failed(attempt))?;
            let rows = statement
                .query_map([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .map_err(failed(attempt))?;
            rows.map(|row| row.map_err(failed(attempt))).collect()
        };
        Ok(Self {
            documents: by_version(
                "SELECT version, hash FROM imports WHERE task = ?1 AND stray = 0 ORDER BY id DESC",
            )?,
            former_workflows: by_version(
                "SELECT version, hash FROM former_workflows WHERE task = ?1",
            )?,
            workflow,
        })
    }

    /// The hashes of the texts that an event names, in their order.
    pub(super) fn named_by(&self, event: &Event) -> Vec<Sha> {
        let document = || self.documents.get(&event.version);
        let hashes: Vec<Option<&String>> = match event.fact {
            Fact::TaskCreated(_) => vec![Some(self.workflow_after(event.version)), document()],
            Fact::WorkflowChanged { .. } => vec![Some(self.workflow_after(event.version))],
            Fact::DocumentImported { .. } => vec![document()],
            _ => Vec::new(),
        };
        let hashes = hashes.into_iter().flatten();
        hashes.filter_map(|hash| Sha::parse(hash)).collect()
    }

    /// The workflow that the task is pinned to after an event: the one of the next change's former.
    fn workflow_after(&self, version: u64) -> &String {
        let mut later = self.former_workflows.range(version.saturating_add(1)..);
        later.next().map_or(&self.workflow, |(_, hash)| hash)
    }
}

/// Notes which workflow a task is pinned to before an event changes it.
pub(crate) fn keep_former_workflow(
    connection: &Connection,
    task: &TaskId,
    version: u64,
) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT INTO former_workflows (task, version, hash)
             SELECT id, ?2, workflow_hash FROM tasks WHERE id = ?1",
            rusqlite::params![task.as_str(), version],
        )
        .map_err(failed("keep the former workflow"))?;
    Ok(())
}
