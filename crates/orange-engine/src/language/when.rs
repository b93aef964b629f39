//! The `when` guard: comparisons of numeric fields, joined by `and`.

use std::collections::BTreeMap;
use std::fmt;

use crate::names::{FieldName, LimitName};

pub type Limits = BTreeMap<LimitName, i64>;

/// A parsed guard; limits are resolved to their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    text: String,
    comparisons: Vec<Comparison>,
}

/// One `<field> <op> <integer or limit>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub field: FieldName,
    pub operator: Operator,
    pub value: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

/// Why a guard does not parse, and at which character.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`when` does not parse: {message}")]
pub struct WhenError {
    /// How many characters precede the error.
    pub offset: usize,
    /// What was expected, and what was there.
    pub message: String,
    /// How to write such a guard, if known.
    pub hint: Option<&'static str>,
}

const ONLY_AND_HINT: &str = "there is only `and`; for `or`, write a second transition";
const OPERAND_ORDER_HINT: &str = "write a field on the left, and a number or a limit on the right";

impl When {
    /// Parses a guard; a name on the right side must be a declared limit.
    pub fn parse(text: &str, limits: &Limits) -> Result<When, WhenError> {
        let mut words = Words {
            rest: text,
            offset: 0,
        };
        let mut comparisons = Vec::new();
        loop {
            comparisons.push(words.comparison(limits)?);
            match words.next() {
                None => break,
                Some((_, "and")) => {}
                Some((offset, word)) => {
                    let message = format!("expected `and` or the end, found `{word}`");
                    return Err(WhenError {
                        offset,
                        message,
                        hint: Some(ONLY_AND_HINT),
                    });
                }
            }
        }
        Ok(When {
            text: text.to_owned(),
            comparisons,
        })
    }

    /// The guard as its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The comparisons, all of which must hold.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    pub fn holds(&self, value_of: impl Fn(&FieldName) -> i64) -> bool {
        self.comparisons
            .iter()
            .all(|comparison| comparison.holds(value_of(&comparison.field)))
    }
}

impl Comparison {
    pub fn holds(&self, value: i64) -> bool {
        match self.operator {
            Operator::Less => value < self.value,
            Operator::LessOrEqual => value <= self.value,
            Operator::Greater => value > self.value,
            Operator::GreaterOrEqual => value >= self.value,
            Operator::Equal => value == self.value,
            Operator::NotEqual => value != self.value,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
        };
        write!(formatter, "{} {operator} {}", self.field, self.value)
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

crate::names::written_as_text!(When);

/// Splits a guard into names, numbers and operators, counting characters.
struct Words<'text> {
    rest: &'text str,
    offset: usize,
}

impl<'text> Words<'text> {
    fn next(&mut self) -> Option<(usize, &'text str)> {
        let trimmed = self.rest.trim_start();
        self.offset += self.rest.chars().count() - trimmed.chars().count();
        self.rest = trimmed;
        let first = trimmed.chars().next()?;
        let is_operator = |character: char| "<>=!".contains(character);
        let length = trimmed
            .char_indices()
            .find(|(_, character)| {
                character.is_whitespace() || is_operator(*character) != is_operator(first)
            })
            .map_or(trimmed.len(), |(index, _)| index);
        let (word, rest) = trimmed.split_at(length);
        let offset = self.offset;
        self.offset += word.chars().count();
        self.rest = rest;
        Some((offset, word))
    }

    fn expect(&mut self, what: &str) -> Result<(usize, &'text str), WhenError> {
        self.next().ok_or_else(|| WhenError {
            offset: self.offset,
            message: format!("expected {what}, found the end"),
            hint: None,
        })
    }

    fn comparison(&mut self, limits: &Limits) -> Result<Comparison, WhenError> {
        let (offset, word) = self.expect("a field")?;
        if !is_name(word) {
            let message = format!("expected a field, found `{word}`");
            return Err(WhenError {
                offset,
                message,
                hint: Some(OPERAND_ORDER_HINT),
            });
        }
        let field = FieldName::new(word);
        let (offset, word) = self.expect("one of `<`, `<=`, `>`, `>=`, `==`, `!=`")?;
        let operator = match word {
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            other => {
                let message =
                    format!("expected one of `<`, `<=`, `>`, `>=`, `==`, `!=`, found `{other}`");
                return Err(WhenError {
                    offset,
                    message,
                    hint: None,
                });
            }
        };
        let (offset, word) = self.expect("an integer or a limit")?;
        let value = if is_name(word) {
            limits.get(word).copied().ok_or_else(|| {
                format!("`{word}` is neither an integer nor declared under `limits`")
            })
        } else {
            word.parse::<i64>()
                .map_err(|_| format!("expected an integer or a limit, found `{word}`"))
        };
        let value = value.map_err(|message| WhenError {
            offset,
            message,
            hint: Some(OPERAND_ORDER_HINT),
        })?;
        Ok(Comparison {
            field,
            operator,
            value,
        })
    }
}

/// Whether a word can name a field or a limit.
pub(crate) fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.chars().all(|character| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
        })
}
