//! The name of a level-2 section, such as `## Handoff`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::lines::{LINE_BREAKS, cut};
use super::sections::headings;

/// A section's name: compared by its plain text, blind to ASCII case and to
/// the amount of white space, and shown as it was written.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SectionName {
    title: String,
    key: String,
}

/// Why a text does not name a section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionNameError {
    /// The text is not a single line with a level-2 heading.
    #[error("`{text}` is not a level-2 heading; write the section as `## Title`")]
    NotLevelTwo {
        /// The given text, shortened.
        text: String,
    },
    /// The heading has no text.
    #[error("`{text}` has no title; write the section as `## Title`")]
    Untitled {
        /// The given text, shortened.
        text: String,
    },
}

impl SectionName {
    /// Reads a heading line such as `## Handoff`.
    pub fn parse(heading: &str) -> Result<SectionName, SectionNameError> {
        let text = || cut(heading, 80);
        let not_level_two = || SectionNameError::NotLevelTwo { text: text() };
        let line = heading.trim_end();
        if line.contains(LINE_BREAKS) {
            return Err(not_level_two());
        }
        // A heading takes its whole line, so a single line has at most one.
        match headings(line).pop() {
            Some(found) if found.level != 2 => Err(not_level_two()),
            Some(found) if found.title.is_empty() => {
                Err(SectionNameError::Untitled { text: text() })
            }
            Some(found) => Ok(SectionName::from_title(&found.title)),
            None => Err(not_level_two()),
        }
    }

    /// The section with this plain text as its title.
    pub fn from_title(title: &str) -> SectionName {
        // CommonMark replaces NUL, so a title that kept it would never be found.
        let title = collapse_whitespace(&title.replace('\0', "\u{fffd}"));
        let key = title.to_ascii_lowercase();
        SectionName { title, key }
    }

    /// The plain text of the heading.
    pub fn title(&self) -> &str {
        &self.title
    }
}

/// The text with every run of white space as one space, and none at the ends.
pub(super) fn collapse_whitespace(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

impl fmt::Display for SectionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = format!("## {}", self.title);
        let is_word = |part: char| part.is_ascii_alphanumeric() || part == ' ';
        if self.title.chars().all(is_word) {
            return formatter.write_str(&plain);
        }
        // A title with active Markdown in it, such as `*`, is written escaped, so what is shown and
        // stored always reads back as this name.
        if SectionName::parse(&plain).is_ok_and(|read| read.title == self.title) {
            return formatter.write_str(&plain);
        }
        formatter.write_str("## ")?;
        for character in self.title.chars() {
            if character.is_ascii_punctuation() {
                formatter.write_str("\\")?;
            }
            write!(formatter, "{character}")?;
        }
        Ok(())
    }
}

impl TryFrom<String> for SectionName {
    type Error = SectionNameError;

    fn try_from(heading: String) -> Result<SectionName, SectionNameError> {
        SectionName::parse(&heading)
    }
}

impl From<SectionName> for String {
    fn from(name: SectionName) -> String {
        name.to_string()
    }
}

impl PartialEq for SectionName {
    fn eq(&self, other: &SectionName) -> bool {
        self.key == other.key
    }
}

impl Eq for SectionName {}

impl PartialOrd for SectionName {
    fn partial_cmp(&self, other: &SectionName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SectionName {
    fn cmp(&self, other: &SectionName) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl Hash for SectionName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}
