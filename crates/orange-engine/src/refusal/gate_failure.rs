//! Why a gate does not hold, as data with one wording.

use std::fmt;

use serde::Serialize;

use crate::document::SectionName;
use crate::document::reading::Verdict;
use crate::input::CommandResult;
use crate::language::gates::{
    ChecksState, GitCondition, PullRequestState, ReportField, ReportWanted,
};
use crate::names::{BranchName, CommitId, Status};
use crate::role::Role;
use crate::wording::{all, either, the};

/// How many files a refusal names.
const NAMED_FILES: usize = 5;

/// What a commit is to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitKind {
    /// It was handed over for review.
    Submitted,
    /// It passed a review.
    Reviewed,
    /// The request names it.
    Named,
}

/// Why a gate does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum GateFailure {
    /// The section is not there.
    SectionMissing {
        /// The section.
        section: SectionName,
        /// The fields it needs one of.
        fields: Vec<String>,
        /// The verdict it needs.
        verdict: Option<Verdict>,
    },
    /// The section is there, without content.
    SectionEmpty {
        /// The section.
        section: SectionName,
        /// The fields it needs one of.
        fields: Vec<String>,
        /// The verdict it needs.
        verdict: Option<Verdict>,
    },
    /// None of the fields has content.
    FieldsMissing {
        /// The section.
        section: SectionName,
        /// The fields it needs one of.
        fields: Vec<String>,
        /// Those that are there, but empty.
        empty: Vec<String>,
    },
    /// The verdict is the other one.
    VerdictWrong {
        /// The section.
        section: SectionName,
        /// What it says.
        found: Verdict,
        /// What this edge needs.
        wanted: Verdict,
    },
    /// There is no verdict, or none that can be read.
    VerdictUnreadable {
        /// The section.
        section: SectionName,
        /// The line that was read.
        line: Option<String>,
        /// What this edge needs.
        wanted: Verdict,
    },
    /// The line names both verdicts.
    VerdictBoth {
        /// The section.
        section: SectionName,
        /// The line.
        line: String,
    },
    /// Nobody who may say this has said it.
    NotFromRole {
        /// The section.
        section: SectionName,
        /// Who may.
        roles: Vec<Role>,
    },
    /// The section is as it was when the status was entered.
    NotFresh {
        /// The section.
        section: SectionName,
        /// The status.
        since: Status,
    },
    /// There is no report of this attempt.
    ReportMissing,
    /// The report says something else.
    ReportDiffers {
        /// The field.
        field: ReportField,
        /// What it is.
        found: String,
        /// What this edge needs.
        wanted: ReportWanted,
    },
    /// The branch is not at the commit that was handed over or named.
    BranchMoved {
        /// The branch.
        branch: BranchName,
        /// The commit that was handed over or named.
        from: CommitId,
        /// The branch's commit now.
        to: CommitId,
        /// How many commits the branch has since; `None` when that commit is not part of it.
        commits: Option<u64>,
        /// What that commit is.
        from_is: CommitKind,
    },
    /// The worktree has work that is not committed.
    Uncommitted {
        /// The files, untracked ones included and ignored ones not.
        files: Vec<String>,
        /// Anything else, each as a sentence of its own.
        others: Vec<String>,
    },
    /// A fact about git does not hold.
    Git {
        /// The fact.
        condition: GitCondition,
    },
    /// There is no pull request.
    PullRequestMissing,
    /// The pull request is in another state.
    PullRequestState {
        /// What it is.
        found: PullRequestState,
        /// What this edge needs.
        wanted: PullRequestState,
    },
    /// The checks stand otherwise.
    PullRequestChecks {
        /// How they stand.
        found: Option<ChecksState>,
        /// What this edge needs.
        wanted: ChecksState,
    },
    /// The command did not succeed.
    Command {
        /// Program and arguments.
        command: Vec<String>,
        /// How it ended.
        result: CommandResult,
    },
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
                let wanted = either(fields.iter().map(|field| format!("`{field}:`")));
                write!(
                    formatter,
                    "`{section}` in TASK.md has no line {wanted} with content"
                )?;
                if !empty.is_empty() {
                    let empty = all(empty.iter().map(|field| format!("`{field}:`")));
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
                either(allowed.iter().map(the))
            ),
            GateFailure::NotFresh { section, since } => write!(
                formatter,
                "`{section}` has not changed since the task entered `{since}`"
            ),
            failure => fmt_world(failure, formatter),
        }
    }
}

/// Failures of gates that check a report or the world rather than TASK.md.
fn fmt_world(failure: &GateFailure, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match failure {
        GateFailure::ReportMissing => formatter.write_str("this attempt has no report"),
        GateFailure::ReportDiffers {
            field,
            found,
            wanted,
        } => {
            let wanted = match wanted {
                ReportWanted::Is(words) => either(words.iter().map(|word| format!("`{word}`"))),
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
            from_is,
        } => fmt_moved(formatter, branch, (from, to), *commits, *from_is),
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
        // Sections are handled above.
        _ => Ok(()),
    }
}

fn fmt_moved(
    formatter: &mut fmt::Formatter<'_>,
    branch: &BranchName,
    (from, to): (&CommitId, &CommitId),
    commits: Option<u64>,
    from_is: CommitKind,
) -> fmt::Result {
    let what = match from_is {
        CommitKind::Submitted => "the submitted commit",
        CommitKind::Reviewed => "the reviewed commit",
        CommitKind::Named => "the commit you name",
    };
    let (from, to) = (from.short(), to.short());
    match commits {
        Some(1) => write!(formatter, "`{branch}` has 1 commit after {from}, {what}"),
        Some(commits) => write!(
            formatter,
            "`{branch}` has {commits} commits after {from}, {what}"
        ),
        None => write!(formatter, "`{branch}` does not contain {from}, {what}"),
    }?;
    write!(formatter, "; it is at {to}")
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
    let names = all(names);
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
