//! What a typed line means here.

use orange_engine::explore::Step;
use orange_engine::role::Role;

use super::dialogue::{Dialogue, EMPTIED};
use super::request;
use super::words::{nearest_lines, words};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Step(Box<Step>),
    Empty,
    Undo,
    Restart,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub reason: String,
    pub nearest: Vec<String>,
}

/// Reads a line that must be complete, as scripts have them.
pub fn exactly(dialogue: &Dialogue<'_>, typed: &str) -> Result<Action, Unknown> {
    let typed = typed.split(" -> ").next().unwrap_or(typed).trim();
    match words(typed).join(" ").as_str() {
        "undo" => return Ok(Action::Undo),
        "restart" => return Ok(Action::Restart),
        line if line == words(EMPTIED).join(" ") => return Ok(Action::Empty),
        _ => {}
    }
    match without_failure(typed) {
        None => step(dialogue, typed).map(|step| Action::Step(Box::new(step))),
        Some((base, label)) => {
            let step = step(dialogue, base)?;
            failing(dialogue, &step, &label).map(|step| Action::Step(Box::new(step)))
        }
    }
}

/// Reads a line as a person types it: complete, or the beginning of one the menu shows.
pub fn leniently(dialogue: &Dialogue<'_>, typed: &str) -> Result<Action, Unknown> {
    let unknown = match exactly(dialogue, typed) {
        Err(unknown) => unknown,
        known => return known,
    };
    let beginning = words(typed).join(" ");
    let choices = dialogue.choices();
    let meant = choices
        .iter()
        .filter(|choice| words(&choice.line).join(" ").starts_with(&beginning));
    match meant.collect::<Vec<_>>().as_slice() {
        [only] => Ok(Action::Step(Box::new(only.step.clone()))),
        [] => Err(unknown),
        several => Err(Unknown {
            reason: "several lines begin like this".to_owned(),
            nearest: several.iter().map(|choice| choice.line.clone()).collect(),
        }),
    }
}

/// Splits off `; EFFECT fails`, if a line ends so.
fn without_failure(typed: &str) -> Option<(&str, String)> {
    let (base, tail) = typed.rsplit_once(';')?;
    match words(tail).as_slice() {
        [label, fails] if fails == "fails" => Some((base, label.clone())),
        _ => None,
    }
}

fn failing(dialogue: &Dialogue<'_>, step: &Step, label: &str) -> Result<Step, Unknown> {
    let effects = dialogue.effects_of(step);
    let found = effects.iter().enumerate().find(|(_, name)| **name == label);
    if let Some((index, name)) = found {
        return Ok(step.failing(index, name));
    }
    let nearest = effects.iter().map(|name| format!("{step}; `{name}` fails"));
    Err(Unknown {
        reason: format!("`{label}` does not follow from it"),
        nearest: nearest.collect(),
    })
}

fn step(dialogue: &Dialogue<'_>, typed: &str) -> Result<Step, Unknown> {
    let wanted = words(typed);
    let tries = dialogue.tries();
    if let Some(step) = tries.iter().find(|step| words(&step.to_string()) == wanted) {
        return Ok(step.clone());
    }
    let place = dialogue.place();
    let free = place.and_then(|place| request::read(dialogue.workflow, &place.status, &wanted));
    let reason = match (free, absent(dialogue, &wanted)) {
        (Some(Ok(step)), _) => return Ok(step),
        (Some(Err(reason)), _) => reason,
        (None, Some(role)) => format!("no {role} is alive here"),
        _ if typed.parse::<usize>().is_ok() => {
            "numbers change from step to step; write the words of the menu".to_owned()
        }
        _ if tries.is_empty() => "the task has ended".to_owned(),
        _ if dialogue.place().is_none() => "no task can begin like this".to_owned(),
        _ => "nothing like this can happen here".to_owned(),
    };
    let mut lines: Vec<String> = Vec::new();
    let menu = dialogue.choices().into_iter().map(|choice| choice.line);
    for line in menu.chain(tries.iter().map(ToString::to_string)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    Err(Unknown {
        reason,
        nearest: nearest_lines(typed, &lines),
    })
}

/// The agent that a line lets do something while it is not there.
fn absent(dialogue: &Dialogue<'_>, wanted: &[String]) -> Option<Role> {
    let (who, does) = (wanted.first()?, wanted.get(1)?);
    if !matches!(does.as_str(), "dies" | "reports" | "goes") {
        return None;
    }
    let role = request::role(dialogue.workflow, who).filter(Role::is_agent)?;
    let is_there = dialogue.place()?.alive.contains(&role);
    (!is_there).then_some(role)
}
