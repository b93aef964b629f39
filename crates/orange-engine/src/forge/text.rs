//! Code fences that no text can close, and the forge's length limits.

/// The most characters that a body or a comment may have.
pub const MAX_TEXT: usize = 65_536;

/// The most characters that a title may have.
pub const MAX_TITLE: usize = 256;

/// What stands at the end of a text that was cut.
const CUT_NOTE: &str = "\n\n… (shortened: the text exceeds the forge's limit)";

/// The text in a code fence that is longer than any run of backticks in the text.
pub fn fence(text: &str, language: &str) -> String {
    let is_word = |c: &char| c.is_ascii_alphanumeric();
    let language: String = language.chars().filter(is_word).collect();
    let longest = longest_run(text, '`').max(2);
    let fence = "`".repeat(longest + 1);
    let gap = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{text}{gap}{fence}\n")
}

fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// The text, cut between characters so that it fits a body or comment, with a note at its end.
pub fn fit_body(text: &str) -> String {
    fit(text, MAX_TEXT, CUT_NOTE)
}

/// The text on one line that fits a title.
pub fn fit_title(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    fit(&line, MAX_TITLE, "…")
}

/// Cuts a text to a limit. Lengths count UTF-16 units, which are never fewer than characters: the
/// forge does not document which of the two it counts.
fn fit(text: &str, limit: usize, note: &str) -> String {
    if units(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(units(note));
    let mut used = 0;
    let fits = |character: &char| {
        used += character.len_utf16();
        used <= room
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push_str(note);
    kept
}

fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_closes_its_fence() {
        assert_eq!(fence("a", "rust"), "```rust\na\n```\n");
        assert_eq!(
            fence("```\nx\n````\n", "a`b"),
            "`````ab\n```\nx\n````\n`````\n"
        );
        assert_eq!(fence("", ""), "```\n```\n");
    }

    #[test]
    fn lesson_86_a_long_text_is_cut_between_characters_and_says_so() {
        let exact = "ä".repeat(MAX_TEXT);
        assert_eq!(fit_body(&exact), exact);
        for text in ["a".repeat(MAX_TEXT + 1), "🍊".repeat(MAX_TEXT)] {
            let cut = fit_body(&text);
            assert!(units(&cut) <= MAX_TEXT && units(&cut) >= MAX_TEXT - 2);
            assert!(cut.ends_with(CUT_NOTE));
        }
        assert_eq!(fit_title("a\n b"), "a b");
        assert!(units(&fit_title(&"x".repeat(300))) <= MAX_TITLE);
    }
}
