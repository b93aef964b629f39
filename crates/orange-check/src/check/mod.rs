//! Proves a workflow safe, or shows how it is not.
//!
//! The check explores everything a workflow can do through the same `decide` and `apply` that run
//! tasks, so proof and behaviour cannot drift apart. What is visible in the file alone is found
//! without a search.

mod arrivals;
mod available;
mod exits;
mod finding;
mod incidents;
mod judging;
mod limits;
mod loops;
mod place;
mod prompts;
mod reach;
mod stale;
mod story;
mod structure;

use orange_engine::language::Workflow;
use serde::Serialize;

use crate::explore::{Explored, explore, most_situations};

pub use finding::{Finding, FindingCode, Severity};
pub use story::{Story, Told};

use incidents::Incidents;

/// What `check` found out about a workflow.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Checked {
    /// What is wrong, errors first, then in the order of the file.
    pub findings: Vec<Finding>,
    /// What was looked at.
    pub covered: Covered,
}

/// What a search looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Covered {
    /// How many situations there are, or were seen.
    pub situations: usize,
    /// How many steps between them were taken.
    pub steps: usize,
    /// Whether these are all there are.
    pub is_complete: bool,
}

impl Checked {
    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings.filter(|it| it.severity == severity).count()
    }
}

/// Checks a workflow that loads.
pub fn check(workflow: &Workflow) -> Checked {
    check_within(workflow, most_situations(workflow))
}

/// Checks a workflow, exploring at most this many situations.
pub fn check_within(workflow: &Workflow, most: usize) -> Checked {
    let mut incidents = Incidents::new(workflow);
    let explored = explore(workflow, most, &mut |visit| incidents.see(visit));
    let mut findings = structure::find(workflow);
    findings.extend(available::find(workflow));
    findings.extend(exits::find(workflow));
    findings.extend(exits::dead(workflow, &explored, incidents.led()));
    findings.extend(prompts::find(workflow));
    findings.extend(reach::find(workflow, &explored, incidents.taken()));
    findings.extend(loops::find(workflow, &explored));
    findings.extend(judging::find(workflow, &explored));
    findings.extend(stale::find(workflow, &explored));
    findings.extend(incidents.into_findings(&explored));
    drop_repetitions(&mut findings);
    findings.sort_by_key(|finding| (finding.severity, finding.at, finding.code));
    Checked {
        findings,
        covered: covered(&explored),
    }
}

/// A refused rule is reported with its story, so the finding that it leads nowhere is redundant.
fn drop_repetitions(findings: &mut Vec<Finding>) {
    let refused: Vec<_> = findings
        .iter()
        .filter(|finding| finding.code == FindingCode::ExitRefused)
        .map(|finding| finding.at)
        .collect();
    findings.retain(|it| it.code != FindingCode::ExitRuleDead || !refused.contains(&it.at));
}

fn covered(explored: &Explored) -> Covered {
    Covered {
        situations: explored.nodes.len(),
        steps: explored.nodes.iter().map(|node| node.arcs.len()).sum(),
        is_complete: explored.is_complete,
    }
}
