//! Documents, facts and reports that satisfy exactly the given gates.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use orange_engine::document::reading::Verdict;
use orange_engine::document::{Document, SectionName};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::ReviewDecision;
use orange_engine::input::{
    CommandResult, Facts, GitFacts, NamedCommit, PullRequestFacts, UncommittedWork,
};
use orange_engine::language::Workflow;
use orange_engine::language::gates::{
    GateKind, PullRequestGate, PullRequestState, ReportCondition, ReportField, ReportGate,
    SectionGate,
};
use orange_engine::names::CommitId;
use orange_engine::report::{Delegation, Outcome, Report};

use super::step::StepEvidence;

/// What a section must say.
#[derive(Default)]
struct SectionContent<'a> {
    verdict: Option<Verdict>,
    fields: Vec<&'a str>,
    kept: bool,
}

/// A TASK.md that satisfies the section gates and has no other section that a gate reads.
///
/// `number` makes new content differ from everything that was shown before.
pub(super) fn document(evidence: &StepEvidence, number: usize) -> Option<Document> {
    let mut text = String::new();
    for (name, section) in sections(evidence) {
        let number = if section.kept { 0 } else { number };
        let _ = writeln!(text, "{name}\n\n{}", content(&section, number));
    }
    Document::parse(text.as_bytes()).ok()
}

/// The same TASK.md with the new content in it; every other section stays.
pub(super) fn write(document: &Document, evidence: &StepEvidence, number: usize) -> Document {
    let mut written = document.clone();
    for (name, section) in sections(evidence) {
        if !section.kept {
            written = written.with_section(name, &content(&section, number));
        }
    }
    written
}

fn sections(evidence: &StepEvidence) -> BTreeMap<&SectionName, SectionContent<'_>> {
    let mut sections: BTreeMap<&SectionName, SectionContent<'_>> = BTreeMap::new();
    for (gates, kept) in [(&evidence.gates, false), (&evidence.kept, true)] {
        for gate in gates {
            if let GateKind::Section(gate) = &gate.kind {
                add(sections.entry(&gate.section).or_default(), gate, kept);
            }
        }
    }
    sections
}

fn content(section: &SectionContent<'_>, number: usize) -> String {
    let mut text = String::new();
    if let Some(verdict) = section.verdict {
        let _ = writeln!(text, "Verdict: {verdict}\n");
    }
    for field in &section.fields {
        let _ = writeln!(text, "{field}: said\n");
    }
    let _ = writeln!(text, "Written in step {number}.\n");
    text
}

fn add<'a>(section: &mut SectionContent<'a>, gate: &'a SectionGate, kept: bool) {
    section.verdict = section.verdict.or(gate.verdict);
    section
        .fields
        .extend(gate.fields.first().map(String::as_str));
    section.kept |= kept;
}

/// A world in which these gates hold, and requirements of other gates do not.
pub(super) fn facts(workflow: &Workflow, evidence: &StepEvidence, entered: u64) -> Facts {
    let mut met_conditions = Vec::new();
    let mut pull_request = None;
    let mut commands = every_command(workflow);
    for gate in &evidence.gates {
        match &gate.kind {
            GateKind::Git(git) => met_conditions.extend(git.conditions.iter().copied()),
            GateKind::PullRequest(gate) => {
                satisfy_pull_request(pull_request.get_or_insert_with(unknown_pull_request), gate);
            }
            GateKind::Command(gate) => {
                commands.insert(gate.command.clone(), CommandResult::Exited(0));
            }
            GateKind::Section(_) | GateKind::Report(_) => {}
        }
    }
    Facts {
        entered,
        git: Some(GitFacts {
            head: CommitId::new("head"),
            base: CommitId::new("base"),
            met_conditions,
            uncommitted: UncommittedWork::default(),
            // The branch has a commit that a merge can take, whatever the gates require.
            named: Some(NamedCommit {
                commit: CommitId::new("head"),
                commits_since: Some(0),
                is_in_base: false,
            }),
        }),
        pull_request: Some(pull_request),
        commands,
        reports: BTreeMap::new(),
        origin: None,
    }
}

/// A pull request of which nothing is known but that it is open.
fn unknown_pull_request() -> PullRequestFacts {
    PullRequestFacts {
        state: PullRequestState::Open,
        head: CommitId::new("head"),
        is_draft: true,
        checks: Knowledge::Unknown,
        review: Knowledge::Unknown,
        mergeable: None,
        open_threads: None,
    }
}

fn satisfy_pull_request(facts: &mut PullRequestFacts, gate: &PullRequestGate) {
    facts.state = gate.state.unwrap_or(facts.state);
    facts.is_draft = gate.draft.unwrap_or(facts.is_draft);
    if let Some(checks) = gate.checks {
        facts.checks = Knowledge::Known(checks);
    }
    if gate.review.is_some() {
        facts.review = Knowledge::Known(ReviewDecision::Approved);
    }
    facts.mergeable = gate.mergeable.or(facts.mergeable);
    facts.open_threads = gate.threads.map(|_| 0).or(facts.open_threads);
}

/// Every command that a gate runs, each with a failing result.
fn every_command(workflow: &Workflow) -> BTreeMap<Vec<String>, CommandResult> {
    workflow
        .every_gate()
        .filter_map(|gate| match &gate.kind {
            GateKind::Command(command) => Some((command.command.clone(), CommandResult::Exited(1))),
            _ => None,
        })
        .collect()
}

/// A report that satisfies these gates, if there is one.
pub(super) fn report<'a>(gates: impl Iterator<Item = &'a ReportGate>) -> Report {
    let mut report = of_outcome(Outcome::Done);
    let mut gates: Vec<&ReportGate> = gates.collect();
    // The outcome determines most of a report, so the single fields come after it.
    gates.sort_by_key(|gate| gate.field != ReportField::Outcome);
    for gate in gates {
        satisfy(&mut report, gate);
    }
    report
}

/// A plain report with this outcome.
pub(super) fn of_outcome(outcome: Outcome) -> Report {
    let mut report = Report {
        summary: String::from("said"),
        ..Report::default()
    };
    match outcome {
        Outcome::Unfinished => {
            report.status = Some(Outcome::Done.as_str().to_owned());
            report.remaining = vec![String::from("the rest")];
        }
        other => {
            report.status = Some(other.as_str().to_owned());
            report.files_changed = vec![String::from("a file")];
        }
    }
    report
}

fn satisfy(report: &mut Report, gate: &ReportGate) {
    let filler = || String::from("said");
    let (word, filled) = match &gate.wanted {
        ReportCondition::Is(words) => (words.first().cloned().unwrap_or_default(), true),
        ReportCondition::Empty(empty) => (filler(), !empty),
    };
    let text = || if filled { word.clone() } else { String::new() };
    let list = || {
        if filled {
            vec![word.clone()]
        } else {
            Vec::new()
        }
    };
    match gate.field {
        ReportField::Status => report.status = filled.then(|| word.clone()),
        ReportField::Outcome => {
            let outcome = Outcome::ALL
                .into_iter()
                .find(|outcome| outcome.as_str() == word);
            if let Some(outcome) = outcome {
                *report = of_outcome(outcome);
            }
        }
        ReportField::Summary => report.summary = text(),
        ReportField::Reason => report.reason = text(),
        ReportField::Accomplished => report.accomplished = list(),
        ReportField::Remaining => report.remaining = list(),
        ReportField::Blockers => report.blockers = list(),
        ReportField::FilesChanged => report.files_changed = list(),
        ReportField::NeedsHelp => report.needs_help = word == "true",
        ReportField::Delegations => {
            let child = Delegation {
                title: word.clone(),
                ..Delegation::default()
            };
            report.delegations = if filled { vec![child] } else { Vec::new() };
        }
    }
}
