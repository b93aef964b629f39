//! Syncs TASK.md and the database, both ways.

use orange_config::clock;
use orange_engine::document::Document;
use orange_engine::input::{Cause, Request, RequestKind};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::Workspace;
use orange_store::{FieldEdit, ImportResult, StatusEdit, Store};

use super::{StepResult, Steps};
use crate::DriverError;

impl Steps {
    /// Syncs the files of a task and the database, both ways: writes what was decided, and decides
    /// about a status that was written into TASK.md by hand.
    ///
    /// A decision stands whether or not its copies could be written; the next call tries again.
    pub(crate) fn sync_files(&self, store: &mut Store, id: &TaskId) -> Result<(), DriverError> {
        orange_store::project(store, id, clock::now())?;
        let is_followed = self.follow_removed_status(store, id)?;
        let is_reported = self.report_overwritten_keys(store, id)?;
        if is_followed || is_reported {
            orange_store::project(store, id, clock::now())?;
        }
        Ok(())
    }

    /// Tells the user what was typed into other keys of TASK.md and is overwritten. Returns whether
    /// there was something.
    fn report_overwritten_keys(&self, store: &mut Store, id: &TaskId) -> Result<bool, DriverError> {
        let edits = store.pending_field_edits(id)?;
        for edit in &edits {
            self.notice(store, id, explain_overwritten(id, edit))?;
        }
        if !edits.is_empty() {
            store.clear_field_edits(id, &edits)?;
        }
        Ok(!edits.is_empty())
    }

    /// Treats a status written into TASK.md by hand as a request. If no status was written, returns
    /// the document for the request that follows immediately.
    pub(crate) fn follow_hand_edit(
        &self,
        store: &mut Store,
        id: &TaskId,
    ) -> Result<Option<Document>, DriverError> {
        self.follow_removed_status(store, id)?;
        match orange_store::import(store, id, clock::now())? {
            ImportResult::Read(imported) => match imported.status_edit {
                Some(edit) => self.decide_hand_edit(store, id, &edit).map(|_| None),
                None => Ok(Some(imported.document)),
            },
            ImportResult::Unknown(_) => Ok(None),
        }
    }

    /// Like `follow_hand_edit`, for a status that orange has already removed by writing TASK.md.
    /// The process that removed it may have died, or a gate may have been running. Returns whether
    /// there was such a status and it has been decided.
    pub(crate) fn follow_removed_status(
        &self,
        store: &mut Store,
        id: &TaskId,
    ) -> Result<bool, DriverError> {
        let Some(edit) = store.pending_status_edit(id)? else {
            return Ok(false);
        };
        let is_decided = self.decide_hand_edit(store, id, &edit)?;
        if is_decided {
            store.clear_status_edit(id, &edit)?;
        }
        Ok(is_decided)
    }

    /// Decides about a status written by hand. In a bound worktree the edit counts as the worker's;
    /// elsewhere its author is unknown, and a notice shows the user which command to run. Returns
    /// whether the edit is decided; if not, the next call tries again.
    fn decide_hand_edit(
        &self,
        store: &mut Store,
        id: &TaskId,
        edit: &StatusEdit,
    ) -> Result<bool, DriverError> {
        // The process that refused the edit may have died before it updated TASK.md.
        if store.is_rejected(id, edit)? {
            return Ok(true);
        }
        let task = store.require(id)?.task;
        let is_bound = matches!(
            task.workspace,
            Workspace::Bound(_) | Workspace::Releasing(Some(_))
        );
        let by = if edit.in_worktree || is_bound {
            Role::Worker
        } else {
            Role::Human
        };
        let request = Request::new(
            by,
            RequestKind::HandEdit {
                to: edit.to.clone(),
                version: edit.version,
            },
        );
        match self.step(store, id, &Cause::Request(request)) {
            // The author of the edit sees no answer, so the refusal becomes a notice.
            Ok(StepResult::Refused(refusal)) => {
                self.notice(store, id, refusal.to_string()).map(|_| true)
            }
            Ok(_) => Ok(true),
            Err(
                DriverError::DocumentUnknown { .. }
                | DriverError::FactUnknown { .. }
                | DriverError::GateRunning { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn explain_overwritten(id: &TaskId, edit: &FieldEdit) -> String {
    let FieldEdit { key, value } = edit;
    let command = match key.as_str() {
        "summary" => format!("`orange task update {id} --summary TEXT`"),
        "branch" | "workflow" => format!("`orange task update {id} --{key} {value}`"),
        _ => String::from("`orange new SUMMARY --harness NAME`, which creates a new task"),
    };
    format!(
        "`{key}: {value}` was written into TASK.md and changed back; to change it, run {command}"
    )
}
