//! What a script expects, and whether it holds.

use std::fmt;

use orange_engine::Workflow;
use orange_engine::document::SectionName;
use orange_engine::language::nearest;
use orange_engine::names::{FieldName, Status};
use orange_engine::refusal::Blocker;
use orange_engine::role::Role;

use super::answer::{Answer, Outcome};
use super::dialogue::Dialogue;
use super::place::{Place, fields};

/// Every kind of expectation, for the error message.
pub const KINDS: &str = "status NAME, refused [CODE OR WORDS], alive ROLE, no agent alive, \
                         workspace, no workspace, FIELD NUMBER, fresh ## SECTION, effects NAME, …, \
                         no effects";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    Status(Status),
    /// The last line was refused, with this code or with these words in the message.
    Refused(String),
    Alive(Vec<Role>),
    NoAgentAlive,
    /// Whether the task holds a workspace.
    Workspace(bool),
    Field(FieldName, i64),
    /// A section has changed since the status was entered.
    Fresh(SectionName),
    /// The last line has exactly these effects, in this order.
    Effects(Vec<String>),
}

impl Expectation {
    /// Parses the text after `expect`.
    pub fn read(workflow: &Workflow, text: &str) -> Result<Expectation, String> {
        let text = text.replace('`', "");
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let rest = rest.trim();
        match (first.to_lowercase().as_str(), rest.to_lowercase().as_str()) {
            ("status", _) => {
                let states = || workflow.states.iter().map(|state| state.name.as_str());
                let known = states().find(|name| name.eq_ignore_ascii_case(rest));
                known
                    .map(|name| Expectation::Status(Status::new(name)))
                    .ok_or_else(|| unknown("status", rest, states()))
            }
            ("refused", _) => Ok(Expectation::Refused(rest.to_owned())),
            ("alive", names) if !names.is_empty() => list(names)
                .map(|name| agent(workflow, name))
                .collect::<Result<_, _>>()
                .map(Expectation::Alive),
            ("no", "agent alive") => Ok(Expectation::NoAgentAlive),
            ("workspace", "") => Ok(Expectation::Workspace(true)),
            ("no", "workspace") => Ok(Expectation::Workspace(false)),
            ("no", "effects") => Ok(Expectation::Effects(Vec::new())),
            ("effects", names) if !names.is_empty() => Ok(Expectation::Effects(
                list(names).map(str::to_owned).collect(),
            )),
            ("fresh", _) => {
                let sections = workflow.gated_sections();
                let name = SectionName::parse(rest).map_err(|error| error.to_string())?;
                if sections.contains(&name) {
                    return Ok(Expectation::Fresh(name));
                }
                Err(format!("no gate of this workflow reads `{name}`"))
            }
            (field, value) => {
                let known: Vec<FieldName> = fields(workflow).collect();
                let names = known.iter().map(FieldName::as_str);
                match (known.iter().find(|it| it.as_str() == field), value.parse()) {
                    (Some(field), Ok(value)) => Ok(Expectation::Field(field.clone(), value)),
                    (None, Ok(_)) => Err(unknown("field", field, names)),
                    _ => Err(format!("you can expect: {KINDS}")),
                }
            }
        }
    }

    /// Checks the expectation; the error says what is true instead.
    pub fn check(&self, dialogue: &Dialogue<'_>) -> Result<(), String> {
        let answer = dialogue.past().last().map(|past| &past.answer);
        match self {
            Expectation::Refused(words) => judge_refusal(words, answer),
            Expectation::Effects(names) => judge_effects(names, answer),
            other => match dialogue.place() {
                None => Err("no task has begun".to_owned()),
                Some(place) => other.judge_place(&place, dialogue),
            },
        }
    }

    fn judge_place(&self, place: &Place, dialogue: &Dialogue<'_>) -> Result<(), String> {
        let alive = || match place.alive.as_slice() {
            [] => "no agent is alive".to_owned(),
            roles => format!("alive: {}", joined(roles)),
        };
        match self {
            Expectation::Status(status) => ensure(place.status == *status, || {
                format!("the task is in `{}`", place.status)
            }),
            Expectation::Alive(roles) => {
                ensure(roles.iter().all(|role| place.alive.contains(role)), alive)
            }
            Expectation::NoAgentAlive => ensure(place.alive.is_empty(), alive),
            Expectation::Workspace(held) => ensure(place.workspace == *held, || {
                let article = if place.workspace { "a" } else { "no" };
                format!("the task holds {article} workspace")
            }),
            Expectation::Field(field, value) => {
                let actual = dialogue.value(field).unwrap_or_default();
                ensure(actual == *value, || format!("{field} is {actual}"))
            }
            Expectation::Fresh(name) => {
                let found = place.sections.iter().find(|it| it.section == *name);
                match found {
                    Some(section) => ensure(section.fresh, || {
                        format!(
                            "`{name}` has not changed since `{}` was entered",
                            place.status
                        )
                    }),
                    None => Err(format!("no one has written `{name}`")),
                }
            }
            Expectation::Refused(_) | Expectation::Effects(_) => Ok(()),
        }
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn judge_refusal(words: &str, answer: Option<&Answer>) -> Result<(), String> {
    match answer {
        Some(Answer::Refused(refusal)) => {
            let mut codes: Vec<&str> = refusal.missing.iter().map(Blocker::code).collect();
            codes.dedup();
            let message = refusal.to_string().replace('`', "").to_lowercase();
            let is_match = codes.contains(&words) || message.contains(&words.to_lowercase());
            let codes = codes.join(", ");
            ensure(is_match, || {
                format!("the step was refused with {codes}: {refusal}")
            })
        }
        Some(Answer::Nothing) => ensure(words.is_empty(), || "the step had no effect".to_owned()),
        Some(Answer::Decided(_)) => Err("the step was not refused".to_owned()),
        None => Err("nothing has happened yet".to_owned()),
    }
}

fn judge_effects(names: &[String], answer: Option<&Answer>) -> Result<(), String> {
    let effects = match answer {
        Some(Answer::Decided(decided)) => decided.effects.as_slice(),
        _ => &[],
    };
    let effects = effects.iter();
    let started =
        effects.filter(|effect| matches!(effect.outcome, Outcome::Done | Outcome::Failed));
    let actual: Vec<&str> = started.map(|effect| effect.effect).collect();
    ensure(actual == names, || match actual.as_slice() {
        [] => "there were no effects".to_owned(),
        actual => format!("the effects were {}", actual.join(", ")),
    })
}

fn agent(workflow: &Workflow, name: &str) -> Result<Role, String> {
    let mut all = vec![Role::Worker, Role::Reviewer];
    all.extend(workflow.roles.iter().cloned());
    let name = name.trim_start_matches("the ");
    let known = all.iter().find(|role| role.as_str() == name);
    let names = all.iter().map(Role::as_str);
    known.cloned().ok_or_else(|| unknown("agent", name, names))
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let suggestion = nearest(name, names.iter().copied());
    let suggestion = suggestion.map(|suggestion| format!("; did you mean `{suggestion}`?"));
    let suggestion = suggestion.unwrap_or_else(|| format!(", only {}", names.join(", ")));
    format!("the workflow has no {what} `{name}`{suggestion}")
}

fn list(names: &str) -> impl Iterator<Item = &str> {
    let names = names.split([',', ' ']).map(str::trim);
    names.filter(|name| !matches!(*name, "" | "and" | "the"))
}

fn joined(roles: &[Role]) -> String {
    let roles: Vec<&str> = roles.iter().map(Role::as_str).collect();
    roles.join(", ")
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Status(status) => write!(formatter, "status `{status}`"),
            Expectation::Refused(words) if words.is_empty() => formatter.write_str("a refusal"),
            Expectation::Refused(words) => write!(formatter, "a refusal with `{words}`"),
            Expectation::Alive(roles) => write!(formatter, "alive: {}", joined(roles)),
            Expectation::NoAgentAlive => formatter.write_str("no agent alive"),
            Expectation::Workspace(true) => formatter.write_str("a workspace"),
            Expectation::Workspace(false) => formatter.write_str("no workspace"),
            Expectation::Field(field, value) => write!(formatter, "{field} {value}"),
            Expectation::Fresh(section) => write!(formatter, "`{section}` fresh"),
            Expectation::Effects(names) if names.is_empty() => formatter.write_str("no effects"),
            Expectation::Effects(names) => write!(formatter, "the effects {}", names.join(", ")),
        }
    }
}
