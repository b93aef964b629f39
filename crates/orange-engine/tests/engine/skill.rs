//! The skill taught to agents matches the workflow.

use orange_engine::language::workflow::{Target, Trigger};
use orange_engine::role::Role;
use orange_engine::skill::{DESCRIPTION, NAME, skill};
use orange_engine::{Workflow, load, shipped_workflows};

use crate::fixtures::shipped_workflow;

/// The steps that the text offers, as role, status and target.
fn offered_steps(text: &str) -> Vec<(String, String, String)> {
    let mut role = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("As the ") {
            named.trim_end_matches(':').clone_into(&mut role);
        }
        let step = line.strip_prefix("- in `");
        if let Some((status, rest)) = step.and_then(|it| it.split_once("`: `orange task update")) {
            let to = rest.strip_prefix(" --status ").unwrap();
            let to = to.split('`').next().unwrap();
            found.push((role.clone(), status.to_owned(), to.to_owned()));
        }
    }
    found
}

/// The steps that the workflow allows agents to take.
fn allowed_steps(workflow: &Workflow, role: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for state in &workflow.states {
        for edge in workflow.edges_from(&state.name) {
            if edge.trigger == Trigger::Request && edge.is_open_to(&Role::from_name(role)) {
                let to = match &edge.to {
                    Target::Status(status) => status.to_string(),
                    Target::Previous => String::from("STATUS"),
                };
                found.push((role.to_owned(), state.name.to_string(), to));
            }
        }
    }
    found
}

#[test]
fn each_role_sees_only_the_requests_it_may_make() {
    assert!(offered_steps(&skill(&[&shipped_workflow("default")])).len() > 8);
    for shipped in shipped_workflows::ALL {
        let workflow = shipped_workflow(shipped.name);
        let offered = offered_steps(&skill(&[&workflow]));
        for role in ["worker", "reviewer"] {
            let expected = workflow.states.iter().flat_map(|it| &it.expects);
            let is_expected = expected.into_iter().any(|it| it.as_str() == role);
            let told = offered.iter().filter(|it| it.0 == role).cloned();
            let open = allowed_steps(&workflow, role);
            let open = if is_expected { open } else { Vec::new() };
            assert_eq!(told.collect::<Vec<_>>(), open, "{} {role}", shipped.name);
        }
    }
}

#[test]
fn every_required_section_and_field_is_named() {
    let text = skill(&[&shipped_workflow("default")]);
    for line in [
        "- in `planning`: `orange task update --status working`; needs a line `APPROACH:` or \
         `TOUCHING:` in `## Plan`",
        "- in `agent-review`: `orange task update --status reviewing`; needs the verdict PASS in \
         the first line of `## Review`, `## Review` submitted by the human or the reviewer and a \
         fresh `## Review`",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    assert!(text.contains("only while `clarifications < max_clarifications`"));
    assert!(text.contains("`max_clarifications` is 3"));
}

#[test]
fn the_skill_of_the_usual_workflow() {
    let text = skill(&[&shipped_workflow("default")]);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("skill_default", text);
    });
}

/// Agents skip a skill whose first lines they cannot parse or find too long.
#[test]
fn the_skill_starts_with_valid_frontmatter() {
    let text = skill(&[&shipped_workflow("minimal")]);
    let (head, _) = text
        .strip_prefix("---\n")
        .unwrap()
        .split_once("\n---\n")
        .unwrap();
    let read: serde_json::Value = serde_saphyr::from_str(head).unwrap();
    assert_eq!(read["name"], NAME);
    assert_eq!(read["description"], DESCRIPTION);
    assert!(DESCRIPTION.len() <= 1024);
}

#[test]
fn a_custom_workflow_is_described_in_its_own_words() {
    let text = "\
name: mine
version: 1
description: |
  # Two lines
  of words.
roles: [scout]
states:
  queue: { kind: queued }
  looking: { kind: agent, expects: [scout] }
  asking: { kind: human, expects: [scout] }
  over: { kind: terminal }
transitions:
  - { from: queue, to: looking, by: [human, engine] }
  - { from: looking, to: over, by: scout, gate: { section: \"## Found\", required: true } }
  - { from: looking, to: asking, by: scout }
  - { from: asking, to: over, by: human }
";
    let loaded = load(text);
    let workflow = loaded
        .workflow
        .unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let text = skill(&[&workflow]);
    for line in [
        "# Two lines of words.",
        "| `looking` | the scout works |",
        "| `asking` | the user decides, with the scout |",
        "As the scout:",
        "- in `looking`: `orange task update --status over`; needs `## Found`",
        "- in `asking`: request no step; follow your prompt and the user",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
}
