//! Keeps injected text from adding or hiding sections.

use super::lines::{apply, lines};
use super::sections::{Heading, headings};

/// The text with its headings two levels deeper, so that below a `## Context` it
/// neither adds a section nor, before a blank line, hides one that follows.
///
/// Text for which that cannot be had by moving headings, because it leaves a code
/// block or an HTML block open, comes back as a quote: every line behind `> `.
pub fn demote_headings(context: &str) -> String {
    let shifted = shifted(context);
    if is_contained(&shifted) {
        shifted
    } else {
        quoted(context)
    }
}

/// The text as a block quote, which keeps everything it opens inside.
pub(super) fn quoted(text: &str) -> String {
    lines(text).flat_map(|(_, line)| ["> ", line]).collect()
}

fn shifted(context: &str) -> String {
    let edits: Vec<_> = headings(context)
        .into_iter()
        .map(|heading| {
            let source = &context[heading.range.clone()];
            let deeper = "#".repeat(usize::from(heading.level + 2).min(6));
            let line = if heading.hashes {
                let indent = source.len() - source.trim_start().len();
                let level = usize::from(heading.level);
                format!("{}{deeper}{}", &source[..indent], &source[indent + level..])
            } else {
                underlined(source, &deeper)
            };
            (heading.range, line)
        })
        .collect();
    apply(context, &edits)
}

/// A heading with an underline as one with hashes on a single line.
fn underlined(source: &str, hashes: &str) -> String {
    let mut words: Vec<&str> = lines(source).map(|(_, line)| line.trim()).collect();
    words.pop();
    let title = words.join(" ");
    // Without a closing sequence of our own, hashes at its end would be taken for one.
    let closing = if title.ends_with('#') {
        format!(" {hashes}")
    } else {
        String::new()
    };
    format!(
        "{hashes} {title}{closing}{}",
        super::lines::line_break(source)
    )
}

/// Whether the text, between two headings, leaves both and adds no section.
fn is_contained(text: &str) -> bool {
    let before = format!("## Context\n\n{text}\n\n");
    let placed = format!("{before}## Next\n");
    let is_section = |heading: &Heading| heading.level <= 2;
    let found = headings(&placed).into_iter().filter(is_section);
    found
        .map(|heading| heading.range.start)
        .eq([0, before.len()])
}
