//! Sets frontmatter keys without touching any other byte.

use std::ops::Range;

use super::fields::{Entry, Fields, MappingStyle};
use super::frontmatter::{Frontmatter, Opening, read};
use super::lines::{apply, line_break_for, line_end};
use super::scalar::{FieldValue, text_to_yaml};

/// The document's text with these keys set and every other byte unchanged.
///
/// A block that is damaged, or that cannot be edited in place, moves to the start of the body as a
/// fenced code block: its keys no longer count, but none of its text is lost.
pub(super) fn with_fields(text: &str, opening: &Opening, fields: &[(&str, FieldValue)]) -> String {
    let fields = last_of_each(fields);
    if fields.is_empty() {
        return text.to_owned();
    }
    let block = &text[opening.start..opening.body];
    let fenced_block = match &opening.frontmatter {
        Frontmatter::Absent => String::new(),
        Frontmatter::Damaged(_) => fence(block),
        Frontmatter::Present(present) => match edit_in_place(text, opening, present, &fields) {
            Some(edited) => return edited,
            None => fence(block),
        },
    };
    let (byte_order_mark, body) = (&text[..opening.start], &text[opening.body..]);
    let line_break = line_break_for(&text[opening.start..]);
    let keys = key_lines(&fields, "", line_break);
    format!("{byte_order_mark}---{line_break}{keys}---{line_break}{fenced_block}{body}")
}

/// The fields, with only the last value of each key.
fn last_of_each<'a>(fields: &[(&'a str, FieldValue)]) -> Vec<(&'a str, FieldValue)> {
    let mut kept: Vec<(&str, FieldValue)> = Vec::new();
    for (key, value) in fields {
        match kept.iter_mut().find(|(earlier, _)| earlier == key) {
            Some((_, earlier)) => *earlier = value.clone(),
            None => kept.push((key, value.clone())),
        }
    }
    kept
}

/// One line per key.
fn key_lines(fields: &[(&str, FieldValue)], indent: &str, line_break: &str) -> String {
    let mut lines = String::new();
    for (key, value) in fields {
        lines.extend([indent, &key_and_value(key, value), line_break]);
    }
    lines
}

fn key_and_value(key: &str, value: &FieldValue) -> String {
    format!("{}: {}", text_to_yaml(key), value.to_yaml())
}

/// The block as a fenced code block, with a fence that no text in the block can close.
fn fence(block: &str) -> String {
    let ending = line_break_for(block);
    let missing = if block.ends_with('\n') { "" } else { ending };
    let runs = block.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().map_or(3, |longest| 3.max(longest + 1)));
    format!("{fence}damaged-frontmatter{ending}{block}{missing}{fence}{ending}")
}

/// The text with the edits in place, if reading it back shows exactly those edits.
fn edit_in_place(
    text: &str,
    opening: &Opening,
    present: &Fields,
    fields: &[(&str, FieldValue)],
) -> Option<String> {
    let yaml = &text[opening.yaml.clone()];
    let mut edits = Vec::new();
    let mut missing = Vec::new();
    for (key, value) in fields {
        match present.entry(key) {
            Some(entry) if entry.has_value(value) => {}
            Some(entry) => edits.push(replacement(yaml, entry, value)?),
            None => missing.push((*key, value.clone())),
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    if !missing.is_empty() {
        let line_break = line_break_for(&text[opening.start..]);
        edits.push(addition(yaml, &present.style, &missing, line_break));
    }
    let disjoint = |pair: &[(Range<usize>, String)]| pair[0].0.end <= pair[1].0.start;
    if !edits.windows(2).all(disjoint) {
        return None;
    }
    let yaml = apply(yaml, &edits);
    let edited = [
        &text[..opening.yaml.start],
        &yaml,
        &text[opening.yaml.end..],
    ]
    .concat();
    let reread = read(&edited);
    let body_kept = text[opening.body..] == edited[reread.body..];
    let Frontmatter::Present(after) = reread.frontmatter else {
        return None;
    };
    (body_kept && is_update(present, &after, fields)).then_some(edited)
}

/// Whether only the set fields differ between the keys before and after an edit.
fn is_update(before: &Fields, after: &Fields, fields: &[(&str, FieldValue)]) -> bool {
    let is_set = |entry: &&Entry| fields.iter().any(|(key, _)| *key == entry.key);
    let untouched = |entry: &&Entry| !is_set(entry);
    let others_before = before.entries.iter().filter(untouched);
    let others_after = after.entries.iter().filter(untouched);
    others_before
        .map(Entry::meaning)
        .eq(others_after.map(Entry::meaning))
        && fields
            .iter()
            .all(|(key, value)| after.entry(key).is_some_and(|entry| entry.has_value(value)))
}

/// Where and how to add keys to the mapping.
fn addition(
    yaml: &str,
    style: &MappingStyle,
    missing: &[(&str, FieldValue)],
    line_break: &str,
) -> (Range<usize>, String) {
    match style {
        MappingStyle::Block { column } => {
            let lines = key_lines(missing, &" ".repeat(*column), line_break);
            (yaml.len()..yaml.len(), lines)
        }
        MappingStyle::Flow { end, empty } => {
            let pairs: Vec<_> = missing
                .iter()
                .map(|(key, value)| key_and_value(key, value))
                .collect();
            let separator = if *empty { "" } else { ", " };
            (*end..*end, format!("{separator}{}", pairs.join(", ")))
        }
    }
}

/// The byte range and its replacement for a new value; `None` when there is no place for it.
fn replacement(yaml: &str, entry: &Entry, value: &FieldValue) -> Option<(Range<usize>, String)> {
    let Entry {
        key_end,
        value: old,
        ..
    } = entry;
    let mut new = value.to_yaml().into_owned();
    if let Some(anchor) = &old.anchor {
        // Another key may refer to the anchor.
        new = format!("{} {new}", &yaml[anchor.clone()]);
    }
    let after_key = yaml[*key_end..].trim_start();
    let colon_end = after_key
        .starts_with(':')
        .then_some(yaml.len() - after_key.len() + 1);
    if old.range.is_empty() && !old.block {
        return Some(match colon_end {
            Some(at) => (at..at, format!(" {new}")),
            None => (*key_end..*key_end, format!(": {new}")),
        });
    }
    if !old.block {
        return Some((old.range.clone(), new));
    }
    // A block starts anywhere after the colon, with `|` or on a later line. Its first column may be
    // too far left for a scalar, but the key's own line always works.
    let start = colon_end?;
    let rest = &yaml[start..line_end(yaml, start)];
    let comment = if rest.trim_start().starts_with('#') {
        rest.trim_end()
    } else {
        ""
    };
    let end = old.range.end.max(line_end(yaml, start));
    Some((start..end, format!(" {new}{comment}")))
}
