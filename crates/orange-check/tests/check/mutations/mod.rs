//! Deliberate mistakes in the shipped workflows: `check` finds every one.

use std::collections::BTreeSet;

use orange_check::check::{CheckReport, Finding, FindingCode, Severity, check};
use orange_engine::{load, shipped_workflows};

use crate::fixtures::load_clean;
use crate::witness;

const MISTAKES: [(&str, &str); 5] = [
    ("default", include_str!("default.txt")),
    ("minimal", include_str!("minimal.txt")),
    ("respawn", include_str!("respawn.txt")),
    ("autopilot", include_str!("autopilot.txt")),
    ("github", include_str!("github.txt")),
];

/// A workflow with a judge, a counter and a command, as a user would write it.
const BASE: &str = include_str!("base.yml");

/// Lines to replace, how often they occur, and their replacement.
struct Edit {
    old: Vec<&'static str>,
    times: usize,
    new: Vec<&'static str>,
}

/// A row of a table: `# title`, edits in diff form, `= the expected finding`, further edits.
struct Row {
    title: &'static str,
    edits: Vec<Edit>,
    wanted: &'static str,
    fixed: Vec<Edit>,
}

fn rows(table: &'static str) -> Vec<Row> {
    let rows = table.split("\n# ").skip(1).map(|row| {
        let (title, lines) = row.split_once('\n').unwrap();
        let lines: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
        let mut parts = lines.splitn(2, |line| line.starts_with('='));
        let edits = edits(parts.next().unwrap());
        let mut expected = lines.iter().filter_map(|line| line.strip_prefix("= "));
        Row {
            title,
            edits,
            wanted: expected.next().unwrap_or_default(),
            fixed: parts.next().map(self::edits).unwrap_or_default(),
        }
    });
    rows.collect()
}

/// Each edit begins after a line `@@`, which may say how often the old lines occur.
fn edits(lines: &[&'static str]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let times = line.strip_prefix("@@").map(str::trim);
        if index == 0 || times.is_some() {
            edits.push(Edit {
                old: Vec::new(),
                times: times.and_then(|it| it.parse().ok()).unwrap_or(1),
                new: Vec::new(),
            });
        }
        let edit = edits.last_mut().unwrap();
        let (sign, text) = line.split_at(1);
        if matches!(sign, " " | "-") {
            edit.old.push(text);
        }
        if matches!(sign, " " | "+") {
            edit.new.push(text);
        }
    }
    edits
}

fn edited(source: &str, edits: &[Edit], what: &str) -> String {
    let mut lines: Vec<&str> = source.lines().collect();
    for Edit { old, times, new } in edits {
        let places = lines.windows(old.len()).enumerate();
        let places = places.filter(|(_, lines)| lines == old);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        assert_eq!(places.len(), *times, "{what}: {old:?} stands elsewhere");
        for place in places.into_iter().rev() {
            lines.splice(place..place + old.len(), new.iter().copied());
        }
    }
    lines.join("\n") + "\n"
}

fn shipped_source(name: &str) -> &'static str {
    shipped_workflows::find(name).unwrap().source
}

fn warnings_and_errors(checked: &CheckReport) -> Vec<&Finding> {
    let findings = checked.findings.iter();
    findings
        .filter(|finding| finding.severity != Severity::Note)
        .collect()
}

fn listed(checked: &CheckReport) -> String {
    let lines = checked
        .findings
        .iter()
        .map(|it| format!("{} {}", it.code, it.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// Checks a text, replays every story, and returns the findings.
fn findings_of(source: &str) -> CheckReport {
    let workflow = load_clean(source);
    let checked = check(&workflow);
    for finding in &checked.findings {
        witness::is_true(&workflow, finding);
    }
    checked
}

fn assert_all_found(name: &str, rows: &[Row]) {
    for row in rows {
        let what = format!("{name}, {}", row.title);
        let text = edited(shipped_source(name), &row.edits, &what);
        let (code, fragment) = row.wanted.split_once(": ").unwrap();
        if code == "refused" {
            let problems = load(&text).problems;
            assert!(
                problems.iter().any(|it| it.code.as_str() == fragment),
                "{what}"
            );
            continue;
        }
        let checked = findings_of(&text);
        assert!(!warnings_and_errors(&checked).is_empty(), "{what}");
        let mut findings = checked.findings.iter();
        let is_found = findings.any(|it| it.code.as_str() == code && it.message.contains(fragment));
        assert!(is_found, "{what}: {code} {fragment}\n{}", listed(&checked));
    }
}

fn mistakes_in(name: &str) -> Vec<Row> {
    let (_, table) = MISTAKES.iter().find(|(it, _)| *it == name).unwrap();
    rows(table)
}

/// Split in two halves because these tests take longest and can run in parallel.
#[test]
fn every_mistake_in_default_is_found_first_half() {
    let rows = mistakes_in("default");
    assert_all_found("default", &rows[..rows.len() / 2]);
}

#[test]
fn every_mistake_in_default_is_found_second_half() {
    let rows = mistakes_in("default");
    assert_all_found("default", &rows[rows.len() / 2..]);
}

#[test]
fn every_mistake_in_minimal_is_found() {
    assert_all_found("minimal", &mistakes_in("minimal"));
}

#[test]
fn every_mistake_in_respawn_is_found() {
    assert_all_found("respawn", &mistakes_in("respawn"));
}

#[test]
fn every_mistake_in_autopilot_is_found() {
    assert_all_found("autopilot", &mistakes_in("autopilot"));
}

/// A third of the mistakes in `github`, because its searches take longest.
fn assert_third_found(third: usize) {
    let rows = mistakes_in("github");
    let (from, to) = (third * rows.len() / 3, (third + 1) * rows.len() / 3);
    assert_all_found("github", &rows[from..to]);
}

#[test]
fn every_mistake_in_github_is_found_first_third() {
    assert_third_found(0);
}

#[test]
fn every_mistake_in_github_is_found_second_third() {
    assert_third_found(1);
}

#[test]
fn every_mistake_in_github_is_found_last_third() {
    assert_third_found(2);
}

#[test]
fn harmless_edits_raise_no_finding() {
    for row in rows(include_str!("equivalents.txt")) {
        let (workflow, why) = row.title.split_once(": ").unwrap();
        let text = edited(shipped_source(workflow), &row.edits, why);
        let checked = check(&load_clean(&text));
        let wrong = warnings_and_errors(&checked);
        assert!(wrong.is_empty(), "{why}: {wrong:#?}");
    }
}

/// The workflow, the finding code, and the row.
fn hints() -> impl Iterator<Item = (&'static str, &'static str, Row)> {
    rows(include_str!("hints.txt")).into_iter().map(|row| {
        let (workflow, code) = row.title.split_once(": ").unwrap();
        (workflow, code, row)
    })
}

/// Following a hint literally produces a clean file.
#[test]
fn every_hint_leads_to_a_clean_file() {
    for (workflow, code, row) in hints() {
        let what = format!("{code}, {}", row.wanted);
        let source = match workflow {
            "base" => BASE,
            name => shipped_source(name),
        };
        let mistaken = edited(source, &row.edits, &what);
        let checked = findings_of(&mistaken);
        let mut findings = checked.findings.iter();
        let hinted = findings.any(|it| it.code.as_str() == code && it.hint.contains(row.wanted));
        assert!(hinted, "{what}\n{checked:#?}");
        let mended = edited(&mistaken, &row.fixed, &what);
        let checked = findings_of(&mended);
        assert!(
            warnings_and_errors(&checked).is_empty(),
            "{what}\n{}",
            listed(&checked)
        );
    }
}

/// Findings without a fix to suggest: they are notes, or about the search.
const WITHOUT_A_MISTAKE: [FindingCode; 4] = [
    FindingCode::RequesterKilled,
    FindingCode::ManualStart,
    FindingCode::SettingIgnored,
    FindingCode::SearchIncomplete,
];

#[test]
fn every_kind_of_finding_has_a_mistake_and_a_hint_that_fixes_it() {
    let tables = MISTAKES.map(|(_, table)| rows(table));
    assert!(tables.iter().all(|rows| rows.len() >= 25));
    let mistakes = tables.iter().flatten();
    let mistakes = mistakes.filter_map(|row| row.wanted.split(": ").next());
    let mistaken: BTreeSet<&str> = mistakes.collect();
    let hinted: BTreeSet<&str> = hints().map(|(_, code, _)| code).collect();
    for code in FindingCode::ALL {
        let known = mistaken.contains(code.as_str()) || hinted.contains(code.as_str());
        assert!(
            known || WITHOUT_A_MISTAKE.contains(code),
            "nothing leads to {code}"
        );
        assert!(
            hinted.contains(code.as_str()) || WITHOUT_A_MISTAKE.contains(code),
            "the hint of {code} is not tried"
        );
    }
}

/// The tables name these codes in their rows; listing them here lets a search of the tests find
/// them.
#[test]
fn mistakes_that_do_not_even_load_have_these_codes() {
    let tables = MISTAKES.map(|(_, table)| rows(table));
    let refused = tables.iter().flatten();
    let refused = refused.filter_map(|row| row.wanted.strip_prefix("refused: "));
    let refused: BTreeSet<&str> = refused.collect();
    assert_eq!(
        refused,
        BTreeSet::from([
            "action-unknown",
            "field-unknown",
            "gate-unknown",
            "missing-key",
            "prompt-unknown",
            "role-unknown",
            "state-unknown",
            "transition-ambiguous",
            "variable-unknown"
        ])
    );
}

#[test]
fn a_transition_that_kills_its_requester_is_noted() {
    let checked = findings_of(shipped_source("minimal"));
    let noted = checked.findings.iter().map(|finding| finding.code);
    assert_eq!(noted.collect::<Vec<_>>(), [FindingCode::RequesterKilled]);
}
