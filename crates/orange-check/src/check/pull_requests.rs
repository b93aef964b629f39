//! Proof 10: pull requests are merged for a reason, and seen merged.

use orange_engine::language::Workflow;
use orange_engine::language::gates::{ChecksState, Gate, GateKind};
use orange_engine::language::hooks::{Action, Hook};
use orange_engine::language::workflow::{Edge, Target, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;

use super::finding::{Finding, FindingCode};

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for edge in &workflow.edges {
        let Target::Status(to) = &edge.to else {
            continue;
        };
        let merge = merge_hook(edge, to, workflow);
        findings.extend(merge.and_then(|_| unchecked(edge)));
        findings.extend(merge.and_then(|_| unobserved(workflow, edge, to)));
        findings.extend(ends_unmerged(workflow, edge, to));
    }
    findings.extend(merging_entries(workflow));
    // A transition whose `from` is a list counts once.
    let mut seen = Vec::new();
    findings.retain(|finding| {
        let is_new = !seen.contains(&(finding.code, finding.at));
        seen.push((finding.code, finding.at));
        is_new
    });
    findings
}

/// The hook that merges when an edge is taken.
fn merge_hook<'a>(edge: &'a Edge, to: &Status, workflow: &'a Workflow) -> Option<&'a Hook> {
    let on_enter = workflow.state(to).map(|state| &state.on_enter);
    let mut hooks = edge.hooks.iter().chain(on_enter.into_iter().flatten());
    hooks.find(|hook| is_merge(hook))
}

fn is_merge(hook: &Hook) -> bool {
    matches!(hook.action, Action::MergePr { .. })
}

fn unchecked(edge: &Edge) -> Option<Finding> {
    let is_by_user = edge.trigger == Trigger::Request && edge.by == [Role::Human];
    if is_by_user || edge.gates.iter().any(requires_checks) {
        return None;
    }
    let (from, to) = (&edge.from, &edge.to);
    Some(Finding::new(
        FindingCode::MergeUnchecked,
        Some(edge.at),
        format!(
            "the transition from `{from}` to `{to}` merges a pull request, but requires neither \
             passing checks nor the human"
        ),
        "add a gate `pr: { checks: passing }`, or let only the human request it (`by: human`)",
    ))
}

fn requires_checks(gate: &Gate) -> bool {
    match &gate.kind {
        GateKind::PullRequest(gate) => gate.checks == Some(ChecksState::Passing),
        _ => false,
    }
}

/// The forge may queue a merge instead of performing it at once, so the target has to wait until
/// the merge is observed.
fn unobserved(workflow: &Workflow, edge: &Edge, to: &Status) -> Option<Finding> {
    let is_seen = |edge: &Edge| matches!(edge.trigger, Trigger::PrMerged | Trigger::Merged);
    let (message, hint) = if workflow.is_terminal(to) {
        (
            format!(
                "the task ends in `{to}` as soon as the merge of its pull request is requested"
            ),
            format!(
                "lead to a state of kind `waiting`, and from there to `{to}` on `trigger: pr_merged`"
            ),
        )
    } else if workflow.edges_from(to).any(is_seen) {
        return None;
    } else {
        (
            format!("the pull request is merged in `{to}`, but no transition follows from that"),
            format!("add a transition from `{to}` with `trigger: pr_merged`"),
        )
    };
    let code = FindingCode::MergeUnobserved;
    Some(Finding::new(code, Some(edge.at), message, hint))
}

/// A pull request that is ready has not been merged.
fn ends_unmerged(workflow: &Workflow, edge: &Edge, to: &Status) -> Option<Finding> {
    if edge.trigger != Trigger::PrReady || !workflow.is_terminal(to) {
        return None;
    }
    let from = &edge.from;
    Some(Finding::new(
        FindingCode::MergeUnobserved,
        Some(edge.at),
        format!("the task ends in `{to}` although its pull request is only ready, not merged"),
        format!("let `trigger: pr_merged` lead from `{from}` to `{to}`"),
    ))
}

/// A new task has no pull request.
fn merging_entries(workflow: &Workflow) -> impl Iterator<Item = Finding> {
    let entries = workflow.entries.iter();
    entries.filter_map(|entry| {
        let state = workflow.state(&entry.status);
        let on_enter = state.into_iter().flat_map(|state| &state.on_enter);
        let hook = entry.hooks.iter().chain(on_enter).find(|it| is_merge(it))?;
        let status = &entry.status;
        Some(Finding::new(
            FindingCode::MergeUnchecked,
            Some(hook.at),
            format!("a task that begins in `{status}` merges a pull request that it cannot have"),
            "merge on a transition, after `create_pr`",
        ))
    })
}
