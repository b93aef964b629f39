//! TASK.md as a document: parsed into parts, edited without touching other bytes.
//!
//! Invariant: a rewrite changes the bytes it names and no others, whatever text an agent or the
//! user left. So each `with_…` replaces ranges of the text and never prints a parsed form; the
//! property tests in `tests/document` catch a rewrite that changes other bytes.

mod demote;
mod fields;
mod frontmatter;
mod frontmatter_edit;
mod lines;
pub mod reading;
mod scalar;
mod section_edit;
mod section_hash;
mod section_name;
mod sections;

pub use demote::demote_headings;
pub use fields::Fields;
pub use frontmatter::{Frontmatter, FrontmatterDamage};
pub(crate) use lines::line_number;
pub use scalar::FieldValue;
pub use section_hash::{SectionHash, SectionHashError};
pub use section_name::{SectionName, SectionNameError};
pub use sections::Section;
pub(crate) use sections::{Heading, headings};

use frontmatter::Opening;

/// A larger document is rejected without being read.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024 * 4;

/// Why some bytes cannot be read as a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// More bytes than a task's text can sensibly have.
    #[error(
        "document has `{bytes}` bytes, more than the limit of `{limit}`; \
         move long logs and listings into files of their own"
    )]
    TooLarge {
        bytes: usize,
        /// The maximum size.
        limit: usize,
    },
    /// A byte that is not valid UTF-8 at this position.
    #[error(
        "document is not UTF-8 at line `{line}`, column `{column}` (byte `{offset}`); \
         save it again as UTF-8"
    )]
    NotUtf8 {
        offset: usize,
        /// Its line, counted from 1.
        line: usize,
        /// Its column in characters, counted from 1.
        column: usize,
    },
}

/// A task's text: a frontmatter, then a body with sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    text: String,
    opening: Opening,
    sections: Vec<Section>,
}

impl Document {
    /// Reads a document. This fails only if the bytes are too many or not UTF-8.
    pub fn parse(bytes: &[u8]) -> Result<Document, DocumentError> {
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::TooLarge {
                bytes: bytes.len(),
                limit: MAX_DOCUMENT_BYTES,
            });
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Document::read(text.to_owned())),
            Err(error) => {
                let offset = error.valid_up_to();
                let before = String::from_utf8_lossy(&bytes[..offset]);
                let (line, column) = lines::position(&before, offset);
                Err(DocumentError::NotUtf8 {
                    offset,
                    line,
                    column,
                })
            }
        }
    }

    fn read(text: String) -> Document {
        let opening = frontmatter::read(&text);
        let sections = sections::sections(&text, opening.body);
        Document {
            text,
            opening,
            sections,
        }
    }

    /// The whole text, byte for byte as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Everything after the frontmatter.
    pub fn body(&self) -> &str {
        &self.text[self.opening.body..]
    }

    pub fn frontmatter(&self) -> &Frontmatter {
        &self.opening.frontmatter
    }

    /// Every top-level level-2 section, in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The last section with this name, which is the one that counts.
    pub fn section(&self, name: &SectionName) -> Option<&Section> {
        self.sections.iter().rfind(|section| section.name() == name)
    }

    /// The content of one of this document's sections; meaningless for a section of another
    /// document.
    pub fn content(&self, section: &Section) -> &str {
        self.text.get(section.content()).unwrap_or_default()
    }

    /// The document with these frontmatter keys set and every other byte unchanged.
    ///
    /// A damaged frontmatter is kept as a fenced code block with the info string
    /// `damaged-frontmatter` at the start of the body, below a new frontmatter. An unclosed
    /// frontmatter consists of its `---` line only: what follows stays in place, so every section
    /// is still found.
    #[must_use]
    pub fn with_fields(&self, fields: &[(&str, FieldValue)]) -> Document {
        Document::read(frontmatter_edit::with_fields(
            &self.text,
            &self.opening,
            fields,
        ))
    }

    /// The document with the content of the last section with this name replaced, or with the
    /// section added at the end.
    ///
    /// No other section changes, whatever the content is: if headings or an open code block in the
    /// content would change one, the content's headings are demoted or, if that is not enough, the
    /// content is quoted. If the document ends in an unclosed code block or comment, that is closed
    /// before a section is added.
    #[must_use]
    pub fn with_section(&self, name: &SectionName, content: &str) -> Document {
        section_edit::with_section(self, name, content)
    }

    /// The document with every section of this name renamed to `## <Name> (archived)`.
    #[must_use]
    pub fn with_section_archived(&self, name: &SectionName) -> Document {
        section_edit::with_section_archived(self, name)
    }
}
