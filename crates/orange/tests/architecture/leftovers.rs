//! Sources contain no markers for later work and no debugging.

use crate::verdict::Violation;

/// Concatenated, so that this file does not contain the words it searches for.
const WORDS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];
const MACROS: [&str; 3] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("d", "bg!("),
];

/// The lines of any source that leave something for later.
pub fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = WORDS.iter().filter(|word| has_word(line, word));
        let macros = MACROS.iter().filter(|name| has_macro(line, name));
        for mark in words.chain(macros) {
            let rule = format!("`{mark}`: do it, or leave it out");
            found.push(Violation::new(path, index + 1, rule));
        }
    }
    found
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|part| part == word)
}

fn has_macro(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_is_found_with_its_line() {
        for word in WORDS {
            for text in [
                format!("a\n// {word}: later"),
                format!("a\n# {word}"),
                format!("a\n{word}(me)"),
            ] {
                let found = check("a.rs", &text);
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(found[0].line, 2);
            }
        }
        for name in MACROS {
            assert_eq!(
                check("a.rs", &format!("fn f() {{ {name}1) }}")).len(),
                1,
                "{name}"
            );
            assert_eq!(
                check("a.rs", &format!("fn f() {{ std::{name}1) }}")).len(),
                1,
                "{name}"
            );
        }
    }

    #[test]
    fn longer_words_are_exempt() {
        for word in WORDS {
            assert_eq!(
                check("a.sh", &format!("mktemp {word}{word} my{word}")).len(),
                0,
                "{word}"
            );
        }
    }
}
