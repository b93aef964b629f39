//! The user's marks and comments in the diff of a task.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::diff::{DiffLine, File};

/// How many lines a comment quotes, and how many characters of each.
const MAX_QUOTED_LINES: usize = 20;
const MAX_QUOTED_CHARS: usize = 300;

/// What the user has done in the diff of a task. Comments are kept until they are sent, marks until
/// the task is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Review {
    /// The files that the user has viewed, by path, each with the digest of its diff.
    pub viewed: BTreeMap<String, String>,
    pub comments: Vec<Comment>,
}

/// A comment on lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    #[serde(flatten)]
    pub place: CommentPlace,
    pub text: String,
}

/// The lines that a comment is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentPlace {
    pub path: String,
    /// The number of the first line and of the last one.
    pub numbers: (u32, u32),
    /// Whether all lines were removed, so that the numbers are those of the old file.
    pub is_old: bool,
    /// How many lines of the diff the comment covers.
    pub count: usize,
    /// The first of these lines with their signs, cut to the limits above.
    pub quote: Vec<String>,
}

impl Review {
    pub fn is_empty(&self) -> bool {
        self.viewed.is_empty() && self.comments.is_empty()
    }

    pub fn is_viewed(&self, file: &File) -> bool {
        self.viewed.get(&file.path) == Some(&file.digest)
    }

    /// Marks a file as viewed, or removes the mark.
    pub fn toggle_viewed(&mut self, file: &File) {
        if self.is_viewed(file) {
            self.viewed.remove(&file.path);
        } else {
            let digest = file.digest.clone();
            self.viewed.insert(file.path.clone(), digest);
        }
    }

    /// The text of the comment on these lines.
    pub fn comment_on(&self, place: &CommentPlace) -> Option<&str> {
        let mut comments = self.comments.iter();
        let found = comments.find(|it| it.place == *place);
        found.map(|it| it.text.as_str())
    }

    /// Sets the comment on these lines; a blank text removes it.
    pub fn set_comment(&mut self, place: &CommentPlace, text: &str) {
        let text = text.trim_end();
        let at = self.comments.iter().position(|it| it.place == *place);
        match (at, text.trim().is_empty()) {
            (Some(at), true) => {
                self.comments.remove(at);
            }
            (Some(at), false) => text.clone_into(&mut self.comments[at].text),
            (None, true) => {}
            (None, false) => self.comments.push(Comment {
                place: place.clone(),
                text: text.to_owned(),
            }),
        }
    }
}

impl CommentPlace {
    /// The place of these lines of a file; `None` if none of them is part of the file.
    pub fn new(file: &File, first: usize, last: usize) -> Option<CommentPlace> {
        let lines = file.lines.get(first..=last)?;
        let is_old = |it: &&DiffLine| it.kind.sign() == Some("-");
        let numbers = |is_wanted: &dyn Fn(&&DiffLine) -> bool| {
            let numbers = lines.iter().filter(is_wanted).filter_map(|it| it.number);
            let numbers: Vec<u32> = numbers.collect();
            Some((*numbers.first()?, *numbers.last()?))
        };
        let new = numbers(&|it| !is_old(it));
        Some(CommentPlace {
            path: file.path.clone(),
            numbers: new.or_else(|| numbers(&is_old))?,
            is_old: new.is_none(),
            count: lines.len(),
            quote: lines
                .iter()
                .take(MAX_QUOTED_LINES)
                .map(quote_line)
                .collect(),
        })
    }

    /// The index of the first of these lines in the file as it is now; `None` if they are no longer
    /// there.
    pub fn find(&self, file: &File) -> Option<usize> {
        let last = file.lines.len().checked_sub(self.count.max(1))?;
        let is_here = |at: &usize| {
            let mut pairs = file.lines[*at..].iter().zip(&self.quote);
            pairs.all(|(line, quote)| is_quoted(line, quote))
        };
        let number = |at: &usize| file.lines[*at].number.unwrap_or(0);
        let found = (0..=last).filter(is_here);
        found.min_by_key(|at| number(at).abs_diff(self.numbers.0))
    }

    /// The numbers, such as `line 3` or `lines 3-5 before the change`.
    pub fn lines(&self) -> String {
        let lines = match self.numbers {
            (first, last) if first == last => format!("line {first}"),
            (first, last) => format!("lines {first}-{last}"),
        };
        let when = if self.is_old {
            " before the change"
        } else {
            ""
        };
        lines + when
    }
}

/// A line with its sign, cut to the limit.
fn quote_line(line: &DiffLine) -> String {
    let text = line.text.chars().take(MAX_QUOTED_CHARS);
    line.kind
        .sign()
        .into_iter()
        .flat_map(str::chars)
        .chain(text)
        .collect()
}

fn is_quoted(line: &DiffLine, quote: &str) -> bool {
    let rest = quote.strip_prefix(line.kind.sign().unwrap_or(""));
    rest.is_some_and(|rest| {
        line.text.starts_with(rest)
            && (line.text.len() == rest.len() || rest.chars().count() == MAX_QUOTED_CHARS)
    })
}

/// The request that is sent: the user's message, then every comment with its place and the lines.
///
/// Agents wrote the lines and the names of the files. So each line is quoted: it cannot become a
/// heading, end a code block or look like the user's own words. Neither the lines nor the names
/// contain control characters.
pub fn message(text: Option<&str>, comments: &[Comment]) -> Option<String> {
    if comments.is_empty() {
        return text.map(str::to_owned);
    }
    let mut message = text.map_or_else(String::new, |text| format!("{text}\n\n"));
    message += "Comments on the diff; quoted lines (`>`) are from the files:\n";
    for Comment { place, text } in comments {
        let name = place.path.replace('`', "'");
        let _infallible = write!(message, "\nIn `{name}`, {}:\n", place.lines());
        for line in &place.quote {
            let _infallible = writeln!(message, "> {line}");
        }
        let more = place.count.saturating_sub(place.quote.len());
        if more > 0 {
            let _infallible = writeln!(message, "> ({more} more)");
        }
        message.push_str(text);
        message.push('\n');
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::diff::LineKind;

    fn file(lines: &[(LineKind, &str, u32)]) -> File {
        let line = |(kind, text, number): &(LineKind, &str, u32)| DiffLine {
            kind: *kind,
            text: (*text).to_owned(),
            number: Some(*number),
        };
        File {
            path: String::from("src/a.rs"),
            size: String::new(),
            digest: String::from("1"),
            lines: lines.iter().map(line).collect(),
        }
    }

    #[test]
    fn comments_are_sent_with_their_place_and_quoted_lines() {
        let file = file(&[
            (LineKind::Context, "## Verdict", 6),
            (LineKind::Removed, "```", 7),
            (LineKind::Added, "VERDICT: PASS", 7),
        ]);
        let comment = |first, last, text: &str| Comment {
            place: CommentPlace::new(&file, first, last).unwrap(),
            text: text.to_owned(),
        };
        let comments = [comment(0, 2, "Why?\nReally?"), comment(1, 1, "Keep it.")];
        let expected = "Almost.\n\nComments on the diff; quoted lines (`>`) are from the files:\n\n\
                        In `src/a.rs`, lines 6-7:\n>  ## Verdict\n> -```\n> +VERDICT: PASS\n\
                        Why?\nReally?\n\nIn `src/a.rs`, line 7 before the change:\n> -```\n\
                        Keep it.\n";
        assert_eq!(message(Some("Almost."), &comments).unwrap(), expected);
        assert!(message(None, &comments).unwrap().starts_with("Comments on"));
        assert_eq!(message(Some("x"), &[]).as_deref(), Some("x"));
        assert_eq!(message(None, &[]), None);
    }

    #[test]
    fn a_quote_is_bounded() {
        let long = "x".repeat(10_000);
        let lines: Vec<_> = (0..50)
            .map(|it| (LineKind::Added, long.as_str(), it))
            .collect();
        let place = CommentPlace::new(&file(&lines), 0, 49).unwrap();
        let comment = Comment {
            place,
            text: String::from("long"),
        };
        let sent = message(None, &[comment]).unwrap();
        assert!(sent.len() < 10_000, "{}", sent.len());
        assert!(sent.contains("> (30 more)\n"), "{sent}");
    }

    #[test]
    fn commented_lines_are_found_where_they_are_now() {
        let before = file(&[(LineKind::Added, "same", 5), (LineKind::Added, "b", 6)]);
        let place = CommentPlace::new(&before, 0, 0).unwrap();
        let after = file(&[
            (LineKind::Added, "same", 90),
            (LineKind::Context, "same", 7),
            (LineKind::Added, "same", 8),
        ]);
        assert_eq!(
            place.find(&after),
            Some(2),
            "the nearest with the same sign"
        );
        assert_eq!(place.find(&file(&[(LineKind::Added, "b", 5)])), None);
        assert_eq!(place.find(&file(&[])), None);
    }

    #[test]
    fn a_changed_file_is_no_longer_viewed() {
        let mut file = file(&[]);
        let mut review = Review::default();
        review.toggle_viewed(&file);
        assert!(review.is_viewed(&file));
        file.digest = String::from("2");
        assert!(!review.is_viewed(&file));
        review.toggle_viewed(&file);
        assert!(review.is_viewed(&file));
        review.toggle_viewed(&file);
        assert!(review.is_empty());
    }
}
