//! Turns the driver's answers into styled lines.

use orange_check::graph::terminal;
use orange_driver::{Explanation, Outlook, TaskDetails};
use orange_engine::Workflow;
use orange_engine::event::{Event, Fact};
use orange_engine::history::{describe, is_notable};
use orange_engine::role::Role;
use ratatui::text::{Line, Span};

use crate::output::{local_time, with_local_times};
use crate::tui::fit::{cut, fold};
use crate::tui::theme::{Theme, Tone};

fn styled(text: impl Into<String>, tone: Tone, theme: Theme) -> Line<'static> {
    Line::from(Span::styled(text.into(), theme.style(tone)))
}

/// TASK.md without its front matter, with headings, quotes and code in different styles.
pub(super) fn task(text: &str, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut in_code = false;
    for line in body(text).lines() {
        let line = cut(line, usize::MAX);
        let is_fence = line.trim_start().starts_with("```");
        let tone = match &line {
            _ if is_fence || in_code => Tone::Place,
            line if line.starts_with('#') => Tone::Strong,
            line if line.trim_start().starts_with('>') => Tone::Dim,
            _ => Tone::Plain,
        };
        let folded = match line.trim() {
            "" => vec![String::new()],
            // Code is not folded.
            _ if in_code || is_fence => vec![line],
            _ => fold(&line, width),
        };
        in_code ^= is_fence;
        lines.extend(folded.into_iter().map(|it| styled(it, tone, theme)));
    }
    if lines.iter().all(|line| line.width() == 0) {
        let message = "TASK.md is still empty; e opens it in your editor";
        return vec![styled(message, Tone::Dim, theme)];
    }
    lines
}

fn body(text: &str) -> &str {
    let below = text.strip_prefix("---\n");
    let below = below.and_then(|rest| rest.split_once("\n---\n"));
    below.map_or(text, |(_, body)| body.trim_start_matches('\n'))
}

pub(super) fn timeline(events: &[Event], theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for event in events.iter().rev().filter(|it| is_notable(&it.fact)) {
        let tone = match &event.fact {
            Fact::StatusChanged(_) | Fact::TaskCreated(_) => Tone::Strong,
            Fact::AttentionRaised { .. } | Fact::EffectFailed { .. } => Tone::Bad,
            _ => Tone::Plain,
        };
        let at = local_time(event.at);
        // Of `2026-01-31 09:30:00`, show only `01-31 09:30`.
        let at = at.get(5..16).unwrap_or(&at);
        let text = describe(&event.fact, events);
        let room = width.saturating_sub(at.len() + 2);
        for (number, line) in fold(&text, room).into_iter().enumerate() {
            let prefix = match number {
                0 => format!("{at}  "),
                _ => " ".repeat(at.len() + 2),
            };
            lines.push(Line::from(vec![
                Span::styled(prefix, theme.style(Tone::Dim)),
                Span::styled(cut(&line, usize::MAX), theme.style(tone)),
            ]));
        }
    }
    lines
}

/// Everything known about where a task is and where it can go.
pub(super) struct WorkflowView<'a> {
    pub details: &'a TaskDetails,
    pub why: Option<&'a Explanation>,
    pub outlook: &'a Outlook,
    pub workflow: &'a Workflow,
}

/// Separates two statuses of the usual path.
const NEXT: &str = " ==> ";

/// The usual path from the first status to the last, with the current one highlighted.
fn usual_path(line: &str, status: &str, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, part) in line.split(NEXT).enumerate() {
        let name = part.trim();
        let indent = " ".repeat(part.len() - part.trim_start().len());
        let prefix = if number == 0 { indent } else { NEXT.to_owned() };
        let tone = if name == status {
            Tone::Chosen
        } else {
            Tone::Plain
        };
        spans.push(Span::styled(prefix, theme.style(Tone::Dim)));
        spans.push(Span::styled(cut(name, usize::MAX), theme.style(tone)));
    }
    Line::from(spans)
}

/// Why the task is where it is, where it can go, and the workflow with its status highlighted.
pub(super) fn workflow(view: &WorkflowView<'_>, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let task = &view.details.stored.task;
    let mut lines = Vec::new();
    let mut push = |text: &str, tone: Tone, indent: usize| {
        for line in fold(&with_local_times(text), width.saturating_sub(indent)) {
            let line = cut(&line, usize::MAX);
            lines.push(styled(format!("{}{line}", " ".repeat(indent)), tone, theme));
        }
    };
    if let Some(why) = view.why {
        for (number, line) in why.to_string().lines().enumerate() {
            push(
                line,
                if number == 0 {
                    Tone::Strong
                } else {
                    Tone::Plain
                },
                0,
            );
        }
    }
    for (name, message) in view.details.family() {
        push(&format!("{name}: {message}"), Tone::Plain, 2);
    }
    for sandbox in &view.details.sandboxes {
        push(&format!("sandbox of the {sandbox}"), Tone::Plain, 2);
    }
    for wait in &view.details.waits {
        push(&format!("waits: {wait}"), Tone::Warn, 2);
    }
    for way in &view.outlook.ways {
        let to = way.to.as_ref().map_or("back", |to| to.as_str());
        let who: Vec<&str> = way.by.iter().map(Role::as_str).collect();
        let mut message = format!("→ {to}");
        if let Some(when) = &way.happens_when {
            message.push_str(", when ");
            message.push_str(when);
        }
        if !who.is_empty() {
            message.push_str(", by ");
            message.push_str(&who.join(" or "));
        }
        let is_open = way.missing.is_empty();
        push(&message, if is_open { Tone::Good } else { Tone::Plain }, 2);
        for missing in &way.missing {
            push(&format!("not yet: {missing}"), Tone::Warn, 4);
        }
    }
    for unknown in &view.outlook.unknown {
        push(&format!("unknown: {unknown}"), Tone::Warn, 2);
    }
    push(" ", Tone::Plain, 0);
    let status = task.status.as_str();
    for line in terminal::draw(view.workflow, width).lines() {
        if line.contains(NEXT) && !line.contains('|') {
            lines.push(usual_path(line, status, theme));
            continue;
        }
        let node = line.trim_start_matches(['-', '>', ' ']);
        let node = node.strip_prefix("o ").or_else(|| node.strip_prefix("x "));
        let name = node.and_then(|node| node.split_whitespace().next());
        let tone = if name == Some(status) {
            Tone::Chosen
        } else {
            Tone::Plain
        };
        lines.push(styled(cut(line, usize::MAX), tone, theme));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_status_is_highlighted_on_the_usual_path() {
        let line = usual_path("  new ==> here ==> there", "here", Theme::Plain);
        assert_eq!(line.to_string(), "  new ==> here ==> there");
        let chosen = Theme::Plain.style(Tone::Chosen);
        let lit: Vec<_> = line.spans.iter().filter(|it| it.style == chosen).collect();
        assert_eq!(lit.len(), 1);
        assert_eq!(lit[0].content, "here");
    }
}
