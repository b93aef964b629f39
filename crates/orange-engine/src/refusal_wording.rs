//! The one wording of what stands in the way.

use std::fmt;

use crate::document::SectionName;
use crate::document::reading::Verdict;
use crate::input::CommandResult;
use crate::language::gates::{ChecksState, GitCondition, PullRequestState, ReportWanted};
use crate::language::verbs::Verb;
use crate::names::{BranchName, CommitId};
use crate::refusal::{Attempt, GateFailure, Missing, Refusal};
use crate::role::Role;

/// How many files a refusal names.
const NAMED_FILES: usize = 5;

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
                let events = joined(triggers.iter().map(|trigger| event_of(trigger)), "or");
                write!(formatter, "this happens when {events}, never by request")
            }
            Missing::NoPrevious => formatter.write_str("there is no earlier status to go back to"),
            Missing::NotAllowed { role, by } => {
                write!(
                    formatter,
                    "the {role} may not ask for this, only {}",
                    roles(by)
                )
            }
            Missing::GuardFailed { when, values } => {
                let values = values
                    .iter()
                    .map(|(field, value)| format!("{field} is {value}"));
                write!(
                    formatter,
                    "`{when}` does not hold: {}",
                    joined(values, "and")
                )
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
                write!(
                    formatter,
                    "a task can begin only in {}",
                    joined(names, "or")
                )
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

impl fmt::Display for GateFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateFailure::SectionMissing { section, .. } => {
                write!(formatter, "`{section}` is missing in TASK.md")
            }
            GateFailure::SectionEmpty { section, .. } => {
                write!(formatter, "`{section}` in TASK.md is empty")
            }
            GateFailure::FieldsMissing {
                section,
                fields,
                empty,
            } => {
                let wanted = joined(fields.iter().map(|field| format!("`{field}:`")), "or");
                write!(
                    formatter,
                    "`{section}` in TASK.md has no line {wanted} with content"
                )?;
                if !empty.is_empty() {
                    let empty = joined(empty.iter().map(|field| format!("`{field}:`")), "and");
                    write!(formatter, " ({empty} is empty)")?;
                }
                Ok(())
            }
            GateFailure::VerdictWrong {
                section,
                found,
                wanted,
            } => write!(
                formatter,
                "`{section}` says {found}, and this needs {wanted}"
            ),
            GateFailure::VerdictUnreadable {
                section,
                line: Some(line),
                ..
            } => write!(
                formatter,
                "the first line of `{section}` is not a verdict: `{line}`"
            ),
            GateFailure::VerdictUnreadable {
                section,
                line: None,
                ..
            } => write!(formatter, "`{section}` has no verdict"),
            GateFailure::VerdictBoth { section, line } => {
                write!(formatter, "the verdict of `{section}` names both: `{line}`")
            }
            GateFailure::NotFromRole {
                section,
                roles: allowed,
            } => write!(
                formatter,
                "`{section}` counts only when {} brings it",
                roles(allowed)
            ),
            GateFailure::NotFresh { section, since } => write!(
                formatter,
                "`{section}` has not changed since the task entered `{since}`"
            ),
            failure => fmt_world(failure, formatter),
        }
    }
}

/// What a report or the world shows, beside TASK.md.
fn fmt_world(failure: &GateFailure, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match failure {
        GateFailure::ReportMissing => formatter.write_str("this attempt has no report"),
        GateFailure::ReportDiffers {
            field,
            found,
            wanted,
        } => {
            let wanted = match wanted {
                ReportWanted::Is(words) => {
                    joined(words.iter().map(|word| format!("`{word}`")), "or")
                }
                ReportWanted::Empty(true) => String::from("empty"),
                ReportWanted::Empty(false) => String::from("something"),
            };
            write!(
                formatter,
                "the report's `{field}` is `{found}`, and this needs {wanted}"
            )
        }
        GateFailure::BranchMoved {
            branch,
            from,
            to,
            commits,
            is_reviewed,
        } => fmt_moved(formatter, branch, (from, to), *commits, *is_reviewed),
        GateFailure::Uncommitted { files, others } => fmt_uncommitted(formatter, files, others),
        GateFailure::Git { condition } => formatter.write_str(match condition {
            GitCondition::Clean => "the worktree has changes that are not committed",
            GitCondition::CommitsAhead => "the branch has no commit of its own",
            GitCondition::BranchNotDefault => "the task is on the default branch",
            GitCondition::TaskFileUntracked => "TASK.md was committed to the branch",
        }),
        GateFailure::PullRequestMissing => formatter.write_str("there is no pull request"),
        GateFailure::PullRequestState { found, wanted } => write!(
            formatter,
            "the pull request is {}, and this needs it {}",
            state_word(*found),
            state_word(*wanted)
        ),
        GateFailure::PullRequestChecks { found, wanted } => write!(
            formatter,
            "the checks of the pull request are {}, and this needs them {}",
            found.map_or("absent", checks_word),
            checks_word(*wanted)
        ),
        GateFailure::Command { command, result } => {
            let command = command.join(" ");
            match result {
                CommandResult::Exited(code) => {
                    write!(formatter, "`{command}` ended with exit code {code}")
                }
                CommandResult::TimedOut => write!(formatter, "`{command}` did not end in time"),
            }
        }
        // Sections are told above.
        _ => Ok(()),
    }
}

fn fmt_moved(
    formatter: &mut fmt::Formatter<'_>,
    branch: &BranchName,
    (from, to): (&CommitId, &CommitId),
    commits: Option<u64>,
    is_reviewed: bool,
) -> fmt::Result {
    let since = if is_reviewed { "review" } else { "handoff" };
    let (from, to) = (from.short(), to.short());
    match commits {
        Some(1) => write!(
            formatter,
            "`{branch}` has 1 commit since the {since} of {from}"
        ),
        Some(commits) => write!(
            formatter,
            "`{branch}` has {commits} commits since the {since} of {from}"
        ),
        None => write!(
            formatter,
            "`{branch}` no longer has {from}, the commit of the {since}"
        ),
    }?;
    write!(formatter, ": it is at {to}")
}

fn fmt_uncommitted(
    formatter: &mut fmt::Formatter<'_>,
    files: &[String],
    others: &[String],
) -> fmt::Result {
    let shown = files.iter().take(NAMED_FILES);
    let mut names: Vec<String> = shown.map(|file| format!("`{file}`")).collect();
    let more = files.len().saturating_sub(NAMED_FILES);
    names.extend((more > 0).then(|| format!("{more} more")));
    let names = joined(names.into_iter(), "and");
    let files = match files.len() {
        0 => None,
        1 => Some(format!("1 file is not committed: {names}")),
        count => Some(format!("{count} files are not committed: {names}")),
    };
    let mut told: Vec<String> = files.into_iter().chain(others.iter().cloned()).collect();
    if told.is_empty() {
        told.push(String::from(
            "the worktree has changes that are not committed",
        ));
    }
    formatter.write_str(&told.join("; "))
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

fn roles(roles: &[Role]) -> String {
    joined(roles.iter().map(|role| format!("the {role}")), "or")
}

pub(crate) fn joined(words: impl Iterator<Item = String>, last: &str) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
    }
}

fn state_word(state: PullRequestState) -> &'static str {
    match state {
        PullRequestState::Open => "open",
        PullRequestState::Merged => "merged",
        PullRequestState::Closed => "closed",
    }
}

fn checks_word(checks: ChecksState) -> &'static str {
    match checks {
        ChecksState::Passing => "passing",
        ChecksState::Failing => "failing",
        ChecksState::Pending => "pending",
    }
}
