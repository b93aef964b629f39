//! A simulated walk, as text.

use orange_check::explore::Occurrence;
use orange_engine::language::workflow::{Kind, Trigger};

use super::answer::{Answer, Decision, Outcome, SimulatedEffect, StatusChange};
use super::menu::{Choice, Group};
use super::place::{Counter, Place, SectionState};
use super::script::{Event, Failure};
use crate::cli::push_error;
use crate::output::{Paragraph, Style, Text};

/// The indentation of a line's result.
const INDENT: usize = 2;

/// The width of the labels in front of values.
const LABEL: usize = 10;

/// The width of the column of typable lines in the help.
const HELP_COLUMN_WIDTH: usize = 24;

/// A text for a terminal of some width.
pub struct View {
    text: Text,
    width: Option<usize>,
}

impl View {
    pub fn new(width: Option<usize>) -> View {
        View {
            text: Text::new(),
            width,
        }
    }

    pub fn into_text(self) -> Text {
        self.text
    }

    pub fn gap(&mut self) {
        self.text.end_line();
    }

    pub fn sentence(&mut self, sentence: &str) {
        self.paragraph(&[], sentence, 0, 0);
    }

    /// Adds a line that the user can type, such as one of a script.
    pub fn push_line(&mut self, line: &str) {
        self.text.push(Style::Plain, line);
        self.text.end_line();
    }

    /// Adds why a typed line was not understood, and similar lines that would be.
    pub fn unknown(&mut self, reason: &str, nearest: &[String]) {
        let lead = [(Style::Bad, "not understood:")];
        self.paragraph(&lead, reason, 0, INDENT);
        for line in nearest {
            self.paragraph(&[(Style::Hint, "try:")], line, INDENT, INDENT + 5);
        }
    }

    /// Adds something that the user can type, and what it does.
    pub fn entry(&mut self, what: &str, does: &str) {
        let what = format!("{what:HELP_COLUMN_WIDTH$}");
        self.paragraph(
            &[(Style::Hint, &what)],
            does,
            INDENT,
            INDENT + HELP_COLUMN_WIDTH + 1,
        );
    }

    pub fn place(&mut self, place: &Place) {
        let kind = place.kind.map_or("", kind);
        let status = format!("`{}` ({kind})", place.status);
        self.labelled("status", &status);
        let counters: Vec<String> = place.counters.iter().map(counter).collect();
        self.labelled_unless_empty("counters", &counters.join(", "));
        self.labelled_unless_empty("TASK.md", &sections(&place.sections));
        let alive = place.alive.iter().map(|role| format!("{role} alive"));
        let missing = place.missing.iter();
        let missing = missing.map(|role| format!("{role} expected here, but missing"));
        let agents: Vec<String> = alive.chain(missing).collect();
        let agents = agents.join("; ");
        self.labelled("agents", if agents.is_empty() { "none" } else { &agents });
        let workspace = if place.workspace { "held" } else { "none" };
        self.labelled("workspace", workspace);
        self.labelled_unless_empty("attention", &place.attention.join("; "));
    }

    /// Adds the next steps by number: the usual ones of each group, or all.
    pub fn menu(&mut self, choices: &[Choice], shows_all: bool) {
        let mut group = None;
        let mut shown = 0;
        let mut hidden = 0;
        for (index, choice) in choices.iter().enumerate() {
            if group != Some(choice.group) {
                group = Some(choice.group);
                shown = 0;
                self.paragraph(&[(Style::Bold, heading(choice.group))], "", 0, 0);
            }
            shown += 1;
            if !shows_all && shown > default_line_count(choice.group) {
                hidden += 1;
                continue;
            }
            let number = format!("{:3} ", index + 1);
            let line = format!("{}{}", choice.line, target_text(choice));
            self.paragraph(&[(Style::Plain, &number)], &line, 0, 7);
        }
        if hidden > 0 {
            self.sentence(&format!("Enter shows {hidden} more."));
        }
    }

    /// Adds a line and its result.
    pub fn step(&mut self, line: &str, answer: &Answer, note: Option<&str>) {
        self.paragraph(&[(Style::Bold, ">")], line, 0, INDENT);
        if let Some(note) = note {
            self.indented(&format!("({note})"));
        }
        self.answer(answer);
    }

    pub fn answer(&mut self, answer: &Answer) {
        match answer {
            Answer::Decided(decision) => self.decision(decision),
            Answer::Refused(refusal) => {
                let message = refusal.to_string();
                push_error(&mut self.text, &message, &refusal.hints, self.width, INDENT);
            }
            Answer::Nothing => self.indented("this step has no effect"),
        }
    }

    /// Adds the result of one line of a script.
    pub fn event(&mut self, line: usize, event: &Event) {
        match event {
            Event::Step {
                step, answer, note, ..
            } => {
                self.gap();
                self.step(step, answer, note.as_deref());
            }
            Event::Met(expected) => {
                let lead = [(Style::Good, "as expected:")];
                self.paragraph(&lead, expected, INDENT, INDENT * 2);
            }
            Event::Failed(failure) => self.failure(line, failure, INDENT),
            Event::Undone(Some(step)) => {
                self.gap();
                self.paragraph(&[(Style::Bold, "> undo:")], step, 0, INDENT);
            }
            Event::Undone(None) => self.sentence("> undo: nothing to undo"),
            Event::Restarted => {
                self.gap();
                self.paragraph(&[(Style::Bold, "> restart")], "", 0, 0);
            }
        }
    }

    pub fn failure(&mut self, line: usize, failure: &Failure, margin: usize) {
        let lead = format!("line {line}: expected");
        let body = format!("{}; {}", failure.expected, failure.found);
        self.paragraph(&[(Style::Bad, &lead)], &body, margin, margin + INDENT);
    }

    fn decision(&mut self, decision: &Decision) {
        for entered in &decision.entered {
            self.entered(entered);
        }
        for change in &decision.fields {
            self.indented(&format!(
                "{} {} -> {}",
                change.field, change.from, change.to
            ));
        }
        for remark in &decision.remarks {
            self.indented(remark);
        }
        let widest = decision.effects.iter().map(|effect| effect.effect.len());
        let widest = widest.max().unwrap_or_default();
        for (index, effect) in decision.effects.iter().enumerate() {
            let lead = if index == 0 { "would run" } else { "" };
            let name = format!("{lead:LABEL$} {:widest$}", effect.effect);
            let indent = INDENT + name.len() + 1;
            let style = match effect.outcome {
                Outcome::Done => Style::Plain,
                _ => Style::Bad,
            };
            self.paragraph(&[(style, &name)], &effect_text(effect), INDENT, indent);
        }
        let is_bare = decision.entered.is_empty() && decision.fields.is_empty();
        if is_bare && decision.remarks.is_empty() && decision.effects.is_empty() {
            self.indented("recorded; nothing else changes");
        }
    }

    fn entered(&mut self, entered: &StatusChange) {
        let to = &entered.to;
        let line = match (&entered.from, entered.trigger) {
            (Some(from), None | Some(Trigger::Request)) => format!("`{from}` -> `{to}`"),
            (Some(from), Some(trigger)) => {
                format!("`{from}` -> `{to}` (trigger {})", trigger.as_str())
            }
            (None, _) => format!("begins in `{to}`"),
        };
        self.paragraph(&[(Style::Good, &line)], "", INDENT, INDENT);
        for reason in &entered.because {
            self.paragraph(&[], &format!("because {reason}"), INDENT * 2, INDENT * 3);
        }
    }

    fn labelled_unless_empty(&mut self, label: &str, body: &str) {
        if !body.is_empty() {
            self.labelled(label, body);
        }
    }

    fn labelled(&mut self, label: &str, body: &str) {
        let label = format!("{label:LABEL$}");
        self.paragraph(&[(Style::Bold, &label)], body, 0, LABEL + 1);
    }

    fn indented(&mut self, body: &str) {
        self.paragraph(&[], body, INDENT, INDENT * 2);
    }

    fn paragraph(&mut self, lead: &[(Style, &str)], body: &str, margin: usize, indent: usize) {
        let paragraph = Paragraph {
            lead,
            body,
            margin,
            indent,
        };
        self.text.push_paragraph(&paragraph, self.width);
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Queued => "queued: waits for a slot",
        Kind::Agent => "agent: an agent works",
        Kind::Human => "human: waits for you",
        Kind::Waiting => "waiting: waits for something else",
        Kind::Terminal => "terminal: the end",
    }
}

fn counter(counter: &Counter) -> String {
    let limits = counter.limits.iter();
    let limits: Vec<String> = limits
        .map(|limit| format!("{} {}", limit.name, limit.value))
        .collect();
    let Counter { field, value, .. } = counter;
    if limits.is_empty() {
        return format!("{field} {value}");
    }
    format!("{field} {value} ({})", limits.join(", "))
}

/// The fresh sections, each with the roles that submitted it, then the names of the others.
fn sections(sections: &[SectionState]) -> String {
    let (fresh, older): (Vec<&SectionState>, Vec<&SectionState>) =
        sections.iter().partition(|it| it.fresh);
    let mut bodies: Vec<String> = fresh.into_iter().map(fresh_section).collect();
    let older: Vec<String> = older.iter().map(|it| format!("`{}`", it.section)).collect();
    if !older.is_empty() {
        bodies.push(format!(
            "not fresh (unchanged in this status): {}",
            older.join(", ")
        ));
    }
    bodies.join("; ")
}

fn fresh_section(section: &SectionState) -> String {
    let name = &section.section;
    let from = section.vouched_by.iter().map(|role| format!("the {role}"));
    let from: Vec<String> = from.collect();
    if from.is_empty() {
        return format!("`{name}` fresh");
    }
    format!("`{name}` fresh, from {}", from.join(" and "))
}

fn heading(group: Group) -> &'static str {
    match group {
        Group::Human => "The human",
        Group::Agents => "The agents",
        Group::World => "The engine and the world",
    }
}

/// How many lines of a group are shown, so that the decision above stays on the screen.
fn default_line_count(group: Group) -> usize {
    match group {
        Group::Human | Group::Agents => 3,
        Group::World => 2,
    }
}

/// Where a choice leads, if its line does not say so.
fn target_text(choice: &Choice) -> String {
    match &choice.step.occurrence {
        Occurrence::Request { .. } | Occurrence::Create { .. } => String::new(),
        _ if choice.moves => format!(" -> `{}`", choice.to),
        Occurrence::Die { .. } | Occurrence::Report { .. } => " -> no change".to_owned(),
        _ => String::new(),
    }
}

fn effect_text(effect: &SimulatedEffect) -> String {
    match effect.outcome {
        Outcome::Done => effect.does.clone(),
        Outcome::Failed => format!("FAILS ({})", effect.does),
        Outcome::NotStarted => format!("not started ({})", effect.does),
        Outcome::Cancelled => format!("cancelled ({})", effect.does),
    }
}
