//! Finds actions that this version cannot perform.

use orange_engine::language::Workflow;

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
    hooks.collect()
}
