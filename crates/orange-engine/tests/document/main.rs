//! TASK.md as a document: a corpus, lessons, and properties.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod fields;
mod frontmatter;
mod laws;
mod lessons;
mod rewrite;
mod sections;
mod strategies;
mod verdicts;

use orange_engine::document::{Document, Section, SectionName};

/// A file of the corpus, its bytes, and the expected result.
type Row<Expected> = (&'static str, &'static [u8], Expected);

/// Rows of a table, by file names in the corpus.
macro_rules! corpus {
    ($($name:literal => $expected:expr),+ $(,)?) => {
        &[$(($name, include_bytes!(concat!("corpus/", $name, ".md")) as &[u8], $expected)),+]
    };
}
pub(crate) use corpus;

/// Parses a text that is known to be a valid document.
fn read(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

/// Parses a corpus file that is known to be a valid document.
fn parse(name: &str, bytes: &[u8]) -> Document {
    Document::parse(bytes).unwrap_or_else(|error| unreachable!("{name}: {error}"))
}

/// The last section with a title.
fn section<'a>(document: &'a Document, title: &str) -> &'a Section {
    document.section(&SectionName::from_title(title)).unwrap()
}
