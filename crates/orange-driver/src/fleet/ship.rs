//! Ships commits to the server's log until it has acknowledged them.

use orange_config::LogLevel;
use orange_engine::Task;
use orange_engine::apply::replay;
use orange_engine::names::TaskId;
use orange_engine::summary::{Place, Summary as EngineSummary};
use orange_fleet::chain::Commit;
use orange_fleet::ids::Version;
use orange_fleet::json::Json;
use orange_fleet::link::TaskLink;
use orange_fleet::message::{Append, AppendResult, Summary, TaskAppend, TaskResult};
use orange_store::steps::reach;
use orange_store::{Store, StoreError, StoredTask};
use serde_json::json;

use super::beat::note_drops;
use super::{Runner, engine_task, fleet_task};
use crate::DriverError;
use crate::steps::pinned_workflow;

impl Runner {
    /// Sends what the log lacks of every held task, and repeats what was not answered.
    pub(super) fn ship(&self, store: &mut Store) -> Result<(), DriverError> {
        let known = self.membership()?;
        if known.link.registration().current().is_none() {
            return Ok(());
        }
        let mut tasks = Vec::new();
        for (id, link) in known.link.tasks() {
            let Some(stored) = store.load(&engine_task(id))? else {
                continue;
            };
            if stored.task.version > link.acknowledged().version.0 && link.is_active() {
                tasks.extend(append_of(store, link, &stored)?);
            }
        }
        if tasks.is_empty() {
            return Ok(());
        }
        reach("before commits are shipped");
        let call = Append { tasks };
        let answer = self.server.append(&call)?;
        reach("before the answer to shipped commits is stored");
        for result in &answer.tasks {
            let sent = call.tasks.iter().find(|it| it.task == result.task);
            if let Some(sent) = sent {
                self.note_shipped(store, sent, result)?;
            }
        }
        Ok(())
    }

    /// Stores what became of an append; then lets the effects start that waited for it.
    fn note_shipped(
        &self,
        store: &mut Store,
        sent: &TaskAppend,
        result: &TaskResult,
    ) -> Result<(), DriverError> {
        let id = engine_task(&sent.task);
        let local = store.commits_of(&id, Version(0))?;
        let is_ended = sent.summary.ended;
        store.update_membership(|known| {
            let directive = known.link.append_answered(result, &local);
            note_drops(known, directive.as_slice());
            let has_last = sent.commits.last().map(|it| it.last);
            if is_ended && matches!(result.result, AppendResult::Ok { version } if Some(version) == has_last)
            {
                // The end has released the task. Its copy here stays, as that of any ended task.
                known.link.ended(&sent.task, sent.epoch);
            }
        })?;
        reach("after the answer to shipped commits is stored");
        match result.result {
            AppendResult::Ok { .. } => store.release_gated_effects(&id)?,
            other => {
                let more = json!({ "answer": format!("{other:?}") });
                let context = &self.driver.context;
                context.log(LogLevel::Warn, &id, "fleet.not_appended", more);
            }
        }
        Ok(())
    }
}

/// The next commits of a task, as many as fit.
fn append_of(
    store: &Store,
    link: &TaskLink,
    stored: &StoredTask,
) -> Result<Option<TaskAppend>, DriverError> {
    let id = &stored.task.id;
    let local = store.commits_of(id, Version(0))?;
    // Texts and summary follow from which commits fit.
    let unknown = |_: &Commit| Summary {
        status: String::new(),
        ended: false,
        shown: Json::null(),
    };
    let append = link.next_append(&fleet_task(id), &local, |_| Vec::new(), unknown);
    let Some(mut append) = append else {
        return Ok(None);
    };
    for commit in &append.commits {
        append.texts.extend(store.texts_of(commit)?);
    }
    if let Some(last) = append.commits.last() {
        append.summary = summary_after(store, stored, last.last)?;
    }
    Ok(Some(append))
}

/// What the server has to know about a task after a commit.
fn summary_after(
    store: &Store,
    stored: &StoredTask,
    version: Version,
) -> Result<Summary, DriverError> {
    let workflow = pinned_workflow(stored)?;
    let summary = EngineSummary::of(&workflow, &task_at(store, stored, version)?);
    let shown = serde_json::to_string(&summary).ok().and_then(Json::new);
    Ok(Summary {
        status: summary.status.to_string(),
        // A task that has ended and still has to release its workspace is still held.
        ended: summary.place == Place::Ended,
        shown: shown.unwrap_or_else(Json::null),
    })
}

/// The task as it was at a version.
fn task_at(store: &Store, stored: &StoredTask, version: Version) -> Result<Task, DriverError> {
    if stored.task.version == version.0 {
        return Ok(stored.task.clone());
    }
    let events = store.events(&stored.task.id, 0)?;
    let events = events.iter().map(|it| &it.event);
    let until = events.take_while(|it| it.version <= version.0);
    replay(until).map_err(|error| unreadable(&stored.task.id, &error).into())
}

fn unreadable(task: &TaskId, error: &orange_engine::apply::ReplayError) -> StoreError {
    StoreError::Unreadable {
        what: "the history",
        task: task.clone(),
        reason: error.to_string(),
    }
}
