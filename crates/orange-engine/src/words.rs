//! Small pieces of wording that sentences about workflows share.

use crate::refusal_wording::joined;
use crate::role::Role;

/// How much of a longer text is shown.
const EXCERPT: usize = 40;

/// `a, b or c`.
pub(crate) fn either(words: impl IntoIterator<Item = String>) -> String {
    joined(words.into_iter(), "or")
}

/// `a, b and c`.
pub(crate) fn all(words: impl IntoIterator<Item = String>) -> String {
    joined(words.into_iter(), "and")
}

/// `the worker`.
pub(crate) fn the(role: &Role) -> String {
    format!("the {role}")
}

/// A time as a file writes it.
pub(crate) fn duration(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("m", 60)];
    let unit = units
        .iter()
        .find(|(_, length)| seconds > 0 && seconds.is_multiple_of(*length));
    match unit {
        Some((name, length)) => format!("{}{name}", seconds / length),
        None => format!("{seconds}s"),
    }
}

/// A program and its arguments, quoted where two different lists would otherwise look alike.
pub(crate) fn command_line(command: &[String]) -> String {
    let is_plain = |word: &String| {
        let is_part = |it: char| !it.is_whitespace() && !it.is_control() && !"\"\\`".contains(it);
        !word.is_empty() && word.chars().all(is_part)
    };
    let words = command.iter().map(|word| {
        if is_plain(word) {
            word.clone()
        } else {
            format!("{word:?}")
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, in quotes.
pub(crate) fn excerpt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end();
    let short: String = line.chars().take(EXCERPT).collect();
    let more = if short.len() < text.trim().len() {
        "…"
    } else {
        ""
    };
    format!("\"{short}{more}\"")
}
