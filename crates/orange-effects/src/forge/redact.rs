//! Removes secrets from every text that leaves, and makes it fit.
//!
//! Secrets are searched in the text as it is and in the text without colours and invisible
//! characters, because a program that highlights a token cuts it in two; known values also across
//! line breaks, because a terminal breaks long lines.

use std::ops::Range;

use orange_engine::forge::text::{fit_body, fit_title};
use serde::Serialize;

use super::control_sequences::{joined_positions, visible_positions};
use super::known_values::{KnownValues, SHORTEST_LINE};
use super::secret_formats::find_secrets;
use super::token::Token;

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";

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
    values: KnownValues,
}

impl Redactor {
    /// Knows the formats of tokens, this token, and these values, such as those of variables that
    /// an agent gets.
    pub fn new<'a>(
        token: Option<&'a Token>,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Redactor {
        let own = token.map(Token::secret).into_iter();
        Redactor {
            values: KnownValues::new(own.chain(values)),
        }
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
        let mut ranges = find_secrets(&characters);
        ranges.extend(self.values.find(characters.iter().copied(), 0));
        let visible = visible_positions(&characters);
        if visible.len() < characters.len() {
            let shown: Vec<char> = visible.iter().map(|at| characters[*at]).collect();
            let mut found = find_secrets(&shown);
            found.extend(self.values.find(shown.into_iter(), 0));
            ranges.extend(places(&visible, found));
        }
        let joined = joined_positions(&characters, &visible);
        if joined.len() < visible.len() {
            let shown = joined.iter().map(|at| characters[*at]);
            let found = self.values.find(shown, SHORTEST_LINE);
            ranges.extend(places(&joined, found));
        }
        replace(&characters, ranges)
    }
}

/// What was found among some characters of a text, as places in the text.
fn places(positions: &[usize], found: Vec<Range<usize>>) -> impl Iterator<Item = Range<usize>> {
    let found = found.into_iter();
    found.map(|it| positions[it.start]..positions[it.end - 1] + 1)
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
