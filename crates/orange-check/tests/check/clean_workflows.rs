//! Workflows as users write them: `check` reports nothing, or real problems.

use orange_check::check::{FindingCode, Severity, check};

use crate::fixtures::load_clean;
use crate::witness;

/// A workflow, and the findings that `check` correctly reports for it.
type Row = (&'static str, &'static [FindingCode]);

const ROWS: [Row; 19] = [
    (include_str!("clean_workflows/cooldown.yml"), &[]),
    (include_str!("clean_workflows/delegation.yml"), &[]),
    (include_str!("clean_workflows/empty-summary.yml"), &[]),
    (include_str!("clean_workflows/headless.yml"), &[]),
    (include_str!("clean_workflows/judge-ends.yml"), &[]),
    (include_str!("clean_workflows/many-roles.yml"), &[]),
    (include_str!("clean_workflows/merges-itself.yml"), &[]),
    (include_str!("clean_workflows/no-agents.yml"), &[]),
    (include_str!("clean_workflows/no-agents-anyone.yml"), &[]),
    (include_str!("clean_workflows/no-review.yml"), &[]),
    (include_str!("clean_workflows/one-review.yml"), &[]),
    (include_str!("clean_workflows/pause.yml"), &[]),
    (
        include_str!("clean_workflows/pause-alone.yml"),
        &[FindingCode::AgentAbsent],
    ),
    (include_str!("clean_workflows/persistent-pair.yml"), &[]),
    (include_str!("clean_workflows/scheduler.yml"), &[]),
    (
        include_str!("clean_workflows/shadowed-exit.yml"),
        &[FindingCode::ExitRuleDead],
    ),
    (include_str!("clean_workflows/tests-gate.yml"), &[]),
    (include_str!("clean_workflows/timeouts.yml"), &[]),
    (include_str!("clean_workflows/two-reviewers.yml"), &[]),
];

#[test]
fn a_sane_workflow_raises_no_false_alarm() {
    for (source, expected) in ROWS {
        let workflow = load_clean(source);
        let checked = check(&workflow);
        assert!(checked.coverage.is_complete);
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
