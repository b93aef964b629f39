//! Proves a workflow safe, or shows how it is not.
//!
//! The check explores everything a workflow can do through the same `decide` and `apply` that run
//! tasks, so proof and behaviour cannot drift apart. What is visible in the file alone is found
//! without a search.

mod exits;
mod finding;
mod incidents;
mod limits;
mod loops;
mod outcomes;
mod place;
mod prompts;
mod pull_requests;
mod reachability;
mod self_review;
mod stale_artifacts;
mod story;
mod structure;

use orange_engine::language::Workflow;
use serde::Serialize;

use crate::explore::{Exploration, explore, situation_limit};

pub use finding::{Finding, FindingCode, Severity};
pub use story::{Story, StoryStep};

use incidents::Incidents;

/// The result of checking a workflow.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct CheckReport {
    /// The findings: by severity, then in the order of the file.
    pub findings: Vec<Finding>,
    /// How much of the workflow was searched.
    pub coverage: Coverage,
}

/// How much of a workflow was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Coverage {
    /// The number of situations found.
    pub situations: usize,
    /// The number of steps between them.
    pub steps: usize,
    /// Whether the search found everything.
    pub is_complete: bool,
}

impl CheckReport {
    /// The number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings.filter(|it| it.severity == severity).count()
    }
}

/// Checks a workflow that loads.
pub fn check(workflow: &Workflow) -> CheckReport {
    check_within(workflow, situation_limit(workflow))
}

/// Checks a workflow, exploring at most this many situations.
pub fn check_within(workflow: &Workflow, max_situations: usize) -> CheckReport {
    let mut incidents = Incidents::new(workflow);
    let explored = explore(workflow, max_situations, &mut |visit| {
        incidents.check_visit(visit);
    });
    let mut findings = structure::find(workflow);
    findings.extend(exits::find(workflow));
    findings.extend(exits::find_dead_rules(
        workflow,
        &explored,
        incidents.used_exit_rules(),
    ));
    findings.extend(prompts::find(workflow));
    findings.extend(pull_requests::find(workflow));
    findings.extend(reachability::find(
        workflow,
        &explored,
        incidents.taken_edges(),
    ));
    findings.extend(loops::find(workflow, &explored));
    findings.extend(self_review::find(workflow, &explored));
    findings.extend(stale_artifacts::find(workflow, &explored));
    findings.extend(incidents.into_findings(&explored));
    drop_repetitions(&mut findings);
    findings.sort_by_key(|finding| (finding.severity, finding.at, finding.code));
    CheckReport {
        findings,
        coverage: coverage_of(&explored),
    }
}

/// Drops the finding that a rule leads nowhere if the refusal of the same rule is reported with its
/// story.
fn drop_repetitions(findings: &mut Vec<Finding>) {
    let refused: Vec<_> = findings
        .iter()
        .filter(|finding| finding.code == FindingCode::ExitRefused)
        .map(|finding| finding.at)
        .collect();
    findings.retain(|it| it.code != FindingCode::ExitRuleDead || !refused.contains(&it.at));
}

fn coverage_of(explored: &Exploration) -> Coverage {
    Coverage {
        situations: explored.nodes.len(),
        steps: explored.nodes.iter().map(|node| node.arcs.len()).sum(),
        is_complete: explored.is_complete,
    }
}
