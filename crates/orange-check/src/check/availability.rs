//! Finds actions, triggers and gates that this version cannot perform.

use orange_engine::language::Workflow;
use orange_engine::language::workflow::Edge;

use super::finding::{Finding, FindingCode};

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let hooks = workflow.every_hook();
    let hooks = hooks.filter(|hook| !hook.action.is_available());
    let hooks = hooks.map(|hook| {
        let action = hook.action.label();
        Finding::new(
            FindingCode::NotAvailable,
            Some(hook.at),
            format!("`{action}` is not available in this version of orange"),
            format!("remove `{action}`, or do it with `run_command`"),
        )
    });
    let mut findings: Vec<Finding> = hooks.collect();
    // An edge whose `from` is a list counts once, although it becomes one edge per state.
    let mut seen = Vec::new();
    for edge in &workflow.edges {
        if let Some((what, instead)) = unavailable(edge)
            && !seen.contains(&(edge.at, what.clone()))
        {
            let hint = format!("remove the transition, or {instead}");
            let message = format!("{what} in this version of orange");
            findings.push(Finding::new(
                FindingCode::NotAvailable,
                Some(edge.at),
                message,
                hint,
            ));
            seen.push((edge.at, what));
        }
    }
    findings
}

/// What on an edge never happens, and what to write instead.
fn unavailable(edge: &Edge) -> Option<(String, &'static str)> {
    if !edge.trigger.is_available() {
        let trigger = edge.trigger.as_str();
        let what = format!("`trigger: {trigger}` never happens");
        return Some((what, "let the human request it (`by: human`)"));
    }
    let mut gates = edge.gates.iter();
    gates.any(|gate| !gate.kind.is_available()).then(|| {
        let what = String::from("the gate `pr` never passes");
        (
            what,
            "use a command gate, such as `command: [gh, pr, view]`",
        )
    })
}
