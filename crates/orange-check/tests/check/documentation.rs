//! The language reference names every word, and its examples load.

use orange_check::check::{FindingCode, Severity, check};
use orange_engine::language::gates::{GitCondition, ReportField};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;

use crate::fixtures::load_clean;

const REFERENCE: &str = include_str!("../../../../docs/workflow-language.md");

const GUIDE: &str = include_str!("../../../../docs/workflows.md");

/// Examples that users copy from a page must load and be safe to run.
fn safe_examples(page: &str) -> Vec<usize> {
    let examples = page.split("```yaml\n").skip(1);
    examples
        .filter_map(|block| block.split("```").next())
        .map(|example| {
            let workflow = load_clean(example);
            let checked = check(&workflow);
            let wrong = checked
                .findings
                .iter()
                .filter(|it| it.severity != Severity::Note);
            let wrong: Vec<&str> = wrong.map(|finding| finding.message.as_str()).collect();
            assert!(wrong.is_empty(), "{}: {wrong:#?}", workflow.name);
            workflow.states.len()
        })
        .collect()
}

#[test]
fn the_examples_are_safe() {
    assert_eq!(safe_examples(REFERENCE), [3, 5]);
    assert_eq!(safe_examples(GUIDE), [5, 7]);
}

/// A task of an example that is copied from the guide must not wait in its queue forever.
#[test]
fn tasks_of_the_guides_examples_start_automatically() {
    for example in GUIDE.split("```yaml\n").skip(1) {
        let workflow = load_clean(example.split("```").next().unwrap());
        let findings = check(&workflow).findings.into_iter();
        let codes: Vec<FindingCode> = findings.map(|it| it.code).collect();
        assert!(
            !codes.contains(&FindingCode::ManualStart),
            "{}",
            workflow.name
        );
    }
}

/// The guide's example: its claim about a missing guard matches what `check` reports.
#[test]
fn the_story_in_the_guide_matches_the_check() {
    let example = GUIDE.split("```yaml\n").nth(2).unwrap();
    let example = example.split("```").next().unwrap();
    let guard = "    when: rounds < max_rounds\n";
    let cases = "      then_when:\n        - { when: rounds < max_rounds, then: working }\n        - { else: stuck }\n";
    assert!(example.contains(guard) && example.contains(cases));
    let broken = example
        .replacen(guard, "", 1)
        .replacen(cases, "      then: working\n", 1);
    let checked = check(&load_clean(&broken));
    let found = checked
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::EndlessLoop)
        .unwrap();
    let story = found.story.as_ref().unwrap();
    assert_eq!(story.repeats_from, Some(2));
    let one_line = GUIDE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(&found.message), "{}", found.message);
    assert!(one_line.contains(&found.hint), "{}", found.hint);
    for told in &story.steps {
        assert!(one_line.contains(&told.what), "{}", told.what);
    }
}

#[test]
fn every_finding_is_explained() {
    let rows: Vec<(&str, &str)> = GUIDE
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter_map(|(code, rest)| Some((code, rest.split(" |").next()?)))
        .collect();
    let given: Vec<(&str, String)> = FindingCode::ALL
        .iter()
        .map(|code| (code.as_str(), code.severity().to_string()))
        .collect();
    let given: Vec<(&str, &str)> = given
        .iter()
        .map(|(code, severity)| (*code, severity.as_str()))
        .collect();
    assert_eq!(rows, given);
}

#[test]
fn every_term_is_documented() {
    let mut words: Vec<&str> = Trigger::ALL.iter().map(|(name, _)| *name).collect();
    words.extend(GitCondition::ALL.iter().map(|(name, _)| *name));
    words.extend(ReportField::ALL.iter().map(|(name, _)| *name));
    // The workflow that uses everything contains every key and action.
    let everything = include_str!("../../../orange-engine/tests/engine/everything.yml");
    let keys = everything
        .split(|character: char| !(character.is_ascii_lowercase() || character == '_'))
        .filter(|word| word.contains('_'))
        .filter(|word| !word.starts_with("max_") && !word.starts_with("none_"));
    words.extend(keys);
    for word in words {
        assert!(REFERENCE.contains(word), "`{word}` is not in the reference");
    }
    for (verb, _) in Verb::ALL {
        assert!(REFERENCE.contains(verb), "{verb} is not in the reference");
    }
}
