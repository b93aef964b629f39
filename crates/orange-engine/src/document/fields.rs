//! The keys of a frontmatter and the position of each value.

use std::collections::BTreeSet;
use std::ops::Range;

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StructureStyle, options};

use super::MAX_DOCUMENT_BYTES;
use super::frontmatter::FrontmatterDamage;
use super::lines::cut;
use super::scalar::FieldValue;

/// The top-level keys of a readable frontmatter, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    pub(super) entries: Vec<Entry>,
    pub(super) style: MappingStyle,
}

/// One key and its value, with offsets into the YAML text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_end: usize,
    pub(super) value: Node,
}

/// How the mapping is written, which decides how a key is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MappingStyle {
    /// One key per line, indented to this column.
    Block { column: usize },
    /// Between braces; `end` is where the last entry or the opening brace ends.
    Flow { end: usize, empty: bool },
}

/// A key or value of the top-level mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The bytes of the value with its tag and anchor.
    pub(super) range: Range<usize>,
    /// Whether it is a block, which ends with its last line and has no closing character.
    pub(super) block: bool,
    pub(super) anchor: Option<Range<usize>>,
    /// The decoded text of a scalar, and its meaning.
    pub(super) scalar: Option<(String, FieldValue)>,
    line: usize,
    column: usize,
}

impl Fields {
    /// The text of a key's scalar, quoted or not; `None` for null and for lists.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.scalar(key)? {
            (_, FieldValue::Null) => None,
            (text, _) => Some(text),
        }
    }

    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.value(key)? {
            FieldValue::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    pub fn boolean(&self, key: &str) -> Option<bool> {
        match self.value(key)? {
            FieldValue::Boolean(boolean) => Some(*boolean),
            _ => None,
        }
    }

    /// The value of a key; `None` when it is missing, a list or a mapping.
    pub fn value(&self, key: &str) -> Option<&FieldValue> {
        self.scalar(key).map(|(_, value)| value)
    }

    /// Every key, in file order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn scalar(&self, key: &str) -> Option<&(String, FieldValue)> {
        self.entry(key)?.value.scalar.as_ref()
    }
}

impl Entry {
    /// Whether it has this value, however it is written.
    pub(super) fn has_value(&self, value: &FieldValue) -> bool {
        self.meaning().1 == Some(value)
    }

    /// Key and value without position and style.
    pub(super) fn meaning(&self) -> (&str, Option<&FieldValue>) {
        let value = self.value.scalar.as_ref().map(|(_, value)| value);
        (&self.key, value)
    }
}

/// Reads the YAML between the `---` lines; positions of damage are relative to it.
pub(super) fn read(yaml: &str) -> Result<Fields, FrontmatterDamage> {
    let mut reader = Reader::new(yaml);
    // The limit on key length is lifted: every key in the file must be readable.
    let options = options! {
        emit_anchor_events: true,
        simple_key_max_lookahead: MAX_DOCUMENT_BYTES,
    };
    for event in Parser::new_from_str_with_options(yaml, options) {
        let (event, span) = event.map_err(|error| scan_damage(&error))?;
        reader.take(event, span)?;
    }
    reader.fields()
}

fn scan_damage(error: &ScanError) -> FrontmatterDamage {
    damage(error.marker(), format!("broken YAML: {}", error.info()))
}

fn damage(at: &Marker, message: String) -> FrontmatterDamage {
    FrontmatterDamage {
        line: at.line(),
        column: at.col() + 1,
        message,
    }
}

struct Reader<'yaml> {
    yaml: &'yaml str,
    documents: usize,
    depth: usize,
    style: MappingStyle,
    /// The nodes of the top-level mapping: key, value, key, value …
    nodes: Vec<Node>,
    /// Whether the last event began the last node, so an anchor that follows belongs to it.
    began_node: bool,
}

impl<'yaml> Reader<'yaml> {
    fn new(yaml: &'yaml str) -> Self {
        Reader {
            yaml,
            documents: 0,
            depth: 0,
            style: MappingStyle::Block { column: 0 },
            nodes: Vec::new(),
            began_node: false,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), FrontmatterDamage> {
        let range = span.byte_range().unwrap_or_default();
        let began_node = std::mem::take(&mut self.began_node);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "more than one YAML document; keep a single list of keys";
                    return Err(damage(&span.start, message.to_owned()));
                }
            }
            Event::Anchor(..) if began_node => {
                if let Some(node) = self.nodes.last_mut() {
                    node.range.start = node.range.start.min(range.start);
                    node.anchor = Some(range);
                }
            }
            Event::MappingStart(style, ..) if self.depth == 0 => {
                self.depth = 1;
                self.style = match style {
                    StructureStyle::Block => MappingStyle::Block {
                        column: span.start.col(),
                    },
                    StructureStyle::Flow => MappingStyle::Flow {
                        end: range.end,
                        empty: true,
                    },
                };
            }
            Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) if self.depth == 0 => {
                let message = "not a list of keys; write one `key: value` per line";
                return Err(damage(&span.start, message.to_owned()));
            }
            Event::MappingStart(style, ..) | Event::SequenceStart(style, ..) => {
                self.begin(span, style == StructureStyle::Block, None);
                self.depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth = self.depth.saturating_sub(1);
                // The end of a block has no character of its own, so the parser places it at the
                // next token.
                if !range.is_empty() && self.depth > 0 {
                    self.extend(range.end);
                }
            }
            Event::Scalar(text, style, _, tag) => {
                let value = FieldValue::from_scalar(&text, style, tag.as_deref());
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                self.begin(span, block, Some((text.into_owned(), value)));
            }
            Event::Alias(_) => self.begin(span, false, None),
            _ => {}
        }
        Ok(())
    }

    /// Begins a node of the top-level mapping, or a part of its last node.
    fn begin(&mut self, span: Span, block: bool, scalar: Option<(String, FieldValue)>) {
        let mut range = span.byte_range().unwrap_or_default();
        if block && scalar.is_some() {
            range = self.block_scalar(range);
        }
        if self.depth > 1 {
            self.extend(range.end);
            return;
        }
        if let Some(tag) = span.tag_start().and_then(|tag| tag.byte_offset()) {
            range.start = range.start.min(tag);
        }
        self.began_node = true;
        self.nodes.push(Node {
            range,
            block,
            scalar,
            anchor: None,
            column: span.start.col(),
            line: span.start.line(),
        });
    }

    /// The lines of a block scalar, without the blank lines at its end, which belong to the file.
    /// The parser places a scalar of only blank lines at the next key; it gets an empty range after
    /// the previous node instead.
    fn block_scalar(&self, range: Range<usize>) -> Range<usize> {
        let source = self.yaml.get(range.clone()).unwrap_or_default();
        let length = source.trim_end_matches([' ', '\t', '\n', '\r']).len();
        if length == 0 {
            let before = self.nodes.last().map_or(0, |node| node.range.end);
            return before..before;
        }
        range.start..range.start + length
    }

    /// Extends the last top-level node at least to the end of this part.
    fn extend(&mut self, end: usize) {
        // The parser places an empty value before its key's colon.
        let colon = self
            .yaml
            .get(end..)
            .is_some_and(|rest| rest.starts_with(':'));
        if let Some(node) = self.nodes.last_mut() {
            node.range.end = node.range.end.max(end + usize::from(colon));
        }
    }

    fn fields(self) -> Result<Fields, FrontmatterDamage> {
        let mut entries = Vec::with_capacity(self.nodes.len() / 2);
        let mut keys = BTreeSet::new();
        let mut style = self.style;
        let mut nodes = self.nodes.into_iter();
        while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
            if let MappingStyle::Flow { end, empty } = &mut style {
                *end = key.range.end.max(value.range.end);
                *empty = false;
            }
            // A list or a mapping as a key is legal YAML, but callers never look one up.
            let Some((text, _)) = key.scalar else {
                continue;
            };
            if !keys.insert(text.clone()) {
                let message = format!("key `{}` appears twice; keep one of them", cut(&text, 80));
                return Err(FrontmatterDamage {
                    line: key.line,
                    column: key.column + 1,
                    message,
                });
            }
            entries.push(Entry {
                key: text,
                key_end: key.range.end,
                value,
            });
        }
        Ok(Fields { entries, style })
    }
}
