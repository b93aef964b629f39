//! The arguments of a harness: placeholders, optional groups, filling in.
//!
//! A text `{word}` of lowercase letters and `_` is a placeholder; every other brace is literal.
//! `prompt`, `prompt_file` and `run_folder` always have a value. The others may have none, so they
//! are allowed only in a group, an array within the array, which is dropped as a whole when one of
//! its values is missing.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use serde::de::{Deserializer, SeqAccess, Visitor};

use super::error::ValueProblem;

/// The longest prompt, in bytes, that is passed as an argument; a longer one is passed as a file.
pub const MAX_PROMPT_ARGUMENT: usize = 100 * 1024;

/// The longest argument that Linux accepts.
const MAX_ARGUMENT: usize = 131_071;

/// The values of the placeholders for one start of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// The agent's instructions.
    pub prompt: &'a str,
    /// The file that contains the prompt.
    pub prompt_file: &'a Path,
    /// The folder with the files of this run.
    pub run_folder: &'a Path,
    pub model: Option<&'a str>,
    /// The reasoning effort.
    pub effort: Option<&'a str>,
    /// The conversation that the agent begins.
    pub session_id: Option<&'a str>,
    /// The conversation that the agent resumes.
    pub resumed_id: Option<&'a str>,
    /// The JSON schema of the answer.
    pub schema: Option<&'a str>,
    /// The file that contains the schema.
    pub schema_file: Option<&'a Path>,
}

/// An item of an argument array in a definition: a text, or a group of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    One(String),
    Group(Vec<String>),
}

/// One argument, or several that are kept or dropped together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    One(Template),
    Group(Vec<Template>),
}

/// A text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Prompt,
    PromptFile,
    RunFolder,
    Model,
    Effort,
    SessionId,
    ResumedId,
    Schema,
    SchemaFile,
}

const PLACEHOLDERS: [Placeholder; 9] = [
    Placeholder::Prompt,
    Placeholder::PromptFile,
    Placeholder::RunFolder,
    Placeholder::Model,
    Placeholder::Effort,
    Placeholder::SessionId,
    Placeholder::ResumedId,
    Placeholder::Schema,
    Placeholder::SchemaFile,
];

impl Placeholder {
    fn name(self) -> &'static str {
        match self {
            Placeholder::Prompt => "prompt",
            Placeholder::PromptFile => "prompt_file",
            Placeholder::RunFolder => "run_folder",
            Placeholder::Model => "model",
            Placeholder::Effort => "effort",
            Placeholder::SessionId => "session_id",
            Placeholder::ResumedId => "resumed_id",
            Placeholder::Schema => "schema",
            Placeholder::SchemaFile => "schema_file",
        }
    }

    fn always_has_a_value(self) -> bool {
        matches!(
            self,
            Placeholder::Prompt | Placeholder::PromptFile | Placeholder::RunFolder
        )
    }
}

impl Argument {
    /// Whether it contains a placeholder with this name.
    pub fn takes(&self, name: &str) -> bool {
        let templates = match self {
            Argument::One(template) => std::slice::from_ref(template),
            Argument::Group(templates) => templates.as_slice(),
        };
        let mut values = templates.iter().flat_map(Template::values);
        values.any(|placeholder| placeholder.name() == name)
    }

    /// Parses an item; the error says what is wrong and how to fix it.
    pub fn parse(item: Item) -> Result<Self, (String, String)> {
        match item {
            Item::One(text) => {
                let template = Template::parse(&text)?;
                let optional = template.values().find(|it| !it.always_has_a_value());
                match optional {
                    None => Ok(Argument::One(template)),
                    Some(optional) => {
                        let name = optional.name();
                        let message = format!("`{{{name}}}` may have no value");
                        let hint = format!(
                            "put it into a group, which is left out without a value: \
                             [\"--flag\", \"{{{name}}}\"]"
                        );
                        Err((message, hint))
                    }
                }
            }
            Item::Group(texts) => {
                let templates: Result<Vec<_>, _> =
                    texts.iter().map(|text| Template::parse(text)).collect();
                Ok(Argument::Group(templates?))
            }
        }
    }
}

impl Template {
    fn parse(text: &str) -> Result<Self, (String, String)> {
        if text.contains('\0') {
            let hint = "remove it: it cannot be passed to a program".to_owned();
            return Err(("an argument contains a NUL character".to_owned(), hint));
        }
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            let Some((word, end)) = after.split_once('}').filter(|(word, _)| is_word(word)) else {
                literal.push('{');
                rest = after;
                continue;
            };
            let Some(placeholder) = PLACEHOLDERS.into_iter().find(|it| it.name() == word) else {
                let names = PLACEHOLDERS.map(|it| format!("`{{{}}}`", it.name()));
                let message = format!("`{{{word}}}` is not a placeholder");
                return Err((
                    message,
                    format!("the placeholders are {}", names.join(", ")),
                ));
            };
            pieces.push(Piece::Text(std::mem::take(&mut literal)));
            pieces.push(Piece::Value(placeholder));
            rest = end;
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self(pieces))
    }

    fn values(&self) -> impl Iterator<Item = Placeholder> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(placeholder) => Some(*placeholder),
            Piece::Text(_) => None,
        })
    }

    fn is(&self, text: &str) -> bool {
        matches!(self.0.as_slice(), [Piece::Text(only)] if only == text)
    }
}

impl Values<'_> {
    /// The arguments with every value filled in; the error names the invalid value.
    pub fn fill(
        &self,
        arguments: &[Argument],
    ) -> Result<Vec<OsString>, (&'static str, ValueProblem)> {
        for placeholder in PLACEHOLDERS {
            let value = self.value(placeholder);
            if value.is_some_and(|value| value.as_encoded_bytes().contains(&0)) {
                return Err((placeholder.name(), ValueProblem::HasNul));
            }
        }
        let mut filled = Vec::new();
        let mut after_the_flags = false;
        for argument in arguments {
            let templates = match argument {
                Argument::One(template) => std::slice::from_ref(template),
                Argument::Group(templates) => {
                    let mut values = templates.iter().flat_map(Template::values);
                    if values.any(|placeholder| self.value(placeholder).is_none()) {
                        continue;
                    }
                    templates
                }
            };
            for template in templates {
                filled.push(self.fill_one(template, after_the_flags)?);
                after_the_flags |= template.is("--");
            }
        }
        Ok(filled)
    }

    fn fill_one(
        &self,
        template: &Template,
        after_the_flags: bool,
    ) -> Result<OsString, (&'static str, ValueProblem)> {
        let mut filled = OsString::new();
        let mut longest = (0, "an argument");
        for piece in &template.0 {
            let placeholder = match piece {
                Piece::Text(text) => {
                    filled.push(text);
                    continue;
                }
                Piece::Value(placeholder) => *placeholder,
            };
            let value = self.value(placeholder).unwrap_or_default();
            let is_flag = filled.is_empty() && !after_the_flags && begins_like_a_flag(value);
            if placeholder == Placeholder::Prompt && (is_flag || value.len() > MAX_PROMPT_ARGUMENT)
            {
                filled.push(self.reference());
            } else if is_flag {
                return Err((placeholder.name(), ValueProblem::LooksLikeFlag));
            } else {
                longest = longest.max((value.len(), placeholder.name()));
                filled.push(value);
            }
        }
        if filled.len() > MAX_ARGUMENT {
            return Err((longest.1, ValueProblem::TooLong));
        }
        Ok(filled)
    }

    /// The text that replaces a prompt that cannot be an argument.
    fn reference(&self) -> OsString {
        let mut text = OsString::from("Your instructions are in the file ");
        text.push(self.prompt_file);
        text.push(". Read all of it, then do what it says.");
        text
    }

    fn value(&self, placeholder: Placeholder) -> Option<&OsStr> {
        match placeholder {
            Placeholder::Prompt => Some(OsStr::new(self.prompt)),
            Placeholder::PromptFile => Some(self.prompt_file.as_os_str()),
            Placeholder::RunFolder => Some(self.run_folder.as_os_str()),
            Placeholder::Model => self.model.map(OsStr::new),
            Placeholder::Effort => self.effort.map(OsStr::new),
            Placeholder::SessionId => self.session_id.map(OsStr::new),
            Placeholder::ResumedId => self.resumed_id.map(OsStr::new),
            Placeholder::Schema => self.schema.map(OsStr::new),
            Placeholder::SchemaFile => self.schema_file.map(Path::as_os_str),
        }
    }
}

fn begins_like_a_flag(value: &OsStr) -> bool {
    value.as_encoded_bytes().first() == Some(&b'-')
}

fn is_word(text: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_lowercase() || it == '_';
    !text.is_empty() && text.chars().all(is_letter)
}

impl<'de> serde::Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or a group of texts in brackets")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Item, E> {
        Ok(Item::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Item, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = sequence.next_element()? {
            texts.push(text);
        }
        Ok(Item::Group(texts))
    }
}
