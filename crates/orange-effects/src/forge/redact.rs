//! Removes secrets from every text that leaves, and makes it fit.
//!
//! Secrets are searched in the text as it is and in the text without colours and invisible
//! characters, because a program that highlights a token cuts it in two.

use std::ops::Range;

use orange_engine::forge::text::{fit_body, fit_title};
use serde::Serialize;

use super::secret_formats::find_secrets;
use super::token::Token;

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";

/// A shorter value is no secret: it would be found in any text.
const SHORTEST: usize = 8;

/// Text that may leave; only a [`Redactor`] makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Outbound(String);

impl Outbound {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Removes secrets from text.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Vec<Vec<char>>,
}

impl Redactor {
    /// Knows the formats of tokens, this token, and these values, such as those of variables that
    /// an agent gets.
    pub fn new<'a>(
        token: Option<&'a Token>,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Redactor {
        let own = token.map(Token::secret).into_iter();
        let mut all = Vec::new();
        for value in own.chain(values).map(str::trim) {
            if value.chars().count() < SHORTEST {
                continue;
            }
            // A text may contain the value as JSON, with escapes.
            let escaped = serde_json::to_string(value).unwrap_or_default();
            let escaped = escaped.trim_matches('"');
            all.push(value.chars().collect());
            if escaped != value {
                all.push(escaped.chars().collect());
            }
        }
        Redactor { values: all }
    }

    /// A body or comment that may leave.
    pub fn body(&self, text: &str) -> Outbound {
        // What is cut first could lose the end of a secret, and with it its format.
        Outbound(fit_body(&self.redact(text)))
    }

    /// A title, name of a branch or label that may leave.
    pub fn title(&self, text: &str) -> Outbound {
        Outbound(fit_title(&self.redact(text)))
    }

    /// The text with every secret replaced, and nothing else changed.
    pub fn redact(&self, text: &str) -> String {
        let characters: Vec<char> = text.chars().collect();
        let mut ranges = self.find(&characters);
        let seen = visible_positions(&characters);
        if seen.len() < characters.len() {
            let visible: Vec<char> = seen.iter().map(|at| characters[*at]).collect();
            let found = self.find(&visible);
            ranges.extend(
                found
                    .into_iter()
                    .map(|it| seen[it.start]..seen[it.end - 1] + 1),
            );
        }
        replace(&characters, ranges)
    }

    fn find(&self, text: &[char]) -> Vec<Range<usize>> {
        let mut found = find_secrets(text);
        for value in &self.values {
            let windows = text.windows(value.len()).enumerate();
            let matches = windows.filter(|(_, window)| *window == value.as_slice());
            found.extend(matches.map(|(at, _)| at..at + value.len()));
        }
        found
    }
}

/// The positions of the characters that are neither invisible nor part of a colour code, real or
/// escaped.
fn visible_positions(text: &[char]) -> Vec<usize> {
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some(length) = colour_code(&text[at..]) {
            at += length;
            continue;
        }
        if !is_invisible(text[at]) {
            kept.push(at);
        }
        at += 1;
    }
    kept
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || (c.is_control() && !c.is_whitespace())
}

/// How long the control sequence of a terminal is that begins here, if one does.
fn colour_code(text: &[char]) -> Option<usize> {
    const ESCAPES: [&str; 6] = ["\u{1b}", "\\u001b", "\\u001B", "\\x1b", "\\033", "\\e"];
    let escape = ESCAPES.iter().find(|escape| {
        let mut characters = text.iter();
        escape.chars().all(|it| characters.next() == Some(&it))
    })?;
    let start = escape.chars().count();
    if text.get(start) != Some(&'[') {
        return None;
    }
    let rest = &text[start + 1..];
    let is_parameter = |c: &&char| ('0'..='?').contains(*c);
    let parameters = rest.iter().take(30).take_while(is_parameter).count();
    let end = rest.get(parameters)?;
    ('@'..='~')
        .contains(end)
        .then_some(start + 1 + parameters + 1)
}

fn replace(text: &[char], mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|it| (it.start, it.end));
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.start >= at {
            result.extend(&text[at..range.start]);
            result.push_str(REDACTED);
        }
        at = at.max(range.end);
    }
    result.extend(&text[at..]);
    result
}

#[cfg(test)]
mod tests;
