//! What gates ask for, taken apart so that it can be compared.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use super::words::{command_line, duration, either, the};
use crate::document::SectionName;
use crate::document::reading::{Verdict, VerdictMode};
use crate::language::gates::{
    ChecksState, Gate, GateKind, GitCondition, PullRequestState, ReportField, ReportWanted,
    SectionGate,
};
use crate::role::Role;

/// One thing that must be shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A section with content.
    Section(SectionName),
    /// One of these fields in a section.
    Fields(SectionName, BTreeSet<String>),
    /// A verdict in a section.
    Verdict(SectionName, Verdict, VerdictMode),
    /// A section that one of these roles brought.
    FromRole(SectionName, BTreeSet<Role>),
    /// A section that has changed since the status was entered.
    Fresh(SectionName),
    /// A field of the report that is one of these texts.
    ReportIs(ReportField, BTreeSet<String>),
    /// A field of the report that is empty, or is not.
    ReportEmpty(ReportField, bool),
    /// A fact about git.
    Git(GitCondition),
    /// A pull request in this state.
    PullRequest(PullRequestState),
    /// A pull request with such checks.
    Checks(ChecksState),
    /// A command that succeeds within so many seconds.
    Command(Vec<String>, u64),
}

/// Everything that these gates ask for, however they are cut and named.
pub(crate) fn needs(gates: &[Gate]) -> BTreeSet<Need> {
    let mut needs = BTreeSet::new();
    for gate in gates {
        match &gate.kind {
            GateKind::Section(gate) => needs.extend(of_section(gate)),
            GateKind::Report(gate) => {
                needs.insert(match &gate.wanted {
                    ReportWanted::Is(words) => {
                        Need::ReportIs(gate.field, words.iter().cloned().collect())
                    }
                    ReportWanted::Empty(empty) => Need::ReportEmpty(gate.field, *empty),
                });
            }
            GateKind::Git(gate) => needs.extend(gate.conditions.iter().copied().map(Need::Git)),
            GateKind::PullRequest(gate) => {
                needs.extend(gate.state.map(Need::PullRequest));
                needs.extend(gate.checks.map(Need::Checks));
            }
            GateKind::Command(gate) => {
                needs.insert(Need::Command(gate.command.clone(), gate.timeout));
            }
        }
    }
    let implied: Vec<Need> = needs
        .iter()
        .filter(|need| needs.iter().any(|other| other.is_narrower(need)))
        .cloned()
        .collect();
    needs.retain(|need| !implied.contains(need));
    needs
}

fn of_section(gate: &SectionGate) -> Vec<Need> {
    let section = || gate.section.clone();
    let mut needs = vec![Need::Section(section())];
    if !gate.fields.is_empty() {
        needs.push(Need::Fields(
            section(),
            gate.fields.iter().cloned().collect(),
        ));
    }
    if let Some(verdict) = gate.verdict {
        needs.push(Need::Verdict(section(), verdict, gate.verdict_mode));
    }
    if !gate.from_role.is_empty() {
        needs.push(Need::FromRole(
            section(),
            gate.from_role.iter().cloned().collect(),
        ));
    }
    if gate.fresh {
        needs.push(Need::Fresh(section()));
    }
    needs
}

/// What is to be told of some needs: a section that is mentioned anyway needs no word of its own.
pub(crate) fn told(needs: impl IntoIterator<Item = Need>) -> Vec<Need> {
    let needs: Vec<Need> = needs.into_iter().collect();
    let is_mentioned = |need: &Need| match need {
        Need::Section(section) => needs
            .iter()
            .any(|other| other != need && other.section() == Some(section)),
        _ => false,
    };
    needs
        .iter()
        .filter(|need| !is_mentioned(need))
        .cloned()
        .collect()
}

impl Need {
    fn section(&self) -> Option<&SectionName> {
        match self {
            Need::Section(section)
            | Need::Fields(section, _)
            | Need::Verdict(section, ..)
            | Need::FromRole(section, _)
            | Need::Fresh(section) => Some(section),
            _ => None,
        }
    }

    /// Whether this one holds only where the other does, and asks for fewer of the same things.
    fn is_narrower(&self, other: &Need) -> bool {
        self != other
            && match (self, other) {
                (Need::Fields(a, one), Need::Fields(b, two)) => a == b && one.is_subset(two),
                (Need::FromRole(a, one), Need::FromRole(b, two)) => a == b && one.is_subset(two),
                (Need::ReportIs(a, one), Need::ReportIs(b, two)) => a == b && one.is_subset(two),
                (Need::Command(a, one), Need::Command(b, two)) => a == b && one < two,
                _ => false,
            }
    }

    /// Whether both cannot be shown at once.
    pub(super) fn excludes(&self, other: &Need) -> bool {
        match (self, other) {
            (Need::Verdict(a, one, how), Need::Verdict(b, two, same)) => {
                a == b && how == same && one != two
            }
            (Need::ReportIs(a, one), Need::ReportIs(b, two)) => a == b && one.is_disjoint(two),
            (Need::ReportEmpty(a, one), Need::ReportEmpty(b, two)) => a == b && one != two,
            (Need::PullRequest(one), Need::PullRequest(two)) => one != two,
            (Need::Checks(one), Need::Checks(two)) => one != two,
            _ => false,
        }
    }

    /// Whether one took the place of the other: the same question with another answer.
    pub(super) fn replaces(&self, other: &Need) -> bool {
        match (self, other) {
            (Need::Fields(a, _), Need::Fields(b, _))
            | (Need::FromRole(a, _), Need::FromRole(b, _))
            | (Need::Verdict(a, ..), Need::Verdict(b, ..)) => a == b,
            (
                Need::ReportIs(a, _) | Need::ReportEmpty(a, _),
                Need::ReportIs(b, _) | Need::ReportEmpty(b, _),
            ) => a == b,
            (Need::Command(a, _), Need::Command(b, _)) => a == b,
            (Need::PullRequest(_), Need::PullRequest(_)) | (Need::Checks(_), Need::Checks(_)) => {
                true
            }
            _ => false,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Section(section) => write!(formatter, "`{section}`"),
            Need::Fields(section, fields) => {
                let lines = either(fields.iter().map(|field| format!("`{field}:`")));
                write!(formatter, "a line {lines} in `{section}`")
            }
            Need::Verdict(section, verdict, VerdictMode::FirstLine) => {
                write!(
                    formatter,
                    "the verdict {verdict} in the first line of `{section}`"
                )
            }
            Need::Verdict(section, verdict, VerdictMode::Scan) => {
                write!(formatter, "the verdict {verdict} anywhere in `{section}`")
            }
            Need::FromRole(section, roles) => {
                let roles = either(roles.iter().map(the));
                write!(formatter, "`{section}` brought by {roles}")
            }
            Need::Fresh(section) => write!(formatter, "a fresh `{section}`"),
            Need::ReportIs(field, words) => {
                let words = either(words.iter().map(|word| format!("`{word}`")));
                write!(formatter, "a report whose `{field}` is {words}")
            }
            Need::ReportEmpty(field, true) => {
                write!(formatter, "a report whose `{field}` is empty")
            }
            Need::ReportEmpty(field, false) => {
                write!(formatter, "a report whose `{field}` is not empty")
            }
            Need::Git(condition) => formatter.write_str(match condition {
                GitCondition::Clean => "a clean worktree",
                GitCondition::CommitsAhead => "a commit of its own on the branch",
                GitCondition::BranchNotDefault => "another branch than the default one",
                GitCondition::TaskFileUntracked => "a branch without TASK.md in its commits",
            }),
            Need::PullRequest(state) => formatter.write_str(match state {
                PullRequestState::Open => "an open pull request",
                PullRequestState::Merged => "a merged pull request",
                PullRequestState::Closed => "a closed pull request",
            }),
            Need::Checks(checks) => formatter.write_str(match checks {
                ChecksState::Passing => "a pull request whose checks pass",
                ChecksState::Failing => "a pull request whose checks fail",
                ChecksState::Pending => "a pull request whose checks still run",
            }),
            Need::Command(command, seconds) => {
                let command = command_line(command);
                write!(
                    formatter,
                    "`{command}` to succeed within {}",
                    duration(*seconds)
                )
            }
        }
    }
}

crate::text_schema::written_as_text!(Need);

impl Serialize for Need {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
