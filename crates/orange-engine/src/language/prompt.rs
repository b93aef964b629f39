//! Prompts: text with strict variables, filled in one pass.

use std::fmt::{self, Write as _};

/// A text with variables; `{{` and `}}` are literal braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

/// Why a prompt does not parse, and at which character.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PromptError {
    /// How many characters precede the error.
    pub offset: usize,
    /// What is wrong, and how to write it correctly.
    pub message: String,
}

impl Prompt {
    /// Parses a prompt without checking whether its variables exist.
    pub fn parse(text: &str) -> Result<Prompt, PromptError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut characters = text.chars().enumerate().peekable();
        while let Some((offset, character)) = characters.next() {
            let is_brace = matches!(character, '{' | '}');
            let doubled = is_brace && characters.next_if(|(_, next)| *next == character).is_some();
            match character {
                '{' if !doubled => {
                    let mut name = String::new();
                    while let Some((_, next)) = characters.next_if(|(_, next)| is_name_part(*next))
                    {
                        name.push(next);
                    }
                    let closed = characters.next_if(|(_, next)| *next == '}').is_some();
                    if name.is_empty() || !closed {
                        let message =
                            "a `{` begins a variable like `{summary}`; write `{{` for a brace";
                        return Err(PromptError {
                            offset,
                            message: message.to_owned(),
                        });
                    }
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Variable(name));
                }
                '}' if !doubled => {
                    let message = "a `}` closes no variable; write `}}` for a brace";
                    return Err(PromptError {
                        offset,
                        message: message.to_owned(),
                    });
                }
                _ => plain.push(character),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Prompt {
            text: text.to_owned(),
            parts,
        })
    }

    pub fn empty() -> Prompt {
        Prompt {
            text: String::new(),
            parts: Vec::new(),
        }
    }

    /// The prompt as its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables it uses, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Names in literal braces, as in `{{name}}`.
    pub fn braced_names(&self) -> Vec<String> {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Variable(_) => None,
        });
        texts
            .flat_map(|text| text.split('{').skip(1))
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name)
            .filter(|name| !name.is_empty() && name.chars().all(is_name_part))
            .map(str::to_owned)
            .collect()
    }

    /// The text as its author could have written it, with some variables replaced by their values.
    pub fn expand(&self, value_of: impl Fn(&str) -> Option<String>) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Part::Variable(name) => value_of(name).unwrap_or_else(|| format!("{{{name}}}")),
        });
        parts.collect()
    }

    /// Fills in the variables. Values are inserted as they are, even if they contain braces.
    ///
    /// A variable without a value stays as written; loading rejects those.
    pub fn fill(&self, value_of: impl Fn(&str) -> Option<String>) -> String {
        let mut filled = String::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Variable(name) => match value_of(name) {
                    Some(value) => filled.push_str(&value),
                    None => {
                        let _ = write!(filled, "{{{name}}}");
                    }
                },
            }
        }
        filled
    }
}

fn is_name_part(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
}

crate::names::written_as_text!(Prompt);

impl fmt::Display for Prompt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
