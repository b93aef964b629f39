//! Splits text into lines the way Markdown and YAML do.

use std::ops::Range;

/// Every line with its offset, including its `\n`, `\r\n` or lone `\r`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = text.get(offset..).filter(|rest| !rest.is_empty())?;
        let length = match rest.find(LINE_BREAKS) {
            None => rest.len(),
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
        };
        let start = offset;
        offset += length;
        Some((start, &rest[..length]))
    })
}

/// The characters that end a line.
pub(super) const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// Where the line that holds `offset` starts.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind(LINE_BREAKS).map_or(0, |at| at + 1)
}

/// Where the line that holds `offset` ends, before its line break.
pub(super) fn line_end(text: &str, offset: usize) -> usize {
    text[offset..]
        .find(LINE_BREAKS)
        .map_or(text.len(), |at| offset + at)
}

/// The line break at the end of a line, empty at the end of a text.
pub(super) fn line_break(line: &str) -> &str {
    &line[line.trim_end_matches(LINE_BREAKS).len()..]
}

/// The line break to insert into a text: that of its first line, else `\n`.
///
/// Never a lone `\r`, which the Markdown parser does not recognize in code blocks.
pub(super) fn line_break_for(text: &str) -> &'static str {
    match lines(text).next() {
        Some((_, line)) if line.ends_with("\r\n") => "\r\n",
        _ => "\n",
    }
}

/// The text without blank lines at its start and without white space at its end.
pub(super) fn without_blank_ends(text: &str) -> &str {
    lines(text)
        .find(|(_, line)| !line.trim().is_empty())
        .map_or("", |(start, _)| text[start..].trim_end())
}

/// Line and column of an offset. Both count from 1; columns count characters.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let start = line_start(text, offset);
    let line = lines(&text[..start]).count() + 1;
    (line, text[start..offset].chars().count() + 1)
}

/// The line of an offset, from 1.
pub(crate) fn line_number(text: &str, offset: usize) -> usize {
    position(text, offset).0
}

/// The text with each range replaced; the edits must be sorted and disjoint.
pub(super) fn apply(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut cursor = 0;
    for (range, replacement) in edits {
        edited.push_str(&text[cursor..range.start]);
        edited.push_str(replacement);
        cursor = range.end;
    }
    edited.push_str(&text[cursor..]);
    edited
}

/// At most `limit` characters of a text, for messages.
pub(super) fn cut(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}
