//! Prints problems in a workflow, as text and as JSON.

use orange_config::{Finding, Source};
use orange_engine::language::Position;
use serde::Serialize;
use serde_json::json;

use crate::cli::answer::words::count_noun;
use crate::cli::{Error, Exit, hint_paragraph};
use crate::output::{Paragraph, Style, Text};

/// The indentation of every line below the first of a problem.
pub const INDENT: usize = 2;

/// A problem, in JSON.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ProblemBody {
    code: &'static str,
    at: Option<Position>,
    message: String,
    hint: Option<String>,
    excerpt: Option<String>,
}

impl From<&Finding> for ProblemBody {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code(),
            at: finding.at(),
            message: finding.message(),
            hint: finding.hint(),
            excerpt: match finding {
                Finding::Problem(problem) => Some(problem.excerpt.clone()),
                _ => None,
            },
        }
    }
}

/// The error for a workflow that does not load.
pub fn invalid(verb: &str, name: &str, findings: &[Finding]) -> Error {
    let problems: Vec<_> = findings.iter().map(ProblemBody::from).collect();
    let count = count_noun(findings.len(), "problem");
    let message = format!("cannot {verb} `{name}`: it has {count}");
    Error::new(Exit::Refused, "workflow-invalid", message)
        .hint(format!("run `orange workflow check {name}` to see them"))
        .details(json!({ "name": name, "problems": problems }))
}

/// Adds a problem as text: place, code, message, excerpt, hint.
pub fn push(text: &mut Text, source: &Source, finding: &Finding, width: Option<usize>) {
    let head = Head {
        source,
        at: finding.at(),
        label: "error",
        style: Style::Bad,
        code: finding.code(),
    };
    head.push(text, &finding.message(), width);
    if let Finding::Problem(problem) = finding {
        push_excerpt(text, problem.at, &problem.excerpt, INDENT, width);
    }
    if let Some(hint) = finding.hint() {
        text.push_paragraph(&hint_paragraph(&hint, INDENT), width);
    }
}

/// The start of a finding's first line.
pub struct Head<'a> {
    pub source: &'a Source,
    pub at: Option<Position>,
    pub label: &'a str,
    pub style: Style,
    pub code: &'a str,
}

impl Head<'_> {
    pub fn push(&self, text: &mut Text, message: &str, width: Option<usize>) {
        let file = self.source.path().map(|path| path.display().to_string());
        let file = file.unwrap_or_else(|| self.source.name.clone());
        let place = self.at.map(|at| format!("{file}:{at}"));
        let place = place.unwrap_or(file);
        let head = Paragraph {
            lead: &[
                (Style::Bold, &format!("{place}:")),
                (self.style, &format!("{}[{}]:", self.label, self.code)),
            ],
            body: message,
            margin: 0,
            indent: INDENT,
        };
        text.push_paragraph(&head, width);
    }
}

/// Adds as much of the line as fits, with a mark below the column; adds nothing if the column is
/// outside the line.
pub fn push_excerpt(
    text: &mut Text,
    at: Position,
    line: &str,
    indent: usize,
    width: Option<usize>,
) {
    let inner = width.map(|width| width.saturating_sub(indent));
    let Some(picture) = excerpt_around(at, line, inner) else {
        return;
    };
    for (line, style) in picture.lines().zip([Style::Plain, Style::Bad]) {
        text.push(Style::Plain, &" ".repeat(indent));
        text.push(style, line);
        text.end_line();
    }
}

/// The part of the line around the mark; `None` if the mark is outside the line.
fn excerpt_around(mut at: Position, line: &str, width: Option<usize>) -> Option<String> {
    let line: Vec<char> = line.trim_end().chars().collect();
    let column = at.column.saturating_sub(1);
    if line.is_empty() || column > line.len() {
        return None;
    }
    let gutter = at.line.to_string().len() + " | ".len();
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(gutter).max(1));
    if line.len() < room {
        return Some(at.render_excerpt(&line.iter().collect::<String>()));
    }
    let start = if column + 1 < room {
        0
    } else {
        column - room / 2
    };
    let end = line.len().min(start + room);
    let mut part = line.get(start..end)?.to_vec();
    if let Some(first) = part.first_mut().filter(|_| start > 0) {
        *first = '…';
    }
    if let Some(last) = part.last_mut().filter(|_| end < line.len()) {
        *last = '…';
    }
    at.column -= start;
    Some(at.render_excerpt(&part.iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(excerpt: &str, column: usize, width: Option<usize>) -> Option<String> {
        excerpt_around(Position { line: 7, column }, excerpt, width)
    }

    #[test]
    fn a_line_that_fits_is_shown_whole() {
        let whole = Some("7 | ab: cd\n  |     ^".to_owned());
        assert_eq!(shown("ab: cd", 5, None), whole);
        assert_eq!(shown("ab: cd  ", 5, Some(11)), whole);
        let at_the_end = Some("7 | ab: cd\n  |       ^".to_owned());
        assert_eq!(shown("ab: cd", 7, Some(11)), at_the_end);
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let line = "0123456789abcdefghij";
        let start = Some("7 | 0123456…\n  |   ^".to_owned());
        assert_eq!(shown(line, 3, Some(12)), start);
        let middle = Some("7 | …789abc…\n  |     ^".to_owned());
        assert_eq!(shown(line, 11, Some(12)), middle);
        let end = Some("7 | …hij\n  |     ^".to_owned());
        assert_eq!(shown(line, 21, Some(12)), end);
    }

    #[test]
    fn no_terminal_is_too_narrow_and_no_mark_stands_alone() {
        for width in 0..30 {
            for column in 0..22 {
                assert!(shown("0123456789abcdefghij", column, Some(width)).is_some());
            }
        }
        assert_eq!(shown("", 1, None), None);
        assert_eq!(shown("short", 300, None), None);
    }
}
