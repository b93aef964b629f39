//! Checks of large workflows finish in time, or stop at a bound.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "how long a check takes is what is tested here"
)]

use std::time::{Duration, Instant};

use orange_check::check::{CheckReport, FindingCode, check, check_within};
use orange_check::explore::{MAX_SITUATIONS, situation_limit};

use crate::fixtures::load_clean;
use crate::generated_workflows::{STATES, TRANSITIONS, counting, large};
use crate::witness;

/// Far more than a check needs; the benchmark measures the real time.
const GENEROUS: Duration = Duration::from_mins(2);

fn has(checked: &CheckReport, code: FindingCode, fragment: &str) -> bool {
    let mut findings = checked.findings.iter();
    findings.any(|finding| finding.code == code && finding.message.contains(fragment))
}

#[test]
fn a_large_workflow_is_searched_to_the_end() {
    let workflow = load_clean(&large());
    assert_eq!(workflow.states.len(), STATES);
    assert_eq!(workflow.edges.len(), TRANSITIONS);
    let start = Instant::now();
    let checked = check(&workflow);
    assert!(start.elapsed() < GENEROUS);
    assert!(checked.coverage.is_complete, "{:?}", checked.coverage);
    for (code, fragment) in [
        (FindingCode::WorkspaceLeaked, "from `s34` to `end`"),
        (FindingCode::AgentLeaked, "from `s34` to `end`"),
        (FindingCode::EndlessLoop, "`s44` → `s45` → `s44`"),
        (FindingCode::StateUnreachable, "`s199`"),
        (FindingCode::ExitRuleDead, "`s55`"),
    ] {
        assert!(has(&checked, code, fragment), "{code} {fragment}");
    }
    for finding in &checked.findings {
        witness::is_true(&workflow, finding);
    }
}

#[test]
fn a_stopped_search_reports_that_it_is_incomplete() {
    let workflow = load_clean(&counting());
    let checked = check_within(&workflow, 3_000);
    assert!(!checked.coverage.is_complete);
    assert_eq!(checked.coverage.situations, 3_000);
    let found: Vec<FindingCode> = checked.findings.iter().map(|it| it.code).collect();
    // Nothing may be reported as dead, lost or unreachable just because the search did not see it.
    assert_eq!(found, [FindingCode::SearchIncomplete]);
}

/// The search respects the documented bound.
#[test]
fn the_search_stops_at_the_reported_number_of_situations() {
    let workflow = load_clean(&counting());
    assert_eq!(situation_limit(&workflow), MAX_SITUATIONS);
    assert!(situation_limit(&load_clean(&large())) < MAX_SITUATIONS);
    let checked = check_within(&workflow, 10);
    let bounded = &checked.findings[0];
    assert_eq!(bounded.code, FindingCode::SearchIncomplete);
    assert!(bounded.message.contains("after 10 situations"));
}
