//! Parses a typed line in the current situation.

use std::cmp::Reverse;

use orange_check::explore::Step;
use orange_engine::language::nearest;
use orange_engine::role::Role;

use super::dialogue::{Dialogue, EMPTY_TASK_FILE_LINE};
use super::request;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Step(Box<Step>),
    /// Empties TASK.md.
    Empty,
    Undo,
    Restart,
}

/// Why a line was not understood, and similar lines that would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLine {
    pub reason: String,
    pub nearest: Vec<String>,
}

/// Parses a complete line, as in a script.
pub fn parse_exact(dialogue: &Dialogue<'_>, typed: &str) -> Result<Action, UnknownLine> {
    let typed = typed.split(" -> ").next().unwrap_or(typed).trim();
    match words(typed).join(" ").as_str() {
        "undo" => return Ok(Action::Undo),
        "restart" => return Ok(Action::Restart),
        line if line == words(EMPTY_TASK_FILE_LINE).join(" ") => return Ok(Action::Empty),
        _ => {}
    }
    match split_failure(typed) {
        None => step(dialogue, typed).map(|step| Action::Step(Box::new(step))),
        Some((base, label)) => {
            let step = step(dialogue, base)?;
            with_failure(dialogue, &step, &label).map(|step| Action::Step(Box::new(step)))
        }
    }
}

/// Parses a line as typed by the user: complete, or the beginning of a menu line.
pub fn parse_lenient(dialogue: &Dialogue<'_>, typed: &str) -> Result<Action, UnknownLine> {
    let unknown = match parse_exact(dialogue, typed) {
        Err(unknown) => unknown,
        parsed => return parsed,
    };
    let beginning = words(typed).join(" ");
    let choices = dialogue.choices();
    let matching = choices
        .iter()
        .filter(|choice| words(&choice.line).join(" ").starts_with(&beginning));
    match matching.collect::<Vec<_>>().as_slice() {
        [only] => Ok(Action::Step(Box::new(only.step.clone()))),
        [] => Err(unknown),
        several => Err(UnknownLine {
            reason: "several lines begin like this".to_owned(),
            nearest: several.iter().map(|choice| choice.line.clone()).collect(),
        }),
    }
}

/// Splits off a trailing `; EFFECT fails`.
fn split_failure(typed: &str) -> Option<(&str, String)> {
    let (base, tail) = typed.rsplit_once(';')?;
    match words(tail).as_slice() {
        [label, fails] if fails == "fails" => Some((base, label.clone())),
        _ => None,
    }
}

fn with_failure(dialogue: &Dialogue<'_>, step: &Step, label: &str) -> Result<Step, UnknownLine> {
    let effects = dialogue.effects_of(step);
    let found = effects.iter().enumerate().find(|(_, name)| **name == label);
    if let Some((index, name)) = found {
        return Ok(step.with_failure(index, name));
    }
    let nearest = effects.iter().map(|name| format!("{step}; `{name}` fails"));
    Err(UnknownLine {
        reason: format!("this step has no effect `{label}`"),
        nearest: nearest.collect(),
    })
}

fn step(dialogue: &Dialogue<'_>, typed: &str) -> Result<Step, UnknownLine> {
    let expected = words(typed);
    let candidates = dialogue.possible_steps();
    if let Some(step) = candidates
        .iter()
        .find(|step| words(&step.to_string()) == expected)
    {
        return Ok(step.clone());
    }
    let place = dialogue.place();
    let free_request =
        place.and_then(|place| request::read(dialogue.workflow, &place.status, &expected));
    let reason = match (free_request, missing_agent(dialogue, &expected)) {
        (Some(Ok(step)), _) => return Ok(step),
        (Some(Err(reason)), _) => reason,
        (None, Some(role)) => format!("no {role} is alive here"),
        _ if typed.parse::<usize>().is_ok() => {
            "the numbers differ from step to step; write the line of the menu".to_owned()
        }
        _ if candidates.is_empty() => "the task is finished".to_owned(),
        _ if dialogue.place().is_none() => "a task cannot begin with this line".to_owned(),
        _ => "this cannot happen here".to_owned(),
    };
    let mut lines: Vec<String> = Vec::new();
    let menu = dialogue.choices().into_iter().map(|choice| choice.line);
    for line in menu.chain(candidates.iter().map(ToString::to_string)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    Err(UnknownLine {
        reason,
        nearest: nearest_lines(typed, &lines),
    })
}

/// The agent that should act in this line, if it is not running.
fn missing_agent(dialogue: &Dialogue<'_>, expected: &[String]) -> Option<Role> {
    let (who, does) = (expected.first()?, expected.get(1)?);
    if !matches!(does.as_str(), "dies" | "reports" | "loses") {
        return None;
    }
    let role = request::role(dialogue.workflow, who).filter(Role::is_agent)?;
    let is_alive = dialogue.place()?.alive.contains(&role);
    (!is_alive).then_some(role)
}

/// How many similar lines are suggested for one that was not understood.
const MAX_SUGGESTIONS: usize = 3;

/// The words of a line in lower case, without backticks, commas and articles, because users leave
/// these out.
pub fn words(line: &str) -> Vec<String> {
    line.replace(['`', ','], " ")
        .to_lowercase()
        .split_whitespace()
        .filter(|word| !matches!(*word, "the" | "a" | "an"))
        .map(str::to_owned)
        .collect()
}

/// The lines that share the most words with a typed one, best first.
pub fn nearest_lines(typed: &str, lines: &[String]) -> Vec<String> {
    let typed = words(typed);
    let score = |line: &str| {
        let mut line = words(line);
        let mut score = 0;
        for word in &typed {
            let near = nearest(word, line.iter().map(String::as_str)).map(str::to_owned);
            let at = near.and_then(|near| line.iter().position(|other| *other == near));
            // Each word of the line matches at most once.
            if let Some(at) = at {
                score += if line.swap_remove(at) == *word { 2 } else { 1 };
            }
        }
        score
    };
    let mut scored: Vec<_> = lines.iter().map(|line| (score(line), line)).collect();
    scored.sort_by_key(|(score, line)| (Reverse(*score), words(line).len().abs_diff(typed.len())));
    let best = scored.into_iter().map(|(_, line)| line.clone());
    best.take(MAX_SUGGESTIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_words_may_be_left_out() {
        let printed = words("the human requests `working`, with `## Plan`");
        for typed in [
            "human requests working with ## plan",
            "  The HUMAN requests  working, with ## Plan ",
            "a human requests the `working`, with `## Plan`",
        ] {
            assert_eq!(words(typed), printed, "{typed}");
        }
        assert_ne!(words("human requests working"), printed);
    }

    #[test]
    fn the_nearest_lines_share_the_most_words() {
        let lines = [
            "the worker dies",
            "the worker requests `open`",
            "the human requests `open`",
            "the human requests `closed`",
        ]
        .map(str::to_owned);
        let near = nearest_lines("human requests opem", &lines);
        assert_eq!(near.first(), Some(&lines[2]));
        assert_eq!(near.len(), 3);
        assert_eq!(nearest_lines("banana", &lines[..1]), lines[..1]);
    }
}
