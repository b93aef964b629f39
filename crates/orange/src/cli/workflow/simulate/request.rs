//! Parses requests by any role, even those that cannot succeed.

use orange_check::explore::{Occurrence, Step, StepEvidence};
use orange_engine::Workflow;
use orange_engine::document::SectionName;
use orange_engine::document::reading::VerdictMode;
use orange_engine::language::gates::{Gate, GateKind, SectionGate};
use orange_engine::language::workflow::Target;
use orange_engine::names::Status;
use orange_engine::role::Role;

use super::parse::words;

/// Parses `ROLE requests STATUS`, `ROLE merges` or `human respawns ROLE`, with its evidence.
///
/// `Err` says which part of the request is not understood; `None` means it is not a request.
pub fn read(
    workflow: &Workflow,
    status: &Status,
    typed: &[String],
) -> Option<Result<Step, String>> {
    let (who, rest) = typed.split_first()?;
    let by = role(workflow, who)?;
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let (occurrence, evidence) = match rest.as_slice() {
        ["requests", to, evidence @ ..] => {
            let to = state(workflow, to)?;
            (Occurrence::Request { by, to }, evidence)
        }
        ["merges", evidence @ ..] => (Occurrence::Merge { by }, evidence),
        ["respawns", role_name] if by == Role::Human => {
            let role = role(workflow, role_name)?;
            (Occurrence::Respawn { role }, &[] as &[&str])
        }
        _ => return None,
    };
    let to = match &occurrence {
        Occurrence::Request { to, .. } => Some(to),
        _ => None,
    };
    let named_gates = NamedGates::of(workflow, status, to);
    let evidence = named_gates.read(workflow, evidence);
    Some(evidence.map(|evidence| Step::new(occurrence, evidence)))
}

/// The role with this name, among all that may make requests.
pub fn role(workflow: &Workflow, name: &str) -> Option<Role> {
    let built_in = [Role::Human, Role::Engine, Role::Worker, Role::Reviewer];
    let mut all = built_in.into_iter().chain(workflow.roles.iter().cloned());
    all.find(|role| words(role.as_str()) == [name])
}

fn state(workflow: &Workflow, name: &str) -> Option<Status> {
    let mut states = workflow.states.iter().map(|state| &state.name);
    states
        .find(|status| words(status.as_str()) == [name])
        .cloned()
}

/// Every gate that a line can name as its evidence, with the words of its name; longer names come
/// first. Of several gates with the same name, only one is kept: that of the requested transition,
/// if it has one.
struct NamedGates(Vec<(Vec<String>, Gate)>);

impl NamedGates {
    fn of(workflow: &Workflow, status: &Status, to: Option<&Status>) -> NamedGates {
        let leads_to_requested = |target: &Target| match target {
            Target::Status(status) => to == Some(status),
            Target::Previous => true,
        };
        let edges = || workflow.edges_from(status);
        let requested = edges().filter(|edge| leads_to_requested(&edge.to));
        let requested = requested.flat_map(|edge| &edge.gates);
        let requested = requested.chain(edges().flat_map(|edge| &edge.gates));
        let all = requested.chain(workflow.every_gate()).cloned();
        // A section can also be written without the verdict that a gate requires.
        let plain = workflow.gated_sections().iter().map(plain_gate);
        let mut found: Vec<(Vec<String>, Gate)> = Vec::new();
        for gate in all.chain(plain) {
            let name = words(&StepEvidence::name_of(&gate));
            if found.iter().all(|(known, _)| *known != name) {
                found.push((name, gate));
            }
        }
        // Match longer names first: they may begin with a shorter one.
        found.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        NamedGates(found)
    }

    fn read(&self, workflow: &Workflow, typed: &[&str]) -> Result<StepEvidence, String> {
        let mut evidence = StepEvidence::default();
        let mut rest = match typed {
            [] | ["with", "nothing"] => return Ok(evidence),
            ["with", rest @ ..] if !rest.is_empty() => rest,
            _ => return Err(format!("cannot understand `{}`", typed.join(" "))),
        };
        loop {
            let (is_old, name) = match rest {
                ["old", name @ ..] => (true, name),
                name => (false, name),
            };
            let Some((words, gate)) = self.0.iter().find(|(words, _)| starts_with(name, words))
            else {
                return Err(self.unknown(name));
            };
            let gates = if is_old {
                &mut evidence.kept
            } else {
                &mut evidence.gates
            };
            gates.push(gate.clone());
            rest = match name.get(words.len()..).unwrap_or_default() {
                [] => return Ok(evidence),
                ["and", more @ ..] => more,
                ["submitted", "earlier", "by", who] => {
                    evidence.submitted_by = role(workflow, who);
                    return Ok(evidence);
                }
                other => return Err(format!("cannot understand `{}`", other.join(" "))),
            };
        }
    }

    fn unknown(&self, name: &[&str]) -> String {
        let gates = self.0.iter().map(|(_, gate)| StepEvidence::name_of(gate));
        let mut gates: Vec<String> = gates.collect();
        gates.sort();
        let name = name.join(" ");
        format!(
            "no gate of this workflow needs `{name}`; after `with` you can write {}",
            gates.join(", ")
        )
    }
}

fn starts_with(typed: &[&str], name: &[String]) -> bool {
    typed.len() >= name.len() && typed.iter().zip(name).all(|(typed, name)| typed == name)
}

fn plain_gate(section: &SectionName) -> Gate {
    Gate {
        name: None,
        kind: GateKind::Section(SectionGate {
            section: section.clone(),
            fields: Vec::new(),
            verdict: None,
            verdict_mode: VerdictMode::default(),
            from_role: Vec::new(),
            fresh: false,
        }),
    }
}
