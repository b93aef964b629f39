//! What was typed, as words that can be compared.

use std::cmp::Reverse;

use orange_engine::language::nearest;

/// How many lines are proposed for one that was not understood.
const PROPOSED: usize = 3;

/// The words of a line, without what people leave out: backticks, commas, articles and case.
pub fn words(line: &str) -> Vec<String> {
    line.replace(['`', ','], " ")
        .to_lowercase()
        .split_whitespace()
        .filter(|word| !matches!(*word, "the" | "a" | "an"))
        .map(|word| match word {
            "human" => "person".to_owned(),
            word => word.to_owned(),
        })
        .collect()
}

/// The lines that share the most words with a typed one, best first.
pub fn nearest_lines(typed: &str, lines: &[String]) -> Vec<String> {
    let typed = words(typed);
    let score = |line: &str| {
        let mut line = words(line);
        let mut score = 0;
        for word in &typed {
            let near = nearest(word, line.iter().map(String::as_str)).map(str::to_owned);
            let at = near.and_then(|near| line.iter().position(|other| *other == near));
            // A word that was meant once is not meant twice.
            if let Some(at) = at {
                score += if line.swap_remove(at) == *word { 2 } else { 1 };
            }
        }
        score
    };
    let mut scored: Vec<_> = lines.iter().map(|line| (score(line), line)).collect();
    scored.sort_by_key(|(score, line)| (Reverse(*score), words(line).len().abs_diff(typed.len())));
    let best = scored.into_iter().map(|(_, line)| line.clone());
    best.take(PROPOSED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_leave_out_makes_no_difference() {
        let printed = words("the person asks for `working`, showing `## Plan`");
        for typed in [
            "person asks for working showing ## plan",
            "  The HUMAN asks  for working, showing ## Plan ",
            "a person asks for the `working`, showing `## Plan`",
        ] {
            assert_eq!(words(typed), printed, "{typed}");
        }
        assert_ne!(words("person asks for working"), printed);
    }

    #[test]
    fn the_nearest_lines_share_the_most_words() {
        let lines = [
            "the worker dies",
            "the worker asks for `open`",
            "the person asks for `open`",
            "the person asks for `closed`",
        ]
        .map(str::to_owned);
        let near = nearest_lines("person asks for opem", &lines);
        assert_eq!(near.first(), Some(&lines[2]));
        assert_eq!(near.len(), 3);
        assert_eq!(nearest_lines("banana", &lines[..1]), lines[..1]);
    }
}
