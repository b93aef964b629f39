//! Why a gate does not pass; prints as one sentence.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::document::SectionName;
use crate::document::reading::Verdict;
use crate::forge::pull_request::ReviewDecision;
use crate::input::{CommandResult, UnfilteredFile};
use crate::language::gates::{
    ChecksState, GitCondition, PullRequestState, ReportCondition, ReportField, ReviewCondition,
};
use crate::names::{BranchName, CommitId, Status};
use crate::role::Role;
use crate::wording::{actor, join_and, join_or};

/// How many files a refusal names.
const MAX_NAMED_FILES: usize = 5;

/// Why a commit is the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitKind {
    /// It was submitted for review.
    Submitted,
    /// It passed a review.
    Reviewed,
    /// The request names it.
    Named,
}

/// A fact about a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullRequestFact {
    /// The state of its checks.
    Checks,
    /// Its review.
    Review,
    /// Whether it can be merged without conflicts.
    Mergeable,
    /// The points of its reviewers.
    Threads,
}

/// Why a gate does not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum GateFailure {
    /// The section does not exist.
    SectionMissing {
        /// The section.
        section: SectionName,
        /// The fields, of which it needs at least one.
        fields: Vec<String>,
        /// The verdict it needs.
        verdict: Option<Verdict>,
    },
    /// The section exists, but has no content.
    SectionEmpty {
        /// The section.
        section: SectionName,
        /// The fields, of which it needs at least one.
        fields: Vec<String>,
        /// The verdict it needs.
        verdict: Option<Verdict>,
    },
    /// None of the fields has content.
    FieldsMissing {
        /// The section.
        section: SectionName,
        /// The fields, of which it needs at least one.
        fields: Vec<String>,
        /// The fields that exist, but are empty.
        empty: Vec<String>,
    },
    /// The section has the other verdict.
    VerdictWrong {
        /// The section.
        section: SectionName,
        /// The verdict of the section.
        found: Verdict,
        /// The verdict that this edge needs.
        wanted: Verdict,
    },
    /// There is no verdict, or none that can be read.
    VerdictUnreadable {
        /// The section.
        section: SectionName,
        /// The line that was read.
        line: Option<String>,
        /// The verdict that this edge needs.
        wanted: Verdict,
    },
    /// The line names both verdicts.
    VerdictBoth {
        /// The section.
        section: SectionName,
        /// The line.
        line: String,
    },
    /// No role that may submit this section has submitted it.
    NotFromRole {
        /// The section.
        section: SectionName,
        /// The roles that may.
        roles: Vec<Role>,
    },
    /// The section has not changed since the status was entered.
    NotFresh {
        /// The section.
        section: SectionName,
        /// The status.
        since: Status,
    },
    /// There is no report of this attempt.
    ReportMissing,
    /// The report has another value.
    ReportDiffers {
        /// The field.
        field: ReportField,
        /// Its value.
        found: String,
        /// The value that this edge needs.
        wanted: ReportCondition,
    },
    /// The branch is not at the commit that was submitted, reviewed or named.
    BranchMoved {
        /// The branch.
        branch: BranchName,
        /// The commit that was submitted, reviewed or named.
        from: CommitId,
        /// The branch's commit now.
        to: CommitId,
        /// How many commits the branch has since; `null` if that commit is not part of it.
        commits: Option<u64>,
        /// Why that commit is the expected one.
        commit_kind: CommitKind,
    },
    /// The worktree has work that is not committed.
    Uncommitted {
        /// The files, including untracked but not ignored ones.
        files: Vec<String>,
        /// Files that may look uncommitted only because their filter is not run.
        unfiltered: Vec<UnfilteredFile>,
        /// The branch that the worktree is on, if it is another one that could become the task's.
        #[serde(skip_serializing_if = "Option::is_none")]
        other_branch: Option<BranchName>,
        /// Anything else, each as a sentence.
        others: Vec<String>,
    },
    /// A git condition is not met.
    Git {
        /// The condition.
        condition: GitCondition,
    },
    /// There is no pull request.
    PullRequestMissing,
    /// The pull request is in another state.
    PullRequestState {
        /// Its state.
        found: PullRequestState,
        /// The state that this edge needs.
        wanted: PullRequestState,
    },
    /// The pull request stands for another commit than the branch.
    PullRequestHead {
        /// Its commit.
        found: CommitId,
        /// The branch's commit.
        wanted: CommitId,
    },
    /// The pull request is a draft, or is not.
    PullRequestDraft {
        /// Whether it must be a draft.
        wanted: bool,
    },
    /// The checks are in another state.
    PullRequestChecks {
        /// Their state; `null` if the repository has no checks.
        found: Option<ChecksState>,
        /// The state that this edge needs.
        wanted: ChecksState,
    },
    /// The pull request lacks the review.
    PullRequestReview {
        /// Its review; `null` if it has none.
        found: Option<ReviewDecision>,
        /// The review that this edge needs.
        wanted: ReviewCondition,
    },
    /// The pull request conflicts with its base, or does not.
    PullRequestMergeable {
        /// Whether it must be free of conflicts.
        wanted: bool,
    },
    /// Points of reviewers are open.
    PullRequestThreads {
        /// How many.
        open: usize,
    },
    /// The forge has not answered yet.
    PullRequestUnknown {
        /// What is unknown.
        fact: PullRequestFact,
    },
    /// The command did not succeed.
    Command {
        /// Program and arguments.
        command: Vec<String>,
        /// Its result.
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
                let wanted = join_or(fields.iter().map(|field| format!("`{field}:`")));
                write!(
                    formatter,
                    "`{section}` in TASK.md has no line {wanted} with content"
                )?;
                if !empty.is_empty() {
                    let empty = join_and(empty.iter().map(|field| format!("`{field}:`")));
                    write!(formatter, " (empty: {empty})")?;
                }
                Ok(())
            }
            GateFailure::VerdictWrong {
                section,
                found,
                wanted,
            } => write!(
                formatter,
                "`{section}` says {found}, but this needs {wanted}"
            ),
            GateFailure::VerdictUnreadable {
                section,
                line: Some(line),
                ..
            } => write!(
                formatter,
                "the first line of `{section}` must be `Verdict: PASS` or `Verdict: FAIL`, not \
                 `{line}`"
            ),
            GateFailure::VerdictUnreadable {
                section,
                line: None,
                ..
            } => write!(formatter, "`{section}` has no verdict"),
            GateFailure::VerdictBoth { section, line } => {
                write!(
                    formatter,
                    "the verdict of `{section}` names both PASS and FAIL: `{line}`"
                )
            }
            GateFailure::NotFromRole {
                section,
                roles: allowed,
            } => write!(
                formatter,
                "`{section}` counts only if {} submits it",
                join_or(allowed.iter().map(actor))
            ),
            GateFailure::NotFresh { section, since } => write!(
                formatter,
                "`{section}` has not changed since the task entered `{since}`"
            ),
            failure => fmt_other(failure, formatter),
        }
    }
}

/// Failures of gates that check a report or the world rather than TASK.md.
fn fmt_other(failure: &GateFailure, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match failure {
        GateFailure::ReportMissing => {
            formatter.write_str("orange has read no report of this attempt")
        }
        GateFailure::ReportDiffers {
            field,
            found,
            wanted: expected,
        } => {
            let expected = match expected {
                ReportCondition::Is(words) => {
                    let words = join_or(words.iter().map(|word| format!("`{word}`")));
                    format!("be {words}")
                }
                ReportCondition::Empty(true) => String::from("be empty"),
                ReportCondition::Empty(false) => String::from("not be empty"),
            };
            write!(
                formatter,
                "the report's `{field}` is `{found}`, but must {expected}"
            )
        }
        GateFailure::BranchMoved {
            branch,
            from,
            to,
            commits,
            commit_kind,
        } => fmt_moved(formatter, branch, (from, to), *commits, *commit_kind),
        GateFailure::Uncommitted {
            files,
            unfiltered,
            others,
            ..
        } => fmt_uncommitted(formatter, files, unfiltered, others),
        GateFailure::Git { condition } => formatter.write_str(match condition {
            GitCondition::Clean => "the worktree has uncommitted changes",
            GitCondition::CommitsAhead => "the branch has no commit of its own",
            GitCondition::BranchNotDefault => "the task is on the default branch",
            GitCondition::TaskFileUntracked => "TASK.md was committed to the branch",
        }),
        GateFailure::Command { command, result } => {
            let command = command.join(" ");
            match result {
                CommandResult::Exited(code) => {
                    write!(formatter, "`{command}` exited with code {code}")
                }
                CommandResult::TimedOut => write!(formatter, "`{command}` timed out"),
            }
        }
        // The caller handles failures about sections.
        failure => fmt_pull_request(failure, formatter),
    }
}

fn fmt_pull_request(failure: &GateFailure, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match failure {
        GateFailure::PullRequestMissing => formatter.write_str("there is no pull request"),
        GateFailure::PullRequestState { found, wanted } => write!(
            formatter,
            "the pull request is {}, but must be {}",
            found.as_str(),
            wanted.as_str()
        ),
        GateFailure::PullRequestHead { found, wanted } => write!(
            formatter,
            "the pull request is at {}, but the branch is at {}",
            found.short(),
            wanted.short()
        ),
        GateFailure::PullRequestDraft { wanted: false } => {
            formatter.write_str("the pull request is a draft")
        }
        GateFailure::PullRequestDraft { wanted: true } => {
            formatter.write_str("the pull request is not a draft")
        }
        GateFailure::PullRequestChecks { found, wanted } => write!(
            formatter,
            "the checks of the pull request are {}, but must be {}",
            found.map_or("absent", checks_word),
            checks_word(*wanted)
        ),
        GateFailure::PullRequestReview { found, .. } => formatter.write_str(match found {
            Some(ReviewDecision::ChangesRequested) => {
                "a reviewer requests changes of the pull request"
            }
            _ => "the pull request is not approved",
        }),
        GateFailure::PullRequestMergeable { wanted: true } => {
            formatter.write_str("the pull request conflicts with its base")
        }
        GateFailure::PullRequestMergeable { wanted: false } => {
            formatter.write_str("the pull request has no conflict with its base")
        }
        GateFailure::PullRequestThreads { open: 1 } => {
            formatter.write_str("1 point of a reviewer is open")
        }
        GateFailure::PullRequestThreads { open } => {
            write!(formatter, "{open} points of reviewers are open")
        }
        GateFailure::PullRequestUnknown { fact } => formatter.write_str(match fact {
            PullRequestFact::Checks => "the state of the pull request's checks is not known yet",
            PullRequestFact::Review => "the review of the pull request is not known yet",
            PullRequestFact::Mergeable => {
                "it is not known yet whether the pull request conflicts with its base"
            }
            PullRequestFact::Threads => "the points of the reviewers are not known yet",
        }),
        _ => Ok(()),
    }
}

fn fmt_moved(
    formatter: &mut fmt::Formatter<'_>,
    branch: &BranchName,
    (from, to): (&CommitId, &CommitId),
    commits: Option<u64>,
    commit_kind: CommitKind,
) -> fmt::Result {
    let what = match commit_kind {
        CommitKind::Submitted => "the submitted commit",
        CommitKind::Reviewed => "the reviewed commit",
        CommitKind::Named => "the commit you named",
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
    unfiltered: &[UnfilteredFile],
    others: &[String],
) -> fmt::Result {
    let names = name_files(files.iter().map(String::as_str));
    let files = match files.len() {
        0 => None,
        1 => Some(format!("1 file is not committed: {names}")),
        count => Some(format!("{count} files are not committed: {names}")),
    };
    let filters: BTreeSet<&str> = unfiltered.iter().map(|it| it.filter.as_str()).collect();
    let filters = filters.into_iter().map(|filter| {
        let files = unfiltered.iter().filter(|it| it.filter == filter);
        let files = name_files(files.map(|it| it.path.as_str()));
        format!(
            "orange cannot tell whether {files} is committed, because it does not run the filter \
             `{filter}` of the repository's own configuration"
        )
    });
    let parts = files.into_iter().chain(filters);
    let mut parts: Vec<String> = parts.chain(others.iter().cloned()).collect();
    if parts.is_empty() {
        parts.push(String::from("the worktree has uncommitted changes"));
    }
    formatter.write_str(&parts.join("; "))
}

/// The first files in backticks, and how many more there are.
fn name_files<'a>(files: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = files.map(|file| format!("`{file}`")).collect();
    let more = names.len().saturating_sub(MAX_NAMED_FILES);
    names.truncate(MAX_NAMED_FILES);
    names.extend((more > 0).then(|| format!("{more} more")));
    join_and(names)
}

fn checks_word(checks: ChecksState) -> &'static str {
    match checks {
        ChecksState::Passing => "passing",
        ChecksState::Failing => "failing",
        ChecksState::Pending => "pending",
    }
}
