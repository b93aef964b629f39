//! The wording of refusals.

use std::fmt;

use crate::document::SectionName;
use crate::document::reading::Verdict;
use crate::language::verbs::Verb;
use crate::names::{FieldName, Status};
use crate::refusal::{Attempt, Blocker, CannotPlan, Refusal};
use crate::role::Role;
use crate::wording::{actor, join_and, join_or};

/// The usual guards about the summary, which have a wording of their own.
const NO_SUMMARY: &str = "summary_chars == 0";
pub(crate) const HAS_SUMMARY: &str = "summary_chars > 0";

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = &self.task;
        match &self.attempt {
            Attempt::Move { from, to } => {
                write!(
                    formatter,
                    "cannot move task `{task}` from `{from}` to `{to}`"
                )?;
            }
            Attempt::Verb { verb, from, .. } => match verb {
                Verb::Stuck => {
                    write!(formatter, "cannot mark task `{task}` as stuck in `{from}`")?;
                }
                Verb::RequestChanges => {
                    write!(
                        formatter,
                        "cannot request changes to task `{task}` in `{from}`"
                    )?;
                }
                verb => write!(formatter, "cannot {verb} task `{task}` in `{from}`")?,
            },
            Attempt::Respawn { from } => {
                write!(
                    formatter,
                    "cannot respawn an agent of task `{task}` in `{from}`"
                )?;
            }
            Attempt::Stop { from } => {
                write!(
                    formatter,
                    "cannot stop an agent of task `{task}` in `{from}`"
                )?;
            }
            Attempt::Restart { from } => {
                write!(
                    formatter,
                    "cannot restart an agent of task `{task}` in `{from}`"
                )?;
            }
            Attempt::OpenPullRequest => {
                write!(formatter, "cannot open a pull request for task `{task}`")?;
            }
            Attempt::Reopen => write!(formatter, "cannot reopen task `{task}`")?,
            Attempt::Amend => write!(formatter, "cannot change task `{task}`")?,
            Attempt::ChangeWorkflow { workflow } => {
                write!(
                    formatter,
                    "cannot move task `{task}` to the workflow `{workflow}`"
                )?;
            }
            Attempt::Delete => write!(formatter, "cannot delete task `{task}`")?,
            Attempt::Restore => write!(formatter, "cannot restore task `{task}`")?,
            Attempt::Tell => write!(formatter, "cannot send a message to task `{task}`")?,
            Attempt::RetryEffects => {
                write!(formatter, "cannot retry failed effects of task `{task}`")?;
            }
            Attempt::ClearAttention => {
                write!(
                    formatter,
                    "cannot clear the attention items of task `{task}`"
                )?;
            }
            Attempt::Create {
                status: Some(status),
            } => {
                write!(formatter, "cannot create a task in `{status}`")?;
            }
            Attempt::Create { status: None } => formatter.write_str("cannot create the task")?,
        }
        for (index, missing) in self.missing.iter().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            write!(formatter, "{separator}{missing}")?;
        }
        Ok(())
    }
}

fn fmt_event_needed(formatter: &mut fmt::Formatter<'_>, triggers: &[String]) -> fmt::Result {
    let events = join_or(triggers.iter().map(|trigger| describe_trigger(trigger)));
    write!(
        formatter,
        "this happens when {events}; it cannot be requested"
    )
}

fn fmt_ended(
    formatter: &mut fmt::Formatter<'_>,
    status: &Status,
    is_cancelled: bool,
) -> fmt::Result {
    if is_cancelled {
        return formatter.write_str("it was cancelled");
    }
    write!(formatter, "it is finished (`{status}`)")
}

impl fmt::Display for CannotPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CannotPlan::Workflow => "its workflow has no `plan`",
            CannotPlan::Status => "only a task that waits in a queue can be planned",
            CannotPlan::Depth => "a child of a child may not delegate",
        })
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blocker::UnknownStatus { status, .. } => {
                write!(formatter, "its workflow has no status `{status}`")
            }
            Blocker::Terminal {
                status,
                is_cancelled,
                ..
            } => fmt_ended(formatter, status, *is_cancelled),
            Blocker::SameStatus { status } => write!(formatter, "it is already in `{status}`"),
            Blocker::NoTransition { .. } => {
                formatter.write_str("its workflow has no such transition")
            }
            Blocker::NotByRequest { triggers } => fmt_event_needed(formatter, triggers),
            Blocker::NoPrevious => formatter.write_str("there is no earlier status to go back to"),
            Blocker::NotAllowed { role, by } => {
                write!(
                    formatter,
                    "{} may not request this, only {}",
                    actor(role),
                    join_or(by.iter().map(actor))
                )
            }
            Blocker::GuardFailed { when, values } => fmt_guard(formatter, when, values),
            Blocker::GateFailed { failure } => failure.fmt(formatter),
            Blocker::ConfirmationNeeded { question } => {
                write!(formatter, "the user must confirm: \"{question}\"")
            }
            Blocker::NothingToPush { branch } => {
                write!(formatter, "`{branch}` has no commit of its own")
            }
            Blocker::NothingToMerge { branch } => write!(
                formatter,
                "nothing to merge: `{branch}` has no commits that the default branch lacks"
            ),
            Blocker::NotInBranch { commit, branch } => {
                write!(formatter, "`{branch}` does not contain {commit}")
            }
            Blocker::VerbUnavailable { verb } => {
                write!(
                    formatter,
                    "`orange task {verb}` is not available in this status"
                )
            }
            Blocker::CannotPlan { reason } => reason.fmt(formatter),
            Blocker::NoRespawn { role: Some(role) } => {
                write!(formatter, "in this status, no {role} can be respawned")
            }
            Blocker::NoRespawn { role: None } => {
                formatter.write_str("this status has no agent to respawn")
            }
            Blocker::NoAgentRunning { role } => {
                let role = role.as_ref().map_or("agent", Role::as_str);
                write!(formatter, "no {role} is running for this task")
            }
            Blocker::UnknownRole { role, roles } => write!(
                formatter,
                "its workflow has no agent role `{role}`; its agent roles are {}",
                join_and(roles.iter().map(|role| format!("`{role}`")))
            ),
            Blocker::NotStarted => formatter.write_str("its work has not started"),
            Blocker::StillRunning { role } => write!(formatter, "the {role} is still running"),
            Blocker::AlreadyStarting { role } => {
                write!(formatter, "the {role} is already starting")
            }
            Blocker::Merging => formatter.write_str("a merge is in progress"),
            Blocker::EffectsRunning => {
                formatter.write_str("the effects of entering this status are still running")
            }
            Blocker::NoWorkspace => formatter.write_str("it has no workspace"),
            Blocker::NoEntry { entries } => {
                let names = entries.iter().map(|status| format!("`{status}`"));
                write!(formatter, "a task can begin only in {}", join_or(names))
            }
            Blocker::NothingToDo => formatter.write_str("there is nothing to do"),
            Blocker::HeldBack { wait } => wait.fmt(formatter),
            Blocker::NotEnded { status } => {
                write!(formatter, "it is not finished; it is in `{status}`")
            }
            Blocker::NotCancelled { status, has_ended } => {
                fmt_not_cancelled(formatter, status, *has_ended)
            }
            Blocker::HoldsWorkspace => formatter.write_str("it still holds a workspace"),
            Blocker::StatusAbsent {
                workflow, status, ..
            } => write!(formatter, "`{workflow}` has no status `{status}`"),
            Blocker::KindDiffers {
                workflow,
                status,
                current_kind,
                other_kind,
            } => write!(
                formatter,
                "`{status}` has the kind `{}` in its current workflow, but `{}` in `{workflow}`",
                current_kind.as_str(),
                other_kind.as_str()
            ),
        }
    }
}

fn fmt_not_cancelled(
    formatter: &mut fmt::Formatter<'_>,
    status: &Status,
    has_ended: bool,
) -> fmt::Result {
    if has_ended {
        write!(
            formatter,
            "it is finished (`{status}`), and only a cancelled task can be reopened"
        )
    } else {
        write!(formatter, "it was not cancelled; it is in `{status}`")
    }
}

fn fmt_guard(
    formatter: &mut fmt::Formatter<'_>,
    when: &str,
    values: &[(FieldName, i64)],
) -> fmt::Result {
    match when {
        NO_SUMMARY => {
            formatter.write_str("this is only for a task without a summary, but it has one")
        }
        HAS_SUMMARY => formatter.write_str("it has no summary"),
        when => {
            let values = values.iter();
            let values = values.map(|(field, value)| format!("{field} is {value}"));
            write!(
                formatter,
                "the workflow allows this only if `{when}`, but {}",
                join_and(values)
            )
        }
    }
}

/// What to write into TASK.md to make a section pass.
pub(crate) fn describe_section(
    section: &SectionName,
    fields: &[String],
    verdict: Option<Verdict>,
) -> String {
    match (fields, verdict) {
        (_, Some(verdict)) => format!("`{section}` whose first line is `Verdict: {verdict}`"),
        ([], None) => format!("`{section}` with some content"),
        (fields, None) => {
            let lines = fields.iter().map(|field| format!("`{field}: …`"));
            format!(
                "`{section}` with at least one of the lines {}",
                join_and(lines)
            )
        }
    }
}

pub(crate) fn describe_trigger(trigger: &str) -> String {
    String::from(match trigger {
        "exit" => "an agent exits with its work done",
        "crash" => "an agent has crashed too often",
        "timeout" => "the status has lasted too long",
        "spawn_failed" => "an agent could not be started",
        "merged" => "the branch is merged",
        "pr_merged" => "the pull request is merged",
        "pr_closed" => "the pull request is closed",
        "pr_failing" => "checks of the pull request fail",
        "pr_conflicting" => "the pull request conflicts with its base",
        "pr_feedback" => "reviewers comment on the pull request",
        "pr_ready" => "the pull request leaves nothing to fix",
        "children_done" => "every child task is finished",
        "report" => "a run reports",
        other => return format!("`{other}` occurs"),
    })
}
