//! Restores a task's latest rescue into its worktree automatically.

use orange_effects::git::{AcquiredWorkspace, Git, Rescue, RestoreResult};
use orange_engine::names::TaskId;

use crate::failure::Failure;

/// Restores what was unsaved when the task last released a workspace, unless it was restored
/// before. Overwrites nothing: if the work cannot be restored, it stays in the rescue, and the
/// result is a notice.
pub(crate) fn restore_latest(
    git: &Git,
    task: &TaskId,
    acquired: &AcquiredWorkspace<'_>,
) -> Result<Option<String>, Failure> {
    let Some(latest) = git.rescues(task).map_err(Failure::temporary)?.pop() else {
        return Ok(None);
    };
    let restored = git.restored_numbers(task).map_err(Failure::temporary)?;
    if restored.contains(&latest.number) {
        return Ok(None);
    }
    if let Some(reason) = reason_not_restorable(git, &latest, acquired)? {
        return Ok(Some(not_restored_warning(task, &latest, &reason)));
    }
    let restored = acquired.worktree.restore(&latest);
    match restored.map_err(Failure::temporary)? {
        RestoreResult::Done { .. } => {
            git.mark_restored(&latest).map_err(Failure::temporary)?;
            Ok(None)
        }
        RestoreResult::Refused(refusal) => Ok(Some(not_restored_warning(
            task,
            &latest,
            &refusal.to_string(),
        ))),
    }
}

/// Why a rescue does not fit on top of what is checked out.
fn reason_not_restorable(
    git: &Git,
    rescued: &Rescue,
    acquired: &AcquiredWorkspace<'_>,
) -> Result<Option<String>, Failure> {
    if let Some(operation) = rescued.about.operations.first() {
        return Ok(Some(format!("a {operation} was in progress")));
    }
    let head = acquired.head.commit();
    let is_based = match head {
        Some(head) => git.is_based_on(head, rescued).map_err(Failure::temporary)?,
        None => false,
    };
    Ok((!is_based).then(|| String::from("the commit it is based on is not on the branch")))
}

fn not_restored_warning(task: &TaskId, rescued: &Rescue, reason: &str) -> String {
    let number = rescued.number;
    format!(
        "saved work {number} was not restored: {reason}; it is kept, and `orange task restore \
         {task} {number}` lists it"
    )
}
