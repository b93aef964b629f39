//! The reference of the language names every word, and its examples load.

use orange_engine::language::gates::{GitCondition, ReportField};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;

use crate::kit::load_clean;

const REFERENCE: &str = include_str!("../../../../docs/workflow-language.md");

#[test]
fn the_examples_load() {
    let examples: Vec<&str> = REFERENCE
        .split("```yaml\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .collect();
    let states: Vec<usize> = examples
        .iter()
        .map(|example| load_clean(example).states.len())
        .collect();
    assert_eq!(states, [3, 5]);
}

#[test]
fn every_word_is_named() {
    let mut words: Vec<&str> = Trigger::ALL.iter().map(|(name, _)| *name).collect();
    words.extend(GitCondition::ALL.iter().map(|(name, _)| *name));
    words.extend(ReportField::ALL.iter().map(|(name, _)| *name));
    // The workflow that uses everything names every key and action.
    let everything = include_str!("everything.yml");
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
