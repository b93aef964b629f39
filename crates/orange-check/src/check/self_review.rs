//! Proof 7: the agent that did the work cannot approve it.
//!
//! A PASS counts as a judge's if a judge or the user submitted it with a request for a status.
//! Every other way to take an edge that requires a PASS is tried: the working agent requests the
//! edge itself, or it writes the PASS and an agent dies at the right moment.

use std::collections::BTreeSet;

use orange_engine::document::reading::Verdict;
use orange_engine::evidence::Evidence;
use orange_engine::language::exit_rules::ExitOutcome;
use orange_engine::language::gates::{Gate, GateKind};
use orange_engine::language::workflow::{Edge, Kind, State, Target, Trigger};
use orange_engine::language::{Position, Workflow};
use orange_engine::names::Status;
use orange_engine::role::Role;

use super::finding::{Finding, FindingCode};
use super::story::Story;
use super::structure::every_agent;
use crate::explore::{Exploration, Notice, Occurrence, Replay, Step, StepEvidence};

pub(super) fn find(workflow: &Workflow, explored: &Exploration) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reported: BTreeSet<Position> = BTreeSet::new();
    for edge in workflow.edges.iter().filter(|edge| requires_pass(edge)) {
        let Some(state) = workflow.state(&edge.from) else {
            continue;
        };
        if reported.contains(&edge.at) {
            continue;
        }
        let found = judge_at_work(workflow, state, edge).or_else(|| {
            let agents = every_agent(workflow);
            let judges = |role: &&Role| state.expects.contains(role);
            let mut others = agents
                .iter()
                .filter(|role| !judges(role) || working_state(workflow, role).is_some());
            others.find_map(|role| forged_pass(workflow, explored, edge, role))
        });
        if let Some(finding) = found {
            reported.insert(edge.at);
            findings.push(finding);
        }
    }
    for edge in bypassing_edges(workflow) {
        if !reported.contains(&edge.at)
            && let Some(finding) = bypass_finding(workflow, explored, edge)
        {
            reported.insert(edge.at);
            findings.push(finding);
        }
    }
    findings
}

/// The edges that bypass a judge: they lead from the status in which the judge works to the target
/// of its PASS, but require no PASS.
///
/// The target of a PASS is known from the edges that require one and from the exit rules that look
/// for one.
fn bypassing_edges(workflow: &Workflow) -> impl Iterator<Item = &Edge> {
    let by_rule = |edge: &Edge| {
        let mut rules = workflow.exit_rules.iter();
        rules.any(|rule| {
            let leads = match &rule.outcome {
                ExitOutcome::Advance(cases) => cases
                    .iter()
                    .any(|case| edge.to == Target::Status(case.then.clone())),
                _ => false,
            };
            rule.status == edge.from && leads && rule.has_artifact.iter().any(is_pass)
        })
    };
    let by_edge = |edge: &Edge| {
        let mut edges = workflow.edges_from(&edge.from);
        edges.any(|other| other.to == edge.to && requires_pass(other))
    };
    let edges = workflow.edges.iter();
    edges.filter(move |edge| {
        edge.trigger == Trigger::Request && !requires_pass(edge) && (by_rule(edge) || by_edge(edge))
    })
}

/// Reports an edge that bypasses the judge, if another agent may request it.
fn bypass_finding(workflow: &Workflow, explored: &Exploration, edge: &Edge) -> Option<Finding> {
    let judges = &workflow.state(&edge.from)?.expects;
    let others = every_agent(workflow).into_iter();
    let others = others.filter(|role| !judges.contains(role) && edge.is_open_to(role));
    others.into_iter().find_map(|role| {
        let nodes = explored.nodes.iter().enumerate();
        let mut here = nodes
            .filter(|(_, node)| node.situation.status == edge.from && node.situation.has(&role));
        here.find_map(|(number, node)| {
            let mut arcs = node.arcs.iter();
            let arc = arcs.find(|arc| {
                let step = &explored.steps[arc.step];
                let is_request = matches!(&step.occurrence, Occurrence::Request { by, to }
                    if *by == role && edge.to == Target::Status(to.clone()));
                is_request && step.failure.is_none()
            })?;
            let path = explored.path_to(number).into_iter().chain([arc.step]);
            let steps = path.map(|step| explored.steps[step].clone()).collect();
            let (from, to) = (&edge.from, &edge.to);
            let hint = format!(
                "give the transition a gate that requires the PASS; {}",
                by_judges_hint(workflow, from)
            );
            Some(
                Finding::new(
                    FindingCode::SelfReview,
                    Some(edge.at),
                    format!(
                        "the {role} can go from `{from}` to `{to}` without the PASS of a judge"
                    ),
                    hint,
                )
                .with_story(Story::from_steps(workflow, steps)),
            )
        })
    })
}

fn is_pass(gate: &Gate) -> bool {
    matches!(&gate.kind, GateKind::Section(gate) if gate.verdict == Some(Verdict::Pass))
}

fn requires_pass(edge: &Edge) -> bool {
    edge.gates.iter().any(is_pass)
}

/// The state in which a role works and does not judge.
fn working_state<'w>(workflow: &'w Workflow, role: &Role) -> Option<&'w State> {
    let judges = |status: &Status| workflow.edges_from(status).any(requires_pass);
    workflow.states.iter().find(|state| {
        state.kind == Kind::Agent && state.expects.contains(role) && !judges(&state.name)
    })
}

/// Reports a judge that is also expected where the work is done: it would judge its own work.
fn judge_at_work(workflow: &Workflow, state: &State, edge: &Edge) -> Option<Finding> {
    // If a gate of the edge does not accept a role's PASS, that role cannot approve its own work.
    let is_accepted = |role: &&Role| {
        edge.gates.iter().all(|gate| match &gate.kind {
            GateKind::Section(section) if is_pass(gate) => {
                section.from_role.is_empty() || section.from_role.contains(role)
            }
            _ => true,
        })
    };
    let judging = state.expects.iter().filter(is_accepted);
    let (role, at_work) = judging
        .into_iter()
        .find_map(|role| Some((role, working_state(workflow, role)?)))?;
    let (from, to, work) = (&edge.from, &edge.to, &at_work.name);
    Some(Finding::new(
        FindingCode::SelfReview,
        Some(edge.at),
        format!(
            "the {role} judges in `{from}` what the {role} did in `{work}`: it can approve its \
             own work and move it to `{to}`"
        ),
        "let another role judge: declare one under `roles`, and name it as `role` in the hook that \
         starts the reviewing agent",
    ))
}

/// A path on which a PASS that this role wrote takes the edge, although no judge submitted it.
fn forged_pass(
    workflow: &Workflow,
    explored: &Exploration,
    edge: &Edge,
    role: &Role,
) -> Option<Finding> {
    let nodes = explored.nodes.iter().enumerate();
    let mut seen = BTreeSet::new();
    let mut here = nodes.filter(|(_, node)| {
        let situation = &node.situation;
        let before = node
            .reached_by
            .0
            .map(|before| &explored.nodes[before].situation);
        // Counters matter only to a guard.
        let counters = edge.when.is_some().then_some(situation);
        let key = (
            &situation.alive,
            before.map(|before| &before.alive),
            counters,
        );
        situation.status == edge.from && seen.insert(key)
    });
    let steps = here.find_map(|(number, node)| {
        let alive = || node.situation.alive.iter().map(|(role, _)| role);
        let path = explored.path_to(number).into_iter();
        let path: Vec<Step> = path.map(|step| explored.steps[step].clone()).collect();
        let mut endings: Vec<Vec<Step>> = Vec::new();
        if node.situation.has(role) {
            endings.extend(request_step(edge, role).map(|step| vec![step]));
            for dying in alive() {
                let mut step = death_step(dying, &edge.gates);
                step.evidence.submitted_by = Some(role.clone());
                endings.push(vec![step]);
                endings.push(vec![
                    write_step(edge, role),
                    death_step_with_kept_pass(edge, dying),
                ]);
            }
        }
        let mut candidates: Vec<Vec<Step>> = endings
            .into_iter()
            .map(|last| path.iter().cloned().chain(last).collect())
            .collect();
        let (before, _) = node.reached_by;
        if before.is_some_and(|before| explored.nodes[before].situation.has(role)) {
            candidates.extend(
                alive().filter_map(|dying| steps_with_early_pass(edge, role, &path, dying)),
            );
        }
        candidates
            .into_iter()
            .find(|steps| takes_pass_edge(workflow, steps))
    })?;
    Some(finding(workflow, edge, role, steps))
}

fn request_step(edge: &Edge, role: &Role) -> Option<Step> {
    let Target::Status(to) = &edge.to else {
        return None;
    };
    let occurrence = Occurrence::Request {
        by: role.clone(),
        to: to.clone(),
    };
    Some(Step::new(occurrence, StepEvidence::by_gates(&edge.gates)))
}

fn death_step(dying: &Role, gates: &[Gate]) -> Step {
    let occurrence = Occurrence::Die {
        role: dying.clone(),
        evidence: Evidence::Exit { code: 1 },
    };
    Step::new(occurrence, StepEvidence::by_gates(gates))
}

fn write_step(edge: &Edge, role: &Role) -> Step {
    let mut step = Step::new(
        Occurrence::Write { by: role.clone() },
        StepEvidence::default(),
    );
    step.evidence.kept = pass_gates(edge);
    step
}

/// A death while the PASS is already in the document, with everything else that the edge requires.
fn death_step_with_kept_pass(edge: &Edge, dying: &Role) -> Step {
    let others = edge.gates.iter().filter(|gate| !is_pass(gate));
    let mut step = death_step(dying, &others.cloned().collect::<Vec<Gate>>());
    step.evidence.kept = pass_gates(edge);
    step
}

fn pass_gates(edge: &Edge) -> Vec<Gate> {
    let passes = edge.gates.iter().filter(|gate| is_pass(gate));
    passes.cloned().collect()
}

/// The path on which the PASS is already in the document when the judge starts, and then the judge
/// dies.
fn steps_with_early_pass(
    edge: &Edge,
    role: &Role,
    path: &[Step],
    dying: &Role,
) -> Option<Vec<Step>> {
    let (entering, before) = path.split_last()?;
    let mut entering = entering.clone();
    entering.evidence.kept = pass_gates(edge);
    let mut steps = before.to_vec();
    steps.extend([
        write_step(edge, role),
        entering,
        death_step_with_kept_pass(edge, dying),
    ]);
    Some(steps)
}

/// Whether the last of these steps takes an edge that requires a PASS.
fn takes_pass_edge(workflow: &Workflow, steps: &[Step]) -> bool {
    let mut replay = Replay::new(workflow);
    let mut passed = false;
    for step in steps {
        match replay.take(step) {
            Ok(played) => passed = took_pass(workflow, &played.notices),
            Err(_) => return false,
        }
    }
    passed
}

fn took_pass(workflow: &Workflow, notices: &[Notice]) -> bool {
    notices.iter().any(|notice| match notice {
        Notice::EdgeTaken { edge } => workflow.edges.get(*edge).is_some_and(requires_pass),
        _ => false,
    })
}

fn finding(workflow: &Workflow, edge: &Edge, role: &Role, steps: Vec<Step>) -> Finding {
    let (from, to) = (&edge.from, &edge.to);
    let judges = judges(workflow, from);
    let by = by_judges_hint(workflow, from);
    Finding::new(
        FindingCode::SelfReview,
        Some(edge.at),
        format!("the {role} can itself write the PASS that leads from `{from}` to `{to}`"),
        format!("give the gate `from_role: [{judges}]` and `fresh: true`; {by}"),
    )
    .with_story(Story::from_steps(workflow, steps))
}

/// The judges in a status, as a list for a workflow file.
fn judges(workflow: &Workflow, status: &Status) -> String {
    let state = workflow.state(status).into_iter();
    let judges = state.flat_map(|state| &state.expects).map(Role::as_str);
    judges.chain(["human"]).collect::<Vec<_>>().join(", ")
}

fn by_judges_hint(workflow: &Workflow, status: &Status) -> String {
    let judges = judges(workflow, status);
    format!("give the transition `by: [{judges}, engine]`")
}
