//! Replaces, adds and archives sections without touching the others.

use super::demote::{demote_headings, quote};
use super::lines::{apply, line_break, line_break_for, lines, without_blank_ends};
use super::{Document, Section, SectionHash, SectionName};

/// See [`Document::with_section`].
pub(super) fn with_section(document: &Document, name: &SectionName, content: &str) -> Document {
    let content = without_blank_ends(content);
    let old = document.section(name).map(|old| document.content(old));
    if old.map(without_blank_ends) == Some(content) {
        return document.clone();
    }
    let plain = place_section(document, name, content, "");
    if has_section_content(&plain, name, content) {
        return plain;
    }
    // Either the content breaks out of its section, or an open block at the end of the document
    // swallows the new section. Demoting does not help against a `---` in the content that closes
    // an open frontmatter; quoting does.
    for content in [demote_headings(content), quote(content)] {
        for closing in closings(document) {
            let closed = place_section(document, name, &content, &closing);
            if has_section_content(&closed, name, &content) {
                return closed;
            }
        }
    }
    plain
}

/// The document with the content in its section. If the section is added, `closing` comes before
/// it.
fn place_section(
    document: &Document,
    name: &SectionName,
    content: &str,
    closing: &str,
) -> Document {
    let text = document.text();
    let ending = line_break_for(text);
    let ending_if = |condition: bool| if condition { ending } else { "" };
    let mut new = String::new();
    let range = if let Some(section) = document.section(name) {
        new.push_str(ending_if(!text[section.heading()].ends_with('\n')));
        section.content()
    } else {
        let last = lines(text).last().map_or("", |(_, line)| line);
        new.push_str(ending_if(
            text.len() > document.opening.start && !last.ends_with('\n'),
        ));
        new.extend([closing, ending_if(!closing.is_empty())]);
        let separated = document.body().is_empty() || last.trim().is_empty();
        new.push_str(ending_if(!separated || !closing.is_empty()));
        new.extend([&name.to_string(), ending]);
        text.len()..text.len()
    };
    if !content.is_empty() {
        new.extend([ending, content, ending]);
    }
    new.push_str(ending_if(range.end < text.len()));
    Document::read(apply(text, &[(range, new)]))
}

/// Whether the section now has exactly this content.
///
/// If so, the other sections are unchanged: content that changed another section would have ended
/// its own early or swallowed what follows.
fn has_section_content(document: &Document, name: &SectionName, content: &str) -> bool {
    let hash = document.section(name).map(Section::hash);
    hash == Some(SectionHash::of(content))
}

/// Lines to try: one of them closes the block that is open at the end of a document, if any.
fn closings(document: &Document) -> impl Iterator<Item = String> {
    let longest_run = |mark: char| {
        let runs = document.text().split(move |character| character != mark);
        mark.to_string()
            .repeat(runs.map(str::len).max().unwrap_or(0).max(3))
    };
    let fences = ['`', '~'].map(longest_run);
    let html = [
        "-->",
        "?>",
        "]]>",
        ">",
        "</pre>",
        "</script>",
        "</style>",
        "</textarea>",
    ];
    let closings = fences.into_iter().chain(html.map(str::to_owned));
    std::iter::once(String::new()).chain(closings)
}

/// See [`Document::with_section_archived`].
pub(super) fn with_section_archived(document: &Document, name: &SectionName) -> Document {
    let text = document.text();
    let edits: Vec<_> = document
        .sections()
        .iter()
        .filter(|section| section.name() == name)
        .map(|section| {
            let archived =
                SectionName::from_title(&format!("{} (archived)", section.name().title()));
            let ending = line_break(&text[section.heading()]);
            (section.heading(), format!("{archived}{ending}"))
        })
        .collect();
    Document::read(apply(text, &edits))
}
