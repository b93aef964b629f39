//! Shows what is wrong with a workflow, to people and programs.

use orange_config::{Finding, Source};
use orange_engine::language::Position;
use serde::Serialize;

use super::excerpt;
use crate::cli::hint_paragraph;
use crate::output::{Paragraph, Style, Text};

/// How far the lines below a problem's first are indented.
pub const INDENT: usize = 2;

/// A problem, as a program reads it.
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

/// Adds a problem as a person reads it: place, code, message, picture, hint.
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
        excerpt::push(text, problem.at, &problem.excerpt, INDENT, width);
    }
    if let Some(hint) = finding.hint() {
        text.push_paragraph(&hint_paragraph(&hint, INDENT), width);
    }
}

/// What the first line of a finding begins with.
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
