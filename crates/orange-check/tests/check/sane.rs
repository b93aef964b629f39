//! Workflows as users write them: `check` reports nothing, or real problems.

use orange_check::check::{FindingCode, Severity, check};

use crate::kit::load_clean;
use crate::witness;

/// A workflow, and the findings that `check` correctly reports for it.
type Row = (&'static str, &'static [FindingCode]);

const ROWS: [Row; 18] = [
    (include_str!("sane/cooldown.yml"), &[]),
    (include_str!("sane/delegation.yml"), &[]),
    (include_str!("sane/empty-summary.yml"), &[]),
    (include_str!("sane/headless.yml"), &[]),
    (include_str!("sane/judge-ends.yml"), &[]),
    (include_str!("sane/many-roles.yml"), &[]),
    (include_str!("sane/no-agents.yml"), &[]),
    (include_str!("sane/no-agents-anyone.yml"), &[]),
    (include_str!("sane/no-review.yml"), &[]),
    (include_str!("sane/one-review.yml"), &[]),
    (include_str!("sane/pause.yml"), &[]),
    (
        include_str!("sane/pause-alone.yml"),
        &[FindingCode::AgentAbsent],
    ),
    (include_str!("sane/persistent-pair.yml"), &[]),
    (include_str!("sane/scheduler.yml"), &[]),
    (
        include_str!("sane/shadowed-exit.yml"),
        &[FindingCode::ExitRuleDead],
    ),
    (include_str!("sane/tests-gate.yml"), &[]),
    (include_str!("sane/timeouts.yml"), &[]),
    (include_str!("sane/two-reviewers.yml"), &[]),
];

#[test]
fn a_sane_workflow_raises_no_false_alarm() {
    for (source, expected) in ROWS {
        let workflow = load_clean(source);
        let checked = check(&workflow);
        assert!(checked.covered.is_complete);
        let wrong = checked
            .findings
            .iter()
            .filter(|finding| finding.severity != Severity::Note);
        let wrong: Vec<FindingCode> = wrong.map(|finding| finding.code).collect();
        assert_eq!(wrong, expected, "{}: {checked:#?}", workflow.name);
        for finding in &checked.findings {
            witness::is_true(&workflow, finding);
        }
    }
}
