//! Whether a gate holds, fails, or needs a fact.

use super::plan_builder::PlanBuilder;
use super::pull_request_gate;
use super::submission;
use crate::document::Section;
use crate::document::reading::{self, Verdict, VerdictReading};
use crate::input::{CommandResult, FactNeeded};
use crate::language::gates::{
    CommandGate, Gate, GateKind, GitCondition, GitGate, ReportCondition, ReportField, ReportGate,
    SectionGate,
};
use crate::refusal::GateFailure;
use crate::report::Report;
use crate::wording::join_and;

pub(super) enum GateResult {
    /// It holds, for this reason.
    Passes(String),
    /// It does not hold, for these reasons.
    Fails(Vec<GateFailure>),
    /// It cannot be judged without this fact.
    Needs(FactNeeded),
}

impl GateResult {
    pub(super) fn from_failures(
        failures: Vec<GateFailure>,
        evidence: impl FnOnce() -> String,
    ) -> GateResult {
        if failures.is_empty() {
            GateResult::Passes(evidence())
        } else {
            GateResult::Fails(failures)
        }
    }
}

pub(super) fn check(gate: &Gate, steps: &PlanBuilder<'_>) -> GateResult {
    match &gate.kind {
        GateKind::Section(gate) => check_section(gate, steps),
        GateKind::Report(gate) => check_report(gate, steps.task.report.as_ref()),
        GateKind::Git(gate) => check_git(gate, steps),
        GateKind::PullRequest(gate) => pull_request_gate::check(gate, steps),
        GateKind::Command(gate) => check_command(gate, steps),
    }
}

fn check_section(gate: &SectionGate, steps: &PlanBuilder<'_>) -> GateResult {
    let Some(document) = steps.document() else {
        return GateResult::Needs(FactNeeded::Document);
    };
    let name = &gate.section;
    let Some(section) = document.section(name) else {
        return GateResult::Fails(vec![GateFailure::SectionMissing {
            section: name.clone(),
            fields: gate.fields.clone(),
            verdict: gate.verdict,
        }]);
    };
    let content = document.content(section);
    if !reading::has_content(content) {
        return GateResult::Fails(vec![GateFailure::SectionEmpty {
            section: name.clone(),
            fields: gate.fields.clone(),
            verdict: gate.verdict,
        }]);
    }
    let mut failures = Vec::new();
    let mut evidence = format!("`{name}` exists");
    if !gate.fields.is_empty() {
        match reading::field_with_content(content, &gate.fields) {
            Some(field) => evidence = format!("`{name}` has {field}"),
            None => failures.push(GateFailure::FieldsMissing {
                section: name.clone(),
                fields: gate.fields.clone(),
                empty: reading::empty_fields(content, &gate.fields)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            }),
        }
    }
    match check_verdict(gate, content) {
        Ok(Some(verdict)) => evidence = verdict,
        Ok(None) => {}
        Err(failure) => failures.push(failure),
    }
    failures.extend(check_submission(gate, section, steps));
    if gate.verdict == Some(Verdict::Pass) && failures.is_empty() {
        // A PASS approves the reviewed commit, so the branch must not have moved since the review.
        match steps.facts().and_then(|facts| facts.git.as_ref()) {
            None => return GateResult::Needs(FactNeeded::Git),
            Some(git) => failures.extend(submission::check_moved(steps, git)),
        }
    }
    GateResult::from_failures(failures, || evidence)
}

fn check_verdict(gate: &SectionGate, content: &str) -> Result<Option<String>, GateFailure> {
    let Some(wanted) = gate.verdict else {
        return Ok(None);
    };
    let section = gate.section.clone();
    match reading::verdict(content, gate.verdict_mode) {
        VerdictReading::Found(found) if found == wanted => {
            Ok(Some(format!("`{section}` says {found}")))
        }
        VerdictReading::Found(found) => Err(GateFailure::VerdictWrong {
            section,
            found,
            wanted,
        }),
        VerdictReading::Absent => Err(GateFailure::VerdictUnreadable {
            section,
            line: None,
            wanted,
        }),
        VerdictReading::Unreadable { line } => Err(GateFailure::VerdictUnreadable {
            section,
            line: Some(line),
            wanted,
        }),
        VerdictReading::Both { line } => Err(GateFailure::VerdictBoth { section, line }),
    }
}

/// Checks freshness and origin by the recorded imports, never by the document itself.
fn check_submission(
    gate: &SectionGate,
    section: &Section,
    steps: &PlanBuilder<'_>,
) -> Vec<GateFailure> {
    let record = steps.task.sections.get(&gate.section);
    let record = record.filter(|record| record.hash.as_ref() == Some(&section.hash()));
    let mut failures = Vec::new();
    if gate.fresh && !record.is_some_and(crate::task::SectionRecord::is_fresh) {
        failures.push(GateFailure::NotFresh {
            section: gate.section.clone(),
            since: steps.task.status.clone(),
        });
    }
    let is_from_role = record.is_some_and(|record| {
        let mut roles = gate.from_role.iter();
        roles.any(|role| record.submitted_by.contains(role))
    });
    if !gate.from_role.is_empty() && !is_from_role {
        failures.push(GateFailure::NotFromRole {
            section: gate.section.clone(),
            roles: gate.from_role.clone(),
        });
    }
    failures
}

fn check_report(gate: &ReportGate, report: Option<&Report>) -> GateResult {
    let Some(report) = report else {
        return GateResult::Fails(vec![GateFailure::ReportMissing]);
    };
    let words = read_report(gate.field, report);
    let found = words.join(", ");
    let holds = match &gate.wanted {
        ReportCondition::Is(wanted) => wanted.contains(&found),
        ReportCondition::Empty(wanted) => words.is_empty() == *wanted,
    };
    if holds {
        return GateResult::Passes(format!("the report's `{}` is `{found}`", gate.field));
    }
    GateResult::Fails(vec![GateFailure::ReportDiffers {
        field: gate.field,
        found,
        wanted: gate.wanted.clone(),
    }])
}

/// The values of a report's field. A blank text counts as no value; an item of a list always
/// counts.
fn read_report(field: ReportField, report: &Report) -> Vec<String> {
    let text = |text: &str| {
        let has_text = !text.trim().is_empty();
        has_text.then(|| text.to_owned()).into_iter().collect()
    };
    match field {
        ReportField::Status => report.status.iter().cloned().collect(),
        ReportField::Outcome => vec![report.outcome().to_string()],
        ReportField::Summary => text(&report.summary),
        ReportField::Reason => text(&report.reason),
        ReportField::Accomplished => report.accomplished.clone(),
        ReportField::Remaining => report.remaining.clone(),
        ReportField::Blockers => report.blockers.clone(),
        ReportField::FilesChanged => report.files_changed.clone(),
        ReportField::NeedsHelp => vec![report.needs_help.to_string()],
        // None of these is created.
        ReportField::Delegations if report.refused_delegations.is_some() => Vec::new(),
        ReportField::Delegations => {
            let children = report.delegations.iter();
            children.map(|child| child.title.clone()).collect()
        }
    }
}

fn check_git(gate: &GitGate, steps: &PlanBuilder<'_>) -> GateResult {
    let Some(git) = steps.facts().and_then(|facts| facts.git.as_ref()) else {
        return GateResult::Needs(FactNeeded::Git);
    };
    let failures = gate
        .conditions
        .iter()
        .filter(|condition| !git.met_conditions.contains(condition))
        .filter(|condition| !submission::is_irrelevant(**condition, git, steps))
        .map(|condition| match condition {
            GitCondition::Clean => GateFailure::Uncommitted {
                files: git.uncommitted.files.clone(),
                unfiltered: git.uncommitted.unfiltered.clone(),
                other_branch: git.uncommitted.other_branch.clone(),
                others: git.uncommitted.others.clone(),
            },
            condition => GateFailure::Git {
                condition: *condition,
            },
        })
        .collect();
    GateResult::from_failures(failures, || {
        let met = gate.conditions.iter().map(|condition| match condition {
            GitCondition::Clean => "everything is committed",
            GitCondition::CommitsAhead => "the branch has new commits",
            GitCondition::BranchNotDefault => "the branch is not the default branch",
            GitCondition::TaskFileUntracked => "the branch does not contain TASK.md",
        });
        let met = join_and(met.map(str::to_owned));
        format!("{met} (at {})", git.head.short())
    })
}

fn check_command(gate: &CommandGate, steps: &PlanBuilder<'_>) -> GateResult {
    let known = steps
        .facts()
        .and_then(|facts| facts.commands.get(&gate.command));
    match known {
        Some(CommandResult::Exited(0)) => GateResult::Passes(gate.evidence()),
        Some(result) => GateResult::Fails(vec![GateFailure::Command {
            command: gate.command.clone(),
            result: *result,
        }]),
        None => GateResult::Needs(FactNeeded::Command {
            command: gate.command.clone(),
            timeout: gate.timeout,
        }),
    }
}
