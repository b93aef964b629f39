//! Finds prompts that do not match the workflow.

use std::collections::BTreeSet;

use orange_engine::document::SectionName;
use orange_engine::language::declarations::NameKind;
use orange_engine::language::gates::GateKind;
use orange_engine::language::hooks::Action;
use orange_engine::language::prompt::Prompt;
use orange_engine::language::workflow::{Edge, Target, Trigger};
use orange_engine::language::{Position, Workflow};
use orange_engine::names::{PromptName, Status};
use orange_engine::role::Role;

use super::finding::{Finding, FindingCode};

/// A text that an agent of some role receives.
struct Text<'w> {
    role: Role,
    prompt: &'w Prompt,
    /// What to call it in messages, such as "prompt `work`".
    name: String,
    at: Option<Position>,
}

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let texts = texts(workflow);
    let mut findings = Vec::new();
    for text in &texts {
        findings.extend(closed_statuses(workflow, text));
    }
    findings.extend(braced_variables(workflow));
    findings.extend(unmentioned_sections(workflow, &texts));
    findings
}

fn place(workflow: &Workflow, name: &PromptName) -> Option<Position> {
    let mut declared = workflow.declared.iter();
    declared
        .find(|it| it.what == NameKind::Prompt && it.name == name.as_str())
        .map(|it| it.at)
}

/// Every text with each role it is for, without duplicates.
fn texts(workflow: &Workflow) -> Vec<Text<'_>> {
    let mut seen: BTreeSet<(Role, &PromptName)> = BTreeSet::new();
    let mut texts = Vec::new();
    let respawns = workflow.states.iter().flat_map(|state| &state.respawn);
    let respawns = respawns.map(|(role, respawn)| (role, &respawn.prompt));
    let spawns = workflow.every_hook().filter_map(|hook| hook.action.spawn());
    let spawns = spawns.map(|spawn| (&spawn.role, &spawn.prompt));
    for (role, name) in spawns.chain(respawns) {
        let Some(prompt) = workflow.prompts.get(name) else {
            continue;
        };
        if seen.insert((role.clone(), name)) {
            texts.push(Text {
                role: role.clone(),
                prompt,
                name: format!("prompt `{name}`"),
                at: place(workflow, name),
            });
        }
    }
    for hook in workflow.every_hook() {
        if let Action::NotifyWorker { message } = &hook.action {
            texts.push(Text {
                role: Role::Worker,
                prompt: message,
                name: String::from("the message of `notify_worker`"),
                at: Some(hook.at),
            });
        }
    }
    texts
}

/// The statuses that a text says to request, and whether the user is to request them.
///
/// A command that contains `{id}` is meant for the user: an agent need not name its own task.
fn requested_statuses(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for part in text.split("task update").skip(1) {
        let line = part.lines().next().unwrap_or_default();
        let Some((before, after)) = line.split_once("--status") else {
            continue;
        };
        let Some(after) = after.strip_prefix([' ', '=']) else {
            continue;
        };
        let is_part = |part: char| part.is_ascii_alphanumeric() || matches!(part, '-' | '_');
        let end = after.find(|part| !is_part(part)).unwrap_or(after.len());
        let name = after[..end].trim_end_matches('-');
        if !name.is_empty() {
            found.push((name, before.contains("{id}")));
        }
    }
    found
}

fn closed_statuses(workflow: &Workflow, text: &Text<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, by_user) in requested_statuses(text.prompt.text()) {
        let role = if by_user { &Role::Human } else { &text.role };
        let status = Status::new(name);
        let what = &text.name;
        if workflow.state(&status).is_none() {
            findings.push(Finding::new(
                FindingCode::PromptStatusClosed,
                text.at,
                format!("{what} says to request `{name}`, which is not a state"),
                "correct the name in the text, or add the state",
            ));
            continue;
        }
        let open = |edge: &&Edge| {
            edge.trigger == Trigger::Request
                && edge.is_open_to(role)
                && matches!(&edge.to, Target::Status(to) if *to == status)
        };
        if !workflow.edges.iter().any(|edge| open(&edge)) {
            findings.push(Finding::new(
                FindingCode::PromptStatusClosed,
                text.at,
                format!("{what} tells the {role} to request `{name}`, which it may never request"),
                format!(
                    "{}, or add `{role}` to the `by` of a transition to `{name}`",
                    alternative_hint(workflow, role)
                ),
            ));
        }
    }
    findings
}

/// What a text could name instead: every status that its reader may request somewhere.
fn alternative_hint(workflow: &Workflow, role: &Role) -> String {
    let mut names: Vec<String> = Vec::new();
    let states = workflow.states.iter();
    for state in states.filter(|state| state.expects.contains(role)) {
        for edge in workflow.edges_from(&state.name) {
            let name = format!("`{}`", edge.to);
            let is_requested = edge.trigger == Trigger::Request && edge.is_open_to(role);
            if is_requested && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() {
        return String::from("name another status in the text");
    }
    format!(
        "name a status it may request ({}) in the text",
        names.join(", ")
    )
}

fn braced_variables(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, prompt) in &workflow.prompts {
        for variable in prompt.braced_names() {
            let known = workflow.limits.contains_key(variable.as_str())
                || workflow.fields.contains_key(variable.as_str())
                || orange_engine::language::is_text_variable(&variable);
            if known {
                findings.push(Finding::new(
                    FindingCode::VariableInBraces,
                    place(workflow, name),
                    format!("prompt `{name}` has `{{{{{variable}}}}}`, which is not filled in"),
                    format!("write `{{{variable}}}`; double braces print a single one"),
                ));
            }
        }
    }
    findings
}

/// Whether a text names a section, by its heading or as the section with that title.
fn mentions(text: &str, section: &SectionName) -> bool {
    let text = text.to_ascii_lowercase();
    let title = section.title().to_ascii_lowercase();
    let heading = format!("## {title}");
    let ends = |after: &str| !after.starts_with(char::is_alphanumeric);
    let by_heading = text.match_indices(&heading).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        before != Some('#') && ends(&text[at + found.len()..])
    });
    let phrases = [
        format!("{title} section"),
        format!("section {title}"),
        format!("section `{title}`"),
        format!("`{title}` section"),
    ];
    by_heading || phrases.iter().any(|phrase| text.contains(phrase.as_str()))
}

/// Finds sections that an agent must write but no prompt mentions: the agent would learn of them
/// only from a refusal.
fn unmentioned_sections(workflow: &Workflow, texts: &[Text<'_>]) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for edge in &workflow.edges {
        let Some(state) = workflow.state(&edge.from) else {
            continue;
        };
        let requesters = state.expects.iter().filter(|role| edge.is_open_to(role));
        for role in requesters {
            for gate in &edge.gates {
                let GateKind::Section(gate) = &gate.kind else {
                    continue;
                };
                let mentioned = texts
                    .iter()
                    .any(|text| text.role == *role && mentions(text.prompt.text(), &gate.section));
                if edge.trigger == Trigger::Request
                    && !mentioned
                    && reported.insert((role.clone(), gate.section.clone()))
                {
                    let (section, to) = (&gate.section, &edge.to);
                    findings.push(Finding::new(
                        FindingCode::SectionUnmentioned,
                        Some(edge.at),
                        format!(
                            "the {role} needs `{section}` to request `{to}`, but none of its \
                             prompts says so"
                        ),
                        format!("mention `{section}` in a prompt of the {role}"),
                    ));
                }
            }
        }
    }
    findings
}
