//! Restores a task's latest rescues into its worktree automatically.

use orange_effects::git::{AcquiredWorkspace, Git, Rescue, RestoreResult};
use orange_engine::Task;
use orange_engine::names::{BranchName, TaskId};

use super::rescues::other_branch_notice;
use crate::failure::Failure;

/// Restores what was unsaved when the task last released a workspace, unless it was restored
/// before. Overwrites nothing: if the work cannot be restored, it stays in the rescues, and the
/// result is a notice.
///
/// The oldest rescue comes first: it may have the `.gitignore` that hides the files of the next.
pub(crate) fn restore_latest(
    git: &Git,
    task: &Task,
    default: &BranchName,
    acquired: &AcquiredWorkspace<'_>,
) -> Result<Option<String>, Failure> {
    let (task, own) = (&task.id, &task.branch);
    let Some(latest) = git.rescues(task).map_err(Failure::temporary)?.pop() else {
        return Ok(None);
    };
    let done = git.restored_numbers(task).map_err(Failure::temporary)?;
    let mut rescues = git
        .rescues_of_release(&latest)
        .map_err(Failure::temporary)?;
    rescues.retain(|it| !done.contains(&it.number));
    for (index, rescued) in rescues.iter().enumerate() {
        let reason = if let Some(reason) = reason_not_restorable(git, rescued, acquired)? {
            reason
        } else {
            let restored = acquired.worktree.restore(rescued);
            match restored.map_err(Failure::temporary)? {
                RestoreResult::Done { .. } => {
                    git.mark_restored(rescued).map_err(Failure::temporary)?;
                    continue;
                }
                RestoreResult::Refused(refusal) => refusal.to_string(),
            }
        };
        let left = rescues.get(index..).unwrap_or_default();
        let beside = git.commits_on_other_branch(rescued, own, Some(default));
        let beside = beside.map_err(Failure::temporary)?.len();
        let paths = git.rescue_paths(rescued).map_err(Failure::temporary)?;
        let about = &rescued.about;
        let branch = match (&about.branch, &about.head) {
            (Some(branch), Some(head)) if beside > 0 => {
                Some(other_branch_notice(branch, head, beside))
            }
            _ => None,
        };
        let has_only_commits = paths.is_empty() && about.operations.is_empty();
        return Ok(Some(match branch {
            Some(branch) if has_only_commits => branch,
            Some(branch) => format!("{}; {branch}", not_restored_warning(task, left, &reason)),
            None => not_restored_warning(task, left, &reason),
        }));
    }
    Ok(None)
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

fn not_restored_warning(task: &TaskId, left: &[Rescue], reason: &str) -> String {
    let numbers: Vec<String> = left.iter().map(|it| it.number.to_string()).collect();
    let command = match &*numbers {
        [number] => format!("orange task restore {task} {number}"),
        _ => format!("orange task restore {task}"),
    };
    let numbers = numbers.join(" and ");
    format!("saved work {numbers} was not restored: {reason}; it is kept, and `{command}` lists it")
}
