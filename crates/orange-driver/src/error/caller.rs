//! Reports for errors about what a caller may do and has seen.

use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde_json::json;

use super::DriverError;
use super::report::{Kind, Report, leave_worktree};

pub(super) fn other_task(
    role: &Role,
    own: &TaskId,
    requested: &TaskId,
    is_by_directory: bool,
) -> Report {
    Report::new(Kind::Refused, "other-task")
        .hint(if is_by_directory {
            leave_worktree(own)
        } else {
            format!("leave the task out, or name your own task, as in `orange task show {own}`")
        })
        .details(json!({ "role": role, "own": own, "requested": requested }))
}

/// The report for a task that is no longer as the caller saw it.
pub(super) fn task_changed(error: &DriverError) -> Report {
    let report = Report::new(Kind::Refused, "task-changed");
    let DriverError::TaskChanged {
        task,
        seen,
        version,
        status,
    } = error
    else {
        return report;
    };
    report
        .hint(format!("see how it is now with `orange task why {task}`"))
        .details(json!({ "task": task, "seen": seen, "version": version, "status": status }))
}
