//! The value that a counter should not exceed.

use std::collections::BTreeMap;

use orange_engine::language::Workflow;
use orange_engine::language::exit_rules::ExitOutcome;
use orange_engine::language::when::{Comparison, Operator, When};
use orange_engine::names::FieldName;

/// The value that each counter should not exceed: the highest one that a guard still reacts to.
pub(super) fn limits(workflow: &Workflow) -> BTreeMap<FieldName, i64> {
    let edges = workflow.edges.iter().filter_map(|edge| edge.when.as_ref());
    let cases = workflow
        .exit_rules
        .iter()
        .flat_map(|rule| match &rule.outcome {
            ExitOutcome::Advance(cases) => cases.as_slice(),
            _ => &[],
        });
    let cases = cases.filter_map(|case| case.when.as_ref());
    let mut limits = BTreeMap::new();
    for comparison in edges.chain(cases).flat_map(When::comparisons) {
        if workflow.fields.contains_key(&comparison.field) {
            let limit = limits.entry(comparison.field.clone()).or_insert(i64::MIN);
            *limit = (*limit).max(turning_point(comparison));
        }
    }
    limits
}

/// The smallest value at and above which a comparison always has the same result.
fn turning_point(comparison: &Comparison) -> i64 {
    match comparison.operator {
        Operator::Less | Operator::GreaterOrEqual => comparison.value,
        Operator::LessOrEqual | Operator::Greater | Operator::Equal | Operator::NotEqual => {
            comparison.value.saturating_add(1)
        }
    }
}
