//! Prompts: strict variables, substituted in one pass.

use orange_engine::language::prompt::Prompt;
use orange_engine::skill::skill;
use proptest::prelude::*;

use crate::fixtures::shipped_workflow;

/// The shipped workflows with a reviewer and the status `clarification`.
const REVIEWED: [&str; 3] = ["default", "respawn", "github"];

fn render(text: &str) -> String {
    Prompt::parse(text).unwrap().fill(|name| match name {
        "summary" => Some(String::from("use {branch} }{ {{x}}")),
        "branch" => Some(String::from("fix/it")),
        _ => None,
    })
}

#[test]
fn variables_are_filled_in_and_values_are_not_expanded_again() {
    assert_eq!(
        render("on {branch}: {summary}"),
        "on fix/it: use {branch} }{ {{x}}"
    );
    assert_eq!(render("{{branch}} {{{branch}}}"), "{branch} {fix/it}");
    assert_eq!(render("a }} b {{ c"), "a } b { c");
    assert_eq!(render("see {nobody}"), "see {nobody}");
    assert_eq!(render(""), "");
}

#[test]
fn a_lone_brace_is_reported_with_its_position() {
    for (text, offset) in [
        ("a { b", 2),
        ("é{Summary}", 1),
        ("{}", 0),
        ("{summary", 0),
        ("{sum mary}", 0),
        ("x } y", 2),
        ("{{{", 2),
    ] {
        let error = Prompt::parse(text).unwrap_err();
        assert_eq!(error.offset, offset, "{text}");
        assert!(error.to_string().contains("for a brace"), "{error}");
    }
}

#[test]
fn variables_are_listed_in_order() {
    let prompt = Prompt::parse("{b} {{c}} {a} {b}").unwrap();
    assert_eq!(prompt.variables().collect::<Vec<_>>(), ["b", "a", "b"]);
    assert_eq!(prompt.text(), "{b} {{c}} {a} {b}");
}

/// A prompt of a shipped workflow, in lower case.
fn shipped_prompt(workflow: &str, prompt: &str) -> String {
    let workflow = shipped_workflow(workflow);
    workflow.prompts.get(prompt).unwrap().text().to_lowercase()
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn agents_are_told_when_to_ask_instead_of_guessing() {
    let reasons = [
        "summary is empty",
        "requirement is vague",
        "context is missing",
        "several meanings",
        "much larger than one task",
        "two or three precise questions",
    ];
    for workflow in REVIEWED {
        assert_contains(&shipped_prompt(workflow, "worker"), &reasons);
    }
    assert_contains(&shipped_prompt("autopilot", "attempt"), &reasons);
    let taught = skill(&[&shipped_workflow("default")]).to_lowercase();
    assert_contains(&taught, &reasons);
}

#[test]
fn a_worker_is_told_to_ask_before_it_extends_the_scope() {
    for workflow in REVIEWED {
        for prompt in ["worker", "worker_respawn"] {
            let parts = [
                "turns out larger or different",
                "orange task update --status clarification",
            ];
            assert_contains(&shipped_prompt(workflow, prompt), &parts);
        }
    }
}

#[test]
fn a_reviewer_is_told_to_read_the_diff_and_to_use_its_toolkit() {
    for workflow in REVIEWED {
        let parts = [
            "orange task diff",
            "uncertain",
            "review toolkit or skill",
            "write `## review` into task.md",
        ];
        assert_contains(&shipped_prompt(workflow, "reviewer"), &parts);
    }
}

#[test]
fn autopilot_tells_its_agents_not_to_push() {
    assert_contains(&shipped_prompt("autopilot", "attempt"), &["do not push."]);
    assert_contains(
        &shipped_prompt("autopilot", "plan"),
        &["do none of the work"],
    );
}

proptest! {
    #[test]
    fn a_doubled_brace_is_a_literal_brace(text in "(?s).{0,60}") {
        let doubled = text.replace('{', "{{").replace('}', "}}");
        let prompt = Prompt::parse(&doubled).unwrap();
        prop_assert_eq!(prompt.fill(|_| None), text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "(?s)[{}a-z ]{0,40}") {
        if let Ok(prompt) = Prompt::parse(&text) {
            let _ = prompt.fill(|_| Some(String::from("{x}")));
        }
    }
}
