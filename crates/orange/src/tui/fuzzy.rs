//! Matches what the user typed against a text.

/// The cost of matching a text with what was typed: smaller is better, `None` is no match.
///
/// Every word must occur: its letters in order, the closer together the better. A word with a
/// capital letter is case-sensitive.
pub fn match_cost(typed: &str, text: &str) -> Option<usize> {
    typed.split_whitespace().try_fold(0, |total, word| {
        let cost = word_cost(word, text)?;
        Some(total + cost)
    })
}

fn word_cost(word: &str, text: &str) -> Option<usize> {
    let is_exact = word.chars().any(char::is_uppercase);
    let same = |one: char, other: char| {
        one == other || !is_exact && other.to_lowercase().eq(one.to_lowercase())
    };
    let letters: Vec<char> = word.chars().collect();
    let all: Vec<char> = text.chars().collect();
    let mut best = None;
    for start in 0..all.len() {
        if !same(letters[0], all[start]) {
            continue;
        }
        let mut remaining = letters.iter();
        let mut next = remaining.next();
        for (at, letter) in all.iter().enumerate().skip(start) {
            if next.is_some_and(|it| same(*it, *letter)) {
                next = remaining.next();
            }
            if next.is_none() {
                let gaps = at + 1 - start - letters.len();
                // Letters scattered all over the text are not a match.
                if gaps > letters.len() {
                    break;
                }
                let is_start = start == 0 || !all[start - 1].is_alphanumeric();
                let cost = gaps * 2 + usize::from(!is_start);
                best = Some(best.map_or(cost, |best: usize| best.min(cost)));
                break;
            }
        }
        if next.is_some() {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_match_and_the_closest_match_wins() {
        assert_eq!(match_cost("", "anything"), Some(0));
        assert_eq!(match_cost("fix", "Fix the login"), Some(0));
        assert_eq!(match_cost("log", "Fix the login"), Some(0));
        assert_eq!(match_cost("gin", "Fix the login"), Some(1));
        assert!(match_cost("fxt", "Fix the login") > match_cost("fix", "Fix the login"));
        assert_eq!(match_cost("fl", "Fix the login"), None);
        assert_eq!(match_cost("xf", "Fix the login"), None);
        assert_eq!(match_cost("fix login", "Fix the login"), Some(0));
        assert_eq!(match_cost("Log", "Fix the login"), None);
        assert_eq!(match_cost("漢", "一漢字"), Some(1));
        assert_eq!(match_cost("a", ""), None);
    }
}
