//! What a task's gate is still missing, in a few words.

use orange_engine::refusal::{Blocker, GateFailure};

use super::entry::Entry;
use super::list::Zone;

/// What a task needs for its next status; `None` if no gate has failed.
pub fn needs(entry: &Entry) -> Option<String> {
    if entry.zone() != Zone::Running {
        return None;
    }
    let ways = entry.glance.iter().flat_map(|glance| &glance.ways);
    let mut missing = ways.flat_map(|way| &way.missing);
    missing.find_map(|missing| match missing {
        Blocker::GateFailed { failure } => Some(describe(failure)),
        _ => None,
    })
}

fn describe(failure: &GateFailure) -> String {
    match failure {
        GateFailure::SectionMissing { section, .. } => format!("needs {section}"),
        GateFailure::SectionEmpty { section, .. } => format!("{section} is empty"),
        GateFailure::FieldsMissing {
            section, fields, ..
        } => {
            let field = fields.first().map_or("a field", String::as_str);
            format!("needs {field} in {section}")
        }
        GateFailure::VerdictWrong { found, .. } => format!("verdict is {found:?}").to_uppercase(),
        GateFailure::VerdictUnreadable { .. } | GateFailure::VerdictBoth { .. } => {
            String::from("needs a verdict")
        }
        GateFailure::NotFromRole { roles, .. } => {
            let role = roles.first().map_or("right role", |role| role.as_str());
            format!("needs the {role}")
        }
        GateFailure::NotFresh { section, .. } => format!("needs new {section}"),
        GateFailure::ReportMissing | GateFailure::ReportDiffers { .. } => {
            String::from("needs a report")
        }
        GateFailure::Uncommitted {
            files, unfiltered, ..
        } if files.is_empty() && !unfiltered.is_empty() => String::from("needs a git filter"),
        GateFailure::Uncommitted {
            other_branch: Some(_),
            ..
        } => String::from("is on another branch"),
        GateFailure::Uncommitted { .. } => String::from("needs a commit"),
        GateFailure::BranchMoved { .. } => String::from("the branch has moved"),
        GateFailure::Git { condition } => {
            format!("needs {}", condition.name().replace('_', " "))
        }
        GateFailure::PullRequestMissing
        | GateFailure::PullRequestState { .. }
        | GateFailure::PullRequestHead { .. }
        | GateFailure::PullRequestUnknown { .. } => String::from("needs its pull request"),
        GateFailure::PullRequestDraft { .. } => String::from("pull request is a draft"),
        GateFailure::PullRequestChecks { .. } => String::from("needs its checks"),
        GateFailure::PullRequestReview { .. } => String::from("needs an approval"),
        GateFailure::PullRequestMergeable { .. } => String::from("has conflicts"),
        GateFailure::PullRequestThreads { .. } => String::from("has open points"),
        GateFailure::Command { command, .. } => {
            let program = command.first().map_or("a command", String::as_str);
            format!("{program} fails")
        }
    }
}
