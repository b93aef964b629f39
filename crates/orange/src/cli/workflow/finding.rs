//! Prints the findings of `check`, as text and as JSON.

use std::fmt::Write as _;

use orange_check::check::{Finding, FindingCode, Severity, Story, StoryStep};
use orange_config::Source;
use orange_engine::language::Position;
use orange_engine::names::Status;
use serde::Serialize;

use super::problem::{Head, INDENT, push_excerpt};
use crate::cli::hint_paragraph;
use crate::output::{Paragraph, Style, Text};

/// A finding, in JSON.
#[derive(Serialize, schemars::JsonSchema)]
pub struct FindingBody<'a> {
    code: FindingCode,
    severity: Severity,
    at: Option<Position>,
    message: &'a str,
    hint: &'a str,
    excerpt: Option<String>,
    story: Option<&'a Story>,
}

impl<'a> FindingBody<'a> {
    /// The finding, with the source line it refers to.
    pub fn new(finding: &'a Finding, source: &str) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity,
            at: finding.at,
            message: &finding.message,
            hint: &finding.hint,
            excerpt: finding.at.map(|at| at.line_of(source)),
            story: finding.story.as_ref(),
        }
    }
}

pub fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Warn,
        Severity::Note => Style::Plain,
    }
}

/// Adds a finding as text: place, code, message, excerpt, story, hint.
pub fn push(
    text: &mut Text,
    source: &Source,
    lines: &str,
    finding: &Finding,
    width: Option<usize>,
) {
    let head = Head {
        source,
        at: finding.at,
        label: &finding.severity.to_string(),
        style: style(finding.severity),
        code: finding.code.as_str(),
    };
    head.push(text, &finding.message, width);
    // A note is only its message; there is nothing to do about it.
    if finding.severity == Severity::Note {
        return;
    }
    if let Some(at) = finding.at {
        push_excerpt(text, at, &at.line_of(lines), INDENT, width);
    }
    if let Some(story) = &finding.story {
        push_story(text, story, width);
    }
    text.push_paragraph(&hint_paragraph(&finding.hint, INDENT), width);
}

fn push_story(text: &mut Text, story: &Story, width: Option<usize>) {
    text.push(Style::Plain, &" ".repeat(INDENT));
    text.push(Style::Plain, "how it happens:");
    text.end_line();
    let digits = story.steps.len().to_string().len();
    let mut previous_status = None;
    for (number, step) in story.steps.iter().enumerate() {
        if story.repeats_from == Some(number) {
            text.push(Style::Plain, &" ".repeat(2 * INDENT));
            text.push(Style::Plain, "and then repeatedly:");
            text.end_line();
        }
        let lead = format!("{:>digits$}.", number + 1);
        let margin = 2 * INDENT;
        let paragraph = Paragraph {
            lead: &[(Style::Plain, &lead)],
            body: &sentence(step, previous_status),
            margin,
            indent: margin + lead.len() + 1,
        };
        text.push_paragraph(&paragraph, width);
        previous_status = Some(&step.status);
    }
}

/// What happens, the task's status after it, and the effects.
fn sentence(step: &StoryStep, previous_status: Option<&Status>) -> String {
    let mut sentence = step.what.clone();
    match previous_status {
        // The first step names its own status.
        None => {}
        Some(previous_status) if *previous_status == step.status => {
            let _ = write!(sentence, " → still `{previous_status}`");
        }
        Some(_) => {
            let _ = write!(sentence, " → `{}`", step.status);
        }
    }
    if !step.effects.is_empty() {
        let _ = write!(sentence, " ({})", step.effects.join(", "));
    }
    sentence
}
