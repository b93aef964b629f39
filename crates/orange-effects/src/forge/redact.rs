//! Removes secrets from text that orange sends, and shortens the text.
//!
//! The redactor searches for secrets in the text as it is and in the text without colours and
//! invisible characters, because a program that highlights a token cuts it in two. It also searches
//! for known values across line breaks, because a terminal breaks long lines.

use std::ops::Range;

use orange_engine::forge::text::{fit_body, fit_title};
use serde::Serialize;
use serde_json::Value;

use super::control_sequences::{joined_positions, visible_positions};
use super::known_values::{KnownValues, SHORTEST_LINE};
use super::secret_formats::find_secrets;
use super::token::Token;

/// Replaces a secret in the text.
pub const REDACTED: &str = "[redacted]";

/// Text that may be sent; only a [`Redactor`] makes one.
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
    /// Removes text in the format of a token, this token, and these values, such as those of the
    /// variables that an agent gets.
    pub fn new<'a>(
        token: Option<&'a Token>,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Redactor {
        let own = token.map(Token::secret).into_iter();
        Redactor {
            values: KnownValues::new(own.chain(values)),
        }
    }

    /// Redacts and shortens a body or a comment.
    pub fn body(&self, text: &str) -> Outbound {
        // Shortened only after redaction: a secret without its end may not be recognised.
        Outbound(fit_body(&self.redact(text)))
    }

    /// Redacts and shortens a title, the name of a branch or a label.
    pub fn title(&self, text: &str) -> Outbound {
        Outbound(fit_title(&self.redact(text)))
    }

    /// Redacts and shortens every text in JSON; the keys are orange's own.
    pub fn json(&self, value: &Value) -> Outbound {
        Outbound(self.redact_texts(value).to_string())
    }

    fn redact_texts(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.body(text).0),
            Value::Array(list) => list.iter().map(|it| self.redact_texts(it)).collect(),
            Value::Object(object) => {
                let entries = object.iter();
                let entries = entries.map(|(key, it)| (key.clone(), self.redact_texts(it)));
                Value::Object(entries.collect())
            }
            other => other.clone(),
        }
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

/// Translates ranges that were found in a selection of a text's characters into ranges of the text;
/// `positions` holds where the selected characters are.
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
