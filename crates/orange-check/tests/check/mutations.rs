//! Deliberate mistakes in the shipped workflows: `check` finds every one.

mod autopilot;
mod default;
mod equivalents;
mod hints;
mod minimal;
mod respawn;

use std::collections::BTreeSet;

use orange_check::check::{Checked, Finding, FindingCode, Severity, check};
use orange_engine::language::ProblemCode;
use orange_engine::{load, shipped};

use crate::kit::load_clean;
use crate::witness;

/// A piece of text, how often it stands there, and what stands there instead.
pub struct Edit {
    old: &'static str,
    times: usize,
    new: &'static str,
}

pub fn edit(old: &'static str, new: &'static str) -> Edit {
    edit_all(1, old, new)
}

pub fn edit_all(times: usize, old: &'static str, new: &'static str) -> Edit {
    Edit { old, times, new }
}

/// What a mistake leads to.
pub enum Wanted {
    /// A finding of this kind, whose message says this.
    Finding(FindingCode, &'static str),
    /// It does not even load.
    Problem(ProblemCode),
}

pub fn found(code: FindingCode, fragment: &'static str) -> Wanted {
    Wanted::Finding(code, fragment)
}

pub fn refused(code: ProblemCode) -> Wanted {
    Wanted::Problem(code)
}

/// A mistake.
pub struct Mutant {
    what: &'static str,
    edits: Vec<Edit>,
    wanted: Wanted,
}

pub fn mutant(what: &'static str, edits: Vec<Edit>, wanted: Wanted) -> Mutant {
    Mutant {
        what,
        edits,
        wanted,
    }
}

/// A change that does no harm, and why.
pub struct Harmless {
    workflow: &'static str,
    why: &'static str,
    edits: Vec<Edit>,
}

pub fn harmless(workflow: &'static str, why: &'static str, edits: Vec<Edit>) -> Harmless {
    Harmless {
        workflow,
        why,
        edits,
    }
}

fn edited(source: &str, edits: &[Edit], what: &str) -> String {
    let mut text = source.to_owned();
    for edit in edits {
        let found = text.matches(edit.old).count();
        assert_eq!(found, edit.times, "{what}: {:?} stands elsewhere", edit.old);
        text = text.replace(edit.old, edit.new);
    }
    text
}

fn shipped_source(name: &str) -> &'static str {
    shipped::named(name).unwrap().source
}

fn wrong(checked: &Checked) -> Vec<&Finding> {
    let findings = checked.findings.iter();
    findings
        .filter(|finding| finding.severity != Severity::Note)
        .collect()
}

fn listed(checked: &Checked) -> String {
    let lines = checked
        .findings
        .iter()
        .map(|it| format!("{} {}", it.code, it.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// Checks a text, lives every story, and gives back what was found.
fn findings_of(source: &str) -> Checked {
    let workflow = load_clean(source);
    let checked = check(&workflow);
    for finding in &checked.findings {
        witness::is_true(&workflow, finding);
    }
    checked
}

fn all_are_found(name: &str, rows: &[Mutant]) {
    for row in rows {
        let what = format!("{name}, {}", row.what);
        let text = edited(shipped_source(name), &row.edits, &what);
        match &row.wanted {
            Wanted::Problem(code) => {
                let problems = load(&text).problems;
                assert!(problems.iter().any(|it| it.code == *code), "{what}");
            }
            Wanted::Finding(code, fragment) => {
                let checked = findings_of(&text);
                assert!(!wrong(&checked).is_empty(), "{what}");
                let mut findings = checked.findings.iter();
                let is_found = findings.any(|it| it.code == *code && it.message.contains(fragment));
                assert!(is_found, "{what}: {code} {fragment}\n{}", listed(&checked));
            }
        }
    }
}

/// Two halves, because they take the longest and can be tried beside each other.
#[test]
fn every_mistake_in_default_is_found_first_half() {
    let rows = default::rows();
    all_are_found("default", &rows[..rows.len() / 2]);
}

#[test]
fn every_mistake_in_default_is_found_second_half() {
    let rows = default::rows();
    all_are_found("default", &rows[rows.len() / 2..]);
}

#[test]
fn every_mistake_in_minimal_is_found() {
    all_are_found("minimal", &minimal::rows());
}

#[test]
fn every_mistake_in_respawn_is_found() {
    all_are_found("respawn", &respawn::rows());
}

#[test]
fn every_mistake_in_autopilot_is_found() {
    all_are_found("autopilot", &autopilot::rows());
}

#[test]
fn what_does_no_harm_is_left_alone() {
    for row in equivalents::rows() {
        let text = edited(shipped_source(row.workflow), &row.edits, row.why);
        let checked = check(&load_clean(&text));
        let wrong = wrong(&checked);
        assert!(wrong.is_empty(), "{}: {wrong:#?}", row.why);
    }
}

/// Following a hint to the letter makes a clean file.
#[test]
fn every_hint_leads_to_a_clean_file() {
    for row in hints::rows() {
        let what = format!("{}, {}", row.code, row.hint);
        let mistaken = edited(row.source, &row.mistake, &what);
        let checked = findings_of(&mistaken);
        let mut findings = checked.findings.iter();
        let hinted = findings.any(|it| it.code == row.code && it.hint.contains(row.hint));
        assert!(hinted, "{what}\n{checked:#?}");
        let mended = edited(&mistaken, &row.mended, &what);
        let checked = findings_of(&mended);
        assert!(wrong(&checked).is_empty(), "{what}\n{}", listed(&checked));
    }
}

/// Kinds of findings that nobody can be told to mend: they are notes, or about the search.
const WITHOUT_A_MISTAKE: [FindingCode; 3] = [
    FindingCode::AskerEnded,
    FindingCode::SettingIgnored,
    FindingCode::SearchBounded,
];

#[test]
fn every_kind_of_finding_has_a_mistake_and_a_hint_that_mends_it() {
    let tables = [
        default::rows(),
        minimal::rows(),
        respawn::rows(),
        autopilot::rows(),
    ];
    assert!(tables.iter().all(|rows| rows.len() >= 25));
    let mistaken: BTreeSet<FindingCode> = tables
        .iter()
        .flatten()
        .filter_map(|row| match row.wanted {
            Wanted::Finding(code, _) => Some(code),
            Wanted::Problem(_) => None,
        })
        .collect();
    let hinted: BTreeSet<FindingCode> = hints::rows().iter().map(|row| row.code).collect();
    for code in FindingCode::ALL {
        let known = mistaken.contains(code) || hinted.contains(code);
        assert!(
            known || WITHOUT_A_MISTAKE.contains(code),
            "nothing leads to {code}"
        );
        assert!(
            hinted.contains(code) || WITHOUT_A_MISTAKE.contains(code),
            "the hint of {code} is not tried"
        );
    }
}

#[test]
fn a_transition_that_ends_its_asker_is_noted() {
    let checked = findings_of(shipped_source("minimal"));
    let noted = checked.findings.iter().map(|finding| finding.code);
    assert_eq!(noted.collect::<Vec<_>>(), [FindingCode::AskerEnded]);
}
