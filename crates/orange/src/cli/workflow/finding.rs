//! Shows what is wrong with a workflow, to people and programs.

use orange_engine::language::{Position, Problem};
use serde::Serialize;

use crate::cli::error::hint_paragraph;
use crate::config::{Finding, Source};
use crate::output::{Paragraph, Style, Text};

/// How far the lines below a problem's first are indented.
const INDENT: usize = 2;

/// A problem, as a program reads it.
#[derive(Serialize)]
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

/// Adds a problem as a person reads it: place, code, message, picture, hint.
pub fn push(text: &mut Text, source: &Source, finding: &Finding, width: Option<usize>) {
    let file = source.path().map(|path| path.display().to_string());
    let file = file.unwrap_or_else(|| source.name.clone());
    let place = finding.at().map(|at| format!("{file}:{at}"));
    let place = place.unwrap_or(file);
    let head = Paragraph {
        lead: &[
            (Style::Bold, &format!("{place}:")),
            (Style::Bad, &format!("error[{}]:", finding.code())),
        ],
        body: &finding.message(),
        margin: 0,
        indent: INDENT,
    };
    text.push_paragraph(&head, width);
    let inner = width.map(|width| width.saturating_sub(INDENT));
    if let Finding::Problem(problem) = finding
        && let Some(problem) = windowed(problem, inner)
    {
        for (line, style) in problem.picture().lines().zip([Style::Plain, Style::Bad]) {
            text.push(Style::Plain, &" ".repeat(INDENT));
            text.push(style, line);
            text.end_line();
        }
    }
    if let Some(hint) = finding.hint() {
        text.push_paragraph(&hint_paragraph(&hint, INDENT), width);
    }
}

/// The problem with as much of its line as fits around the mark, if the mark is in it.
fn windowed(problem: &Problem, width: Option<usize>) -> Option<Problem> {
    let line: Vec<char> = problem.excerpt.trim_end().chars().collect();
    let column = problem.at.column.saturating_sub(1);
    if line.is_empty() || column > line.len() {
        return None;
    }
    let gutter = problem.at.line.to_string().len() + " | ".len();
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(gutter).max(1));
    let mut shown = problem.clone();
    if line.len() < room {
        shown.excerpt = line.iter().collect();
        return Some(shown);
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
    shown.excerpt = part.iter().collect();
    shown.at.column -= start;
    Some(shown)
}

#[cfg(test)]
mod tests {
    use orange_engine::language::ProblemCode;

    use super::*;

    fn shown(excerpt: &str, column: usize, width: Option<usize>) -> Option<String> {
        let problem = Problem {
            code: ProblemCode::InvalidValue,
            at: Position { line: 7, column },
            message: String::new(),
            hint: None,
            excerpt: excerpt.to_owned(),
        };
        Some(windowed(&problem, width)?.picture())
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
