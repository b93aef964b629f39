//! Keeps injected text from adding or hiding sections.

use super::lines::{apply, lines};
use super::sections::{Heading, headings};

/// Moves the text's headings two levels down. Placed below a `## Context` heading and followed by a
/// blank line, the text then neither adds a section nor hides the next one.
///
/// Text that leaves a code block or an HTML block open cannot be contained that way, so it is
/// returned as a quote: every line behind `> `.
pub fn demote_headings(context: &str) -> String {
    let shifted = shift_headings(context);
    if is_contained(&shifted) {
        shifted
    } else {
        quote(context)
    }
}

/// The text as a block quote, which contains everything it opens.
pub(super) fn quote(text: &str) -> String {
    lines(text).flat_map(|(_, line)| ["> ", line]).collect()
}

fn shift_headings(context: &str) -> String {
    let edits: Vec<_> = headings(context)
        .into_iter()
        .map(|heading| {
            let source = &context[heading.range.clone()];
            let deeper = "#".repeat(usize::from(heading.level + 2).min(6));
            let line = if heading.has_hashes {
                let indent = source.len() - source.trim_start().len();
                let level = usize::from(heading.level);
                format!("{}{deeper}{}", &source[..indent], &source[indent + level..])
            } else {
                rewrite_underlined(source, &deeper)
            };
            (heading.range, line)
        })
        .collect();
    apply(context, &edits)
}

/// Rewrites an underlined heading as one with hashes on a single line.
fn rewrite_underlined(source: &str, hashes: &str) -> String {
    let mut words: Vec<&str> = lines(source).map(|(_, line)| line.trim()).collect();
    words.pop();
    let title = words.join(" ");
    // Without a closing sequence, the hashes at the end of the title would be taken for one.
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

/// Whether the text, placed between two headings, keeps both and adds no section.
fn is_contained(text: &str) -> bool {
    let before = format!("## Context\n\n{text}\n\n");
    let placed = format!("{before}## Next\n");
    let is_section = |heading: &Heading| heading.level <= 2;
    let found = headings(&placed).into_iter().filter(is_section);
    found
        .map(|heading| heading.range.start)
        .eq([0, before.len()])
}
