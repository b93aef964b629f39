//! Every file opens with its job in at most twelve words.

use crate::source::Source;
use crate::verdict::Violation;

const WORDS: usize = 12;

/// A violation when the first line is not a `//!`, or its sentence is too long.
pub fn check(source: &Source) -> Vec<Violation> {
    let violation = |rule: String| vec![Violation::new(&source.path, 1, rule)];
    let paragraph = source
        .text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim);
    let paragraph: Vec<_> = paragraph.take_while(|line| !line.is_empty()).collect();
    if paragraph.is_empty() {
        return violation("the file must open with `//!` and its job".to_owned());
    }
    let text = paragraph.join(" ");
    let words = words_of_first_sentence(&text);
    if words > WORDS {
        return violation(format!(
            "its job takes {words} words, at most {WORDS}: \"{text}\""
        ));
    }
    Vec::new()
}

fn words_of_first_sentence(text: &str) -> usize {
    let mut count = 0;
    for word in text.split_whitespace() {
        count += usize::from(word.contains(char::is_alphanumeric));
        if word
            .trim_end_matches(['`', ')', '"'])
            .ends_with(['.', '!', '?'])
        {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        !check(&Source::new("crates/orange/src/a.rs", text)).is_empty()
    }

    #[test]
    fn a_file_without_a_purpose_is_found() {
        for text in [
            "",
            "fn f() {}",
            "// A comment.\n",
            "\n//! Late.",
            "//!\n//! Late.",
            "/// A.\nfn f() {}",
        ] {
            assert!(is_refused(text), "{text:?}");
        }
    }

    #[test]
    fn a_long_purpose_is_found() {
        let twelve = "//! one two three four five six seven eight nine ten eleven";
        assert!(!is_refused(&format!("{twelve} twelve.\nfn f() {{}}")));
        assert!(is_refused(&format!("{twelve} twelve thirteen.")));
        assert!(is_refused(&format!("{twelve}\n//! twelve thirteen.")));
    }

    #[test]
    fn only_the_first_sentence_counts() {
        let text = "//! The job. And then a good deal more about why it is\n//! done in this way.";
        assert!(!is_refused(text));
        assert!(!is_refused(
            "//! The job – in words.\n//!\n//! one two three four five six seven"
        ));
    }
}
