//! Wording for sentences about workflows, and what gates require.

use std::collections::BTreeSet;

use crate::document::reading::VerdictMode;
use crate::language::gates::{
    ChecksState, Gate, GateKind, GitCondition, PullRequestGate, PullRequestState, ReportCondition,
    ReviewCondition, SectionGate, ThreadsCondition,
};
use crate::role::Role;

/// How many characters of a longer text are shown.
const EXCERPT: usize = 40;

fn join_words(words: impl IntoIterator<Item = String>, conjunction: &str) -> String {
    let words: Vec<String> = words.into_iter().collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}

/// `a, b or c`.
pub fn join_or(words: impl IntoIterator<Item = String>) -> String {
    join_words(words, "or")
}

/// `a, b and c`.
pub fn join_and(words: impl IntoIterator<Item = String>) -> String {
    join_words(words, "and")
}

/// A role by its name in the workflow, with an article: `the worker`.
pub fn with_article(role: &Role) -> String {
    format!("the {role}")
}

/// The role in a text about a task, which both the user and agents read. Only workflows call the
/// user `human`.
pub fn actor(role: &Role) -> String {
    match role {
        Role::Human => String::from("the user"),
        role => with_article(role),
    }
}

/// A duration as a workflow file writes it.
pub fn duration(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("m", 60)];
    let unit = units
        .iter()
        .find(|(_, length)| seconds > 0 && seconds.is_multiple_of(*length));
    match unit {
        Some((name, length)) => format!("{}{name}", seconds / length),
        None => format!("{seconds}s"),
    }
}

/// A program and its arguments, quoted where two different lists would otherwise look the same.
pub fn command_line(command: &[String]) -> String {
    let is_plain = |word: &String| {
        let is_part = |it: char| !it.is_whitespace() && !it.is_control() && !"\"\\`".contains(it);
        !word.is_empty() && word.chars().all(is_part)
    };
    let words = command.iter().map(|word| {
        if is_plain(word) {
            word.clone()
        } else {
            format!("{word:?}")
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, in quotes.
pub fn excerpt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end();
    let short: String = line.chars().take(EXCERPT).collect();
    let more = if short.len() < text.trim().len() {
        "…"
    } else {
        ""
    };
    format!("\"{short}{more}\"")
}

/// One thing that a gate requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// What is checked, such as `report outcome`. Two requirements with the same subject are two
    /// conditions on the same thing.
    pub subject: String,
    /// What is required, as the object of a sentence, such as `a clean worktree`.
    pub text: String,
}

/// Everything that these gates require together, whatever the gates are called and however they are
/// grouped.
pub fn requirements(gates: &[Gate]) -> Vec<Requirement> {
    let mut needs: Vec<Requirement> = Vec::new();
    for need in gates.iter().flat_map(|gate| gate_requirements(&gate.kind)) {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

fn requirement(subject: impl Into<String>, text: impl Into<String>) -> Requirement {
    Requirement {
        subject: subject.into(),
        text: text.into(),
    }
}

fn gate_requirements(kind: &GateKind) -> Vec<Requirement> {
    match kind {
        GateKind::Section(gate) => section_requirements(gate),
        GateKind::Report(gate) => {
            let field = gate.field;
            let expected = match &gate.wanted {
                ReportCondition::Is(words) => quoted(words, ""),
                ReportCondition::Empty(true) => String::from("empty"),
                ReportCondition::Empty(false) => String::from("not empty"),
            };
            let text = format!("a report whose `{field}` is {expected}");
            vec![requirement(format!("report {field}"), text)]
        }
        GateKind::Git(gate) => {
            let texts = gate.conditions.iter().map(|condition| match condition {
                GitCondition::Clean => "a clean worktree",
                GitCondition::CommitsAhead => "a commit of its own on the branch",
                GitCondition::BranchNotDefault => "another branch than the default one",
                GitCondition::TaskFileUntracked => "a branch without TASK.md in its commits",
            });
            texts.map(|text| requirement(text, text)).collect()
        }
        GateKind::PullRequest(gate) => pull_request_requirements(gate),
        GateKind::Command(gate) => {
            let command = command_line(&gate.command);
            let timeout = duration(gate.timeout);
            let text = format!("`{command}` to succeed within {timeout}");
            vec![requirement(command, text)]
        }
    }
}

fn pull_request_requirements(gate: &PullRequestGate) -> Vec<Requirement> {
    let state = gate.state.map(|state| match state {
        PullRequestState::Open => "an open pull request",
        PullRequestState::Merged => "a merged pull request",
        PullRequestState::Closed => "a closed pull request",
    });
    let draft = gate.draft.map(|draft| {
        if draft {
            "a pull request that is a draft"
        } else {
            "a pull request that is not a draft"
        }
    });
    let checks = gate.checks.map(|checks| match (checks, gate.allow_none) {
        (ChecksState::Passing, false) => "a pull request whose checks pass",
        (ChecksState::Passing, true) => "a pull request whose checks pass, if there are any",
        (ChecksState::Failing, false) => "a pull request whose checks fail",
        (ChecksState::Failing, true) => "a pull request whose checks fail, if there are any",
        (ChecksState::Pending, false) => "a pull request whose checks still run",
        (ChecksState::Pending, true) => "a pull request whose checks still run, if there are any",
    });
    let review = gate.review.map(|review| match review {
        ReviewCondition::Approved => "a pull request that is approved",
        ReviewCondition::NoneRequired => "a pull request that is approved, if that is required",
    });
    let mergeable = gate.mergeable.map(|mergeable| {
        if mergeable {
            "a pull request without conflicts"
        } else {
            "a pull request with conflicts"
        }
    });
    let threads = gate.threads.map(|threads| match threads {
        ThreadsCondition::Resolved => "a pull request without open points of reviewers",
    });
    let all = [
        ("pull request", state),
        ("draft", draft),
        ("checks", checks),
        ("review", review),
        ("mergeable", mergeable),
        ("threads", threads),
    ];
    let given = all.into_iter();
    given
        .filter_map(|(subject, text)| Some(requirement(subject, text?)))
        .collect()
}

/// Every requirement implies that the section exists, so its existence is listed only if nothing
/// else is required.
fn section_requirements(gate: &SectionGate) -> Vec<Requirement> {
    let section = &gate.section;
    let mut needs = Vec::new();
    let mut add =
        |what: &str, text: String| needs.push(requirement(format!("{section} {what}"), text));
    if !gate.fields.is_empty() {
        let fields = quoted(&gate.fields, ":");
        add("fields", format!("a line {fields} in `{section}`"));
    }
    if let Some(verdict) = gate.verdict {
        let place = match gate.verdict_mode {
            VerdictMode::FirstLine => "in the first line of",
            VerdictMode::Scan => "anywhere in",
        };
        let text = format!("the verdict {verdict} {place} `{section}`");
        add("verdict", text);
    }
    if !gate.from_role.is_empty() {
        let roles: BTreeSet<_> = gate.from_role.iter().collect();
        let roles = join_or(roles.into_iter().map(with_article));
        add("author", format!("`{section}` submitted by {roles}"));
    }
    if gate.fresh {
        add("fresh", format!("a fresh `{section}`"));
    }
    if needs.is_empty() {
        needs.push(requirement(section.to_string(), format!("`{section}`")));
    }
    needs
}

/// The order in a file has no meaning, so the words are sorted.
fn quoted(words: &[String], end: &str) -> String {
    let words: BTreeSet<&String> = words.iter().collect();
    join_or(words.into_iter().map(|word| format!("`{word}{end}`")))
}

/// A number of bytes in a readable unit, such as `1.5 GB`.
pub fn describe_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("KB", 1000),
    ];
    let Some((unit, size)) = UNITS.iter().find(|(_, size)| bytes >= *size) else {
        return format!("{bytes} bytes");
    };
    match (bytes / size, bytes % size / (size / 10)) {
        (whole, 0) | (whole @ 100.., _) => format!("{whole} {unit}"),
        (whole, tenths) => format!("{whole}.{tenths} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_described_in_the_largest_unit() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1 KB"),
            (1_550_000, "1.5 MB"),
            (123_456_789_000, "123 GB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(describe_bytes(bytes), expected);
        }
    }
}
