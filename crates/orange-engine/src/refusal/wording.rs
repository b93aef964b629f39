//! The wording of refusals.

use std::fmt;

use crate::document::SectionName;
use crate::document::reading::Verdict;
use crate::language::verbs::Verb;
use crate::refusal::{Attempt, Missing, Refusal};
use crate::wording::{all, either, the};

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
                Verb::Stuck => write!(formatter, "cannot call task `{task}` stuck in `{from}`")?,
                Verb::RequestChanges => {
                    write!(
                        formatter,
                        "cannot request changes of task `{task}` in `{from}`"
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
            Attempt::Amend => write!(formatter, "cannot change task `{task}`")?,
            Attempt::Adopt { workflow } => {
                write!(
                    formatter,
                    "cannot move task `{task}` to the workflow `{workflow}`"
                )?;
            }
            Attempt::Delete => write!(formatter, "cannot delete task `{task}`")?,
            Attempt::BringBack => write!(formatter, "cannot bring task `{task}` back")?,
            Attempt::Tell => write!(formatter, "cannot tell an agent of task `{task}` anything")?,
            Attempt::RetryEffects => write!(formatter, "cannot retry for task `{task}`")?,
            Attempt::ClearAttention => {
                write!(formatter, "cannot clear what needs you for task `{task}`")?;
            }
            Attempt::Create {
                status: Some(status),
            } => {
                write!(formatter, "cannot create task `{task}` in `{status}`")?;
            }
            Attempt::Create { status: None } => write!(formatter, "cannot create task `{task}`")?,
        }
        for (index, missing) in self.missing.iter().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            write!(formatter, "{separator}{missing}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::UnknownStatus { status, .. } => {
                write!(formatter, "its workflow has no status `{status}`")
            }
            Missing::Terminal { status } => write!(formatter, "it has ended as `{status}`"),
            Missing::SameStatus { status } => write!(formatter, "it is in `{status}` already"),
            Missing::NoTransition { .. } => {
                formatter.write_str("its workflow has no such transition")
            }
            Missing::NotByRequest { triggers } => {
                let events = either(triggers.iter().map(|trigger| event_of(trigger)));
                write!(formatter, "this happens when {events}, never by request")
            }
            Missing::NoPrevious => formatter.write_str("there is no earlier status to go back to"),
            Missing::NotAllowed { role, by } => {
                write!(
                    formatter,
                    "the {role} may not ask for this, only {}",
                    either(by.iter().map(the))
                )
            }
            Missing::GuardFailed { when, values } => {
                let values = values
                    .iter()
                    .map(|(field, value)| format!("{field} is {value}"));
                write!(formatter, "`{when}` does not hold: {}", all(values))
            }
            Missing::GateFailed { failure } => failure.fmt(formatter),
            Missing::ConfirmationNeeded { question } => {
                write!(formatter, "a person must answer first: {question}")
            }
            Missing::NothingToMerge { branch } => write!(
                formatter,
                "nothing to merge: `{branch}` has no commits that the default branch lacks"
            ),
            Missing::NotInBranch { commit, branch } => {
                write!(formatter, "{commit} is not a commit of `{branch}`")
            }
            Missing::VerbUnavailable { verb } => {
                write!(
                    formatter,
                    "`orange task {verb}` leads nowhere from this status"
                )
            }
            Missing::NoRespawn { role: Some(role) } => {
                write!(
                    formatter,
                    "this status has no prompt to bring the {role} back with"
                )
            }
            Missing::NoRespawn { role: None } => {
                formatter.write_str("this status has no agent to bring back")
            }
            Missing::NobodyThere { role: Some(role) } => {
                write!(formatter, "no {role} of it is there to read it")
            }
            Missing::NobodyThere { role: None } => {
                formatter.write_str("no agent of it is there to read it")
            }
            Missing::StillRunning { role } => write!(formatter, "the {role} still runs"),
            Missing::OnItsWay { role } => write!(formatter, "the {role} is on its way already"),
            Missing::Merging => formatter.write_str("a merge is on its way"),
            Missing::NotSettled => {
                formatter.write_str("what this status was entered with is still going on")
            }
            Missing::NoWorkspace => formatter.write_str("it holds no workspace"),
            Missing::NoEntry { entries } => {
                let names = entries.iter().map(|status| format!("`{status}`"));
                write!(formatter, "a task can begin only in {}", either(names))
            }
            Missing::NothingToDo => formatter.write_str("nothing was given up"),
            Missing::HeldBack { wait } => wait.fmt(formatter),
            Missing::NotEnded { status } => {
                write!(formatter, "it has not ended, it is in `{status}`")
            }
            Missing::HoldsWorkspace => formatter.write_str("it still holds a workspace"),
            Missing::StatusAbsent {
                workflow, status, ..
            } => write!(formatter, "`{workflow}` has no status `{status}`"),
            Missing::KindDiffers {
                workflow,
                status,
                here,
                there,
            } => write!(
                formatter,
                "`{status}` is of kind `{}` here and of kind `{}` in `{workflow}`",
                here.as_str(),
                there.as_str()
            ),
        }
    }
}

/// What to write into TASK.md to make a section pass.
pub(crate) fn how_to_write(
    section: &SectionName,
    fields: &[String],
    verdict: Option<Verdict>,
) -> String {
    match (fields, verdict) {
        (_, Some(verdict)) => format!("`{section}` whose first line is `Verdict: {verdict}`"),
        ([], None) => format!("`{section}` with some content"),
        (fields, None) => format!(
            "`{section}` with at least one of {}, each as `NAME: text` on one line",
            fields.join(", ")
        ),
    }
}

pub(crate) fn event_of(trigger: &str) -> String {
    String::from(match trigger {
        "exit" => "an agent ends with its work done",
        "crash" => "an agent has crashed too often",
        "timeout" => "the status has lasted too long",
        "spawn_failed" => "an agent could not be started",
        "merged" => "the branch is merged",
        "pr_merged" => "the pull request is merged",
        "pr_closed" => "the pull request is closed",
        "children_done" => "every child task has ended",
        "report" => "a run reports",
        other => return format!("`{other}` occurs"),
    })
}
