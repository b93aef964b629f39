//! Scripts: steps and expectations, one per line.

use orange_engine::Workflow;
use orange_engine::names::Status;
use serde::Serialize;

use super::answer::Answer;
use super::dialogue::Dialogue;
use super::expectation::Expectation;
use super::parse::{self, Action, UnknownLine};

/// A line of a script that is neither empty nor a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
}

#[derive(Clone, Debug)]
pub struct LineEvent {
    pub line: usize,
    pub event: Event,
}

#[derive(Clone, Debug)]
pub enum Event {
    Step {
        step: String,
        answer: Answer,
        note: Option<String>,
        status: Option<Status>,
    },
    /// An expectation that holds.
    Met(String),
    Failed(Failure),
    /// The line that was undone, if there was one.
    Undone(Option<String>),
    Restarted,
}

/// An expectation that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Failure {
    /// What was expected.
    pub expected: String,
    /// What is true instead.
    pub found: String,
}

/// The result of a script, up to the first line that could not be read.
pub struct Walk<'w> {
    pub events: Vec<LineEvent>,
    pub dialogue: Dialogue<'w>,
    /// The number and text of the line that could not be read, and the reason.
    pub unread_line: Option<(usize, String, UnknownLine)>,
}

/// The lines of a script that are neither empty nor comments.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    let lines = text.lines().enumerate().map(|(index, line)| Line {
        number: index + 1,
        text: without_comment(line).trim(),
    });
    lines.filter(|line| !line.text.is_empty()).collect()
}

/// Removes the comment. A `#` begins a comment at the start of a line or after a space, unless
/// another `#` follows: then it is the heading of a section.
fn without_comment(line: &str) -> &str {
    let mut previous = ' ';
    for (index, character) in line.char_indices() {
        let after = line.get(index + 1..).unwrap_or_default();
        let is_single = previous.is_whitespace() && !after.starts_with('#');
        if character == '#' && is_single {
            return line.get(..index).unwrap_or_default();
        }
        previous = character;
    }
    line
}

/// Runs a script through a workflow.
pub fn walk<'w>(workflow: &'w Workflow, text: &str) -> Walk<'w> {
    let mut walk = Walk {
        events: Vec::new(),
        dialogue: Dialogue::new(workflow),
        unread_line: None,
    };
    let lines = lines(text);
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).map(|next| next.text);
        let events = match follow(&mut walk.dialogue, line.text, next) {
            Ok(events) => events,
            Err(unknown) => {
                walk.unread_line = Some((line.number, line.text.to_owned(), unknown));
                break;
            }
        };
        let line = line.number;
        let events = events.into_iter().map(|event| LineEvent { line, event });
        walk.events.extend(events);
    }
    walk
}

fn follow(
    dialogue: &mut Dialogue<'_>,
    line: &str,
    next: Option<&str>,
) -> Result<Vec<Event>, UnknownLine> {
    if let Some(expected) = expectation(line) {
        let expected = Expectation::read(dialogue.workflow, expected);
        let expected = expected.map_err(|reason| UnknownLine {
            reason,
            nearest: Vec::new(),
        })?;
        return Ok(vec![match expected.check(dialogue) {
            Ok(()) => Event::Met(expected.to_string()),
            Err(found) => Event::Failed(Failure {
                expected: expected.to_string(),
                found,
            }),
        }]);
    }
    let past = match parse::parse_exact(dialogue, line)? {
        Action::Undo => return Ok(vec![Event::Undone(dialogue.undo())]),
        Action::Restart => {
            dialogue.restart();
            return Ok(vec![Event::Restarted]);
        }
        Action::Empty => dialogue.empty_task_file(),
        Action::Step(step) => dialogue.take(&step),
    };
    let (step, answer, note) = (past.line.clone(), past.answer.clone(), past.note.clone());
    let refusal = refusal_text(&answer);
    let mut events = vec![Event::Step {
        step,
        answer,
        note,
        status: dialogue.place().map(|place| place.status),
    }];
    let is_expected = next
        .and_then(expectation)
        .is_some_and(|expected| expected.to_lowercase().starts_with("refused"));
    if let Some(found) = refusal.filter(|_| !is_expected) {
        events.push(Event::Failed(Failure {
            expected: "no refusal".to_owned(),
            found: format!("{found} (if you expect this, add the line `expect refused` below)"),
        }));
    }
    Ok(events)
}

/// The text after `expect`, if the line begins with it.
fn expectation(line: &str) -> Option<&str> {
    let (first, rest) = line.split_once(char::is_whitespace)?;
    first.eq_ignore_ascii_case("expect").then(|| rest.trim())
}

fn refusal_text(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Decided(_) => None,
        Answer::Refused(refusal) => Some(format!("the step was refused with {}", refusal.code())),
        Answer::Nothing => Some("the step had no effect".to_owned()),
    }
}

impl Walk<'_> {
    /// Every expectation that did not hold, with its line number.
    pub fn failures(&self) -> impl Iterator<Item = (usize, &Failure)> {
        self.events
            .iter()
            .filter_map(|line_event| match &line_event.event {
                Event::Failed(failure) => Some((line_event.line, failure)),
                _ => None,
            })
    }
}

/// The lines so far, as a script that expects the results they had.
pub fn to_script(dialogue: &Dialogue<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for past in dialogue.past() {
        lines.push(past.line.clone());
        match &past.answer {
            Answer::Refused(refusal) => lines.push(format!("expect refused {}", refusal.code())),
            Answer::Nothing => lines.push("expect refused".to_owned()),
            Answer::Decided(_) => {}
        }
    }
    lines.extend(
        dialogue
            .place()
            .map(|place| format!("expect status {}", place.status)),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_distinguished_from_headings() {
        let text = "# all of it\n\n  one ## Plan # rest\n`## Plan`\nfresh ## Plan\ntwo#three\n#\n";
        let found: Vec<_> = lines(text)
            .into_iter()
            .map(|line| (line.number, line.text))
            .collect();
        let expected = [
            (3, "one ## Plan"),
            (4, "`## Plan`"),
            (5, "fresh ## Plan"),
            (6, "two#three"),
        ];
        assert_eq!(found, expected);
    }
}
