//! Answers an agent's request for permission; only the user may.

use std::path::PathBuf;
use std::time::Duration;

use orange_config::LogLevel;
use orange_config::clock::Deadline;
use orange_engine::names::{RequestId, TaskId};
use orange_engine::permission::{PermissionOutcome, PermissionRequest};
use orange_store::{
    AnswerResult, FoundRequest, RowFilter, Store, StoreError, answer_permission_request,
    is_outcome_taken, permission_requests,
};
use serde_json::json;

use crate::DriverError;
use crate::request::Requests;

/// How long to wait until the agent has the answer. The agent's hook polls much more often.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredRequest {
    pub task: TaskId,
    pub request: PermissionRequest,
}

impl Requests {
    /// Answers a request, and waits until its agent has the answer.
    pub fn answer_permission(
        &self,
        id: &str,
        outcome: &PermissionOutcome,
    ) -> Result<AnsweredRequest, DriverError> {
        self.callers.require_user("answer a permission request")?;
        let (task, directory, found) = self.find_request(id)?;
        let id = found.request.id.clone();
        let closed = |outcome| DriverError::RequestClosed {
            id: id.clone(),
            task: task.clone(),
            outcome,
        };
        let answered = answer_permission_request(&directory, &id, outcome);
        let answered = answered.map_err(|error| DriverError::File {
            attempt: "answer a request in",
            path: directory.clone(),
            reason: orange_config::reason(&error),
        })?;
        if let AnswerResult::TooLate(outcome) = answered {
            return Err(closed(outcome));
        }
        let more = json!({ "request": id, "answer": outcome });
        self.context
            .log(LogLevel::Info, &task, "permission.answered", more);
        let mut is_taken = None;
        Deadline::after(DELIVERY_TIMEOUT).wait_for(|| {
            is_taken = is_outcome_taken(&directory, &id);
            is_taken.is_some()
        });
        match is_taken {
            Some(true) => Ok(AnsweredRequest {
                task,
                request: found.request,
            }),
            _ => Err(closed(None)),
        }
    }

    /// Finds a request among those of each task's current runs.
    fn find_request(&self, id: &str) -> Result<(TaskId, PathBuf, FoundRequest), DriverError> {
        let unknown = || DriverError::RequestUnknown(id.to_owned());
        let store = match Store::open_read_only(&self.context.home) {
            Err(StoreError::Missing { .. }) => return Err(unknown()),
            opened => opened?,
        };
        let request_id = RequestId::new(id);
        for row in store.rows(&RowFilter::default())?.rows {
            for run in row.runs.values() {
                let directory = self.context.run_directory(&row.project, &row.id, &run.id)?;
                let mut found = permission_requests(&directory).into_iter();
                if let Some(found) = found.find(|it| it.request.id == request_id) {
                    return Ok((row.id, directory, found));
                }
            }
        }
        Err(unknown())
    }
}
