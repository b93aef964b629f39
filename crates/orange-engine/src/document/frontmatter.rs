//! Finds and reads the YAML block that opens a document.

use std::fmt;
use std::ops::Range;

use super::fields::{self, Fields};
use super::lines::lines;

/// The YAML block at the start of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frontmatter {
    /// The document starts with its body.
    Absent,
    /// A readable block of keys.
    Present(Fields),
    /// A block that cannot be read; the body still can.
    Damaged(FrontmatterDamage),
}

/// Why a frontmatter cannot be read, and where. Line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontmatterDamage {
    pub line: usize,
    /// In characters.
    pub column: usize,
    /// What is wrong, and how to fix it.
    pub message: String,
}

impl fmt::Display for FrontmatterDamage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FrontmatterDamage {
            line,
            column,
            message,
        } = self;
        write!(formatter, "line {line}, column {column}: {message}")
    }
}

/// A frontmatter and the positions of its parts in the document's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) frontmatter: Frontmatter,
    /// Where the frontmatter starts: after a byte order mark, if there is one.
    pub(super) start: usize,
    /// The text between the `---` lines.
    pub(super) yaml: Range<usize>,
    /// Where the body starts: after the closing `---` line.
    pub(super) body: usize,
}

/// Finds and reads the frontmatter. A block that is never closed consists of its first line only,
/// so every section below it is still found.
pub(super) fn read(text: &str) -> Opening {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let mut rest = lines(&text[start..]).map(|(offset, line)| (start + offset, line));
    let absent = Opening {
        frontmatter: Frontmatter::Absent,
        start,
        yaml: start..start,
        body: start,
    };
    let Some((_, first)) = rest.next().filter(|(_, line)| is_fence(line)) else {
        return absent;
    };
    let yaml = start + first.len();
    let Some((end, last)) = rest.find(|(_, line)| is_fence(line)) else {
        let damage = FrontmatterDamage {
            line: 1,
            column: 1,
            message: "frontmatter is not closed; add a line `---` after its last key".to_owned(),
        };
        let frontmatter = Frontmatter::Damaged(damage);
        return Opening {
            frontmatter,
            start,
            yaml: yaml..yaml,
            body: yaml,
        };
    };
    let frontmatter = match fields::read(&text[yaml..end]) {
        Ok(fields) => Frontmatter::Present(fields),
        Err(damage) => Frontmatter::Damaged(FrontmatterDamage {
            line: damage.line + 1,
            ..damage
        }),
    };
    Opening {
        frontmatter,
        start,
        yaml: yaml..end,
        body: end + last.len(),
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t', '\n', '\r']) == "---"
}
