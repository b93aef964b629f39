//! Restores a task's latest rescue into its worktree automatically.

use orange_effects::git::{Acquired, Git, Rescued, Restored};
use orange_engine::names::TaskId;

use crate::failure::Failure;

/// Restores what was unsaved when the task last released a workspace, unless that was done before.
/// Overwrites nothing; what cannot be restored stays rescued, and the result is a notice.
pub(crate) fn bring_back(
    git: &Git,
    task: &TaskId,
    acquired: &Acquired<'_>,
) -> Result<Option<String>, Failure> {
    let Some(latest) = git.rescues(task).map_err(Failure::passing)?.pop() else {
        return Ok(None);
    };
    let done = git.brought_back(task).map_err(Failure::passing)?;
    if done.contains(&latest.number) {
        return Ok(None);
    }
    if let Some(reason) = unfit(git, &latest, acquired)? {
        return Ok(Some(told(task, &latest, &reason)));
    }
    let restored = acquired.worktree.restore(&latest);
    match restored.map_err(Failure::passing)? {
        Restored::Whole { .. } => {
            git.note_brought_back(&latest).map_err(Failure::passing)?;
            Ok(None)
        }
        Restored::Refused(refusal) => Ok(Some(told(task, &latest, &refusal.to_string()))),
    }
}

/// Why a rescue does not fit on top of what is checked out.
fn unfit(git: &Git, rescued: &Rescued, acquired: &Acquired<'_>) -> Result<Option<String>, Failure> {
    if let Some(operation) = rescued.about.operations.first() {
        return Ok(Some(format!("a {operation} was in progress")));
    }
    let head = acquired.head.commit();
    let is_based = match head {
        Some(head) => git.is_based_on(head, rescued).map_err(Failure::passing)?,
        None => false,
    };
    Ok((!is_based).then(|| String::from("its commit is not on the branch")))
}

fn told(task: &TaskId, rescued: &Rescued, reason: &str) -> String {
    let number = rescued.number;
    format!(
        "rescue {number} was not brought back: {reason}; it is kept, look with `orange task \
         restore {task} {number}`"
    )
}
