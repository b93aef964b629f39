//! What is different, in words.

use std::fmt;

use super::change::{Change, ParameterChange, Who};
use super::deaths::Fate;
use super::hook_step::shown;
use super::steps::Step;
use super::way_wording::event;
use super::words::{all, duration, excerpt, the};
use crate::language::workflow::{Kind, Target, Timeout};
use crate::names::Status;
use crate::role::Role;

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::StateAdded { kind, expects } => {
                write!(formatter, "a new state of kind {}", kind_word(*kind))?;
                if expects.is_empty() {
                    return Ok(());
                }
                write!(formatter, " that expects {}", roles(expects))
            }
            Change::StateRemoved => formatter.write_str("the state is gone"),
            Change::KindChanged { new, old } => {
                let (new, old) = (kind_word(*new), kind_word(*old));
                write!(formatter, "is of kind {new}, was {old}")
            }
            Change::ExpectsChanged { new, old } => {
                write!(formatter, "expects {}, was {}", roles(new), roles(old))
            }
            Change::RespawnAdded { role, step } => {
                write!(
                    formatter,
                    "{} can now be brought back{}",
                    the(role),
                    step.details()
                )
            }
            Change::RespawnRemoved { role } => {
                write!(formatter, "{} can no longer be brought back", the(role))
            }
            Change::RespawnChanged { role, parameter } => {
                write!(formatter, "{} is brought back with {parameter}", the(role))
            }
            Change::RespawnOrderChanged { new, old } => {
                let (new, old) = (in_order(new), in_order(old));
                write!(formatter, "brings back {new}; was {old}")
            }
            Change::TimeoutChanged { new, old } => timeout(new.as_ref(), old.as_ref(), formatter),
            Change::Opened { .. } => formatter.write_str("is there now"),
            Change::Closed => formatter.write_str("is no longer there"),
            Change::Wider { values, opening } => {
                write!(formatter, "now also if {values}")?;
                match opening {
                    Some(new) => write!(formatter, "{}{}", new.conditions(), new.then()),
                    None => Ok(()),
                }
            }
            Change::Narrower { values } => write!(formatter, "no longer if {values}"),
            Change::GuardChanged => {
                formatter.write_str("open for other values, too many cases to tell")
            }
            Change::NeedAdded { need } => write!(formatter, "now needs {need}"),
            Change::NeedRemoved { need } => write!(formatter, "no longer needs {need}"),
            Change::NeedChanged { new, old } => write!(formatter, "needs {new}, was {old}"),
            Change::ConfirmChanged { new, old } => confirm(new.as_ref(), old.as_ref(), formatter),
            change => fmt_step(change, formatter),
        }
    }
}

/// What happens on a way.
fn fmt_step(change: &Change, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match change {
        Change::StepAdded { step, place } => {
            write!(formatter, "also {}", third_person(step))?;
            match place {
                Some(place) => write!(formatter, ", {place}"),
                None => Ok(()),
            }
        }
        Change::StepRemoved { step } => write!(formatter, "no longer {}", third_person(step)),
        Change::StepMoved { step, place } => {
            let place = place.as_deref().unwrap_or("first");
            write!(formatter, "{step} now comes {place}")
        }
        Change::StepChanged { step, parameter } => write!(formatter, "{step} has {parameter}"),
        Change::StepReplaced { new, old } => {
            write!(formatter, "{} instead of: {old}", third_person(new))
        }
        change => fmt_rest(change, formatter),
    }
}

/// What concerns a status or the whole workflow.
fn fmt_rest(change: &Change, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match change {
        Change::OrderChanged {
            trigger,
            first,
            then,
        } => {
            match trigger {
                Some(trigger) => write!(formatter, "after {}", event(*trigger, &Who::default()))?,
                None => formatter.write_str("for the beginning of a task")?,
            }
            write!(formatter, ", `{first}` is now tried before `{then}`")
        }
        Change::FateAdded { fate, before } => {
            write!(formatter, "{}: now {}", fate.condition(), fate.outcome())?;
            asked_before(before.as_ref(), formatter)
        }
        Change::FateRemoved { fate } => {
            write!(
                formatter,
                "{}: no longer {}",
                fate.condition(),
                fate.outcome()
            )
        }
        Change::FateChanged { new, old } if new.does_the_same(old) => {
            let (now, before) = (new.condition(), old.condition());
            write!(formatter, "{} {now}; was {before}", new.outcome())
        }
        Change::FateChanged { new, old } => write!(formatter, "{new}; was {}", old.outcome()),
        Change::FateMoved { fate, before } => {
            formatter.write_str(&fate.condition())?;
            match before {
                Some(_) => asked_before(before.as_ref(), formatter),
                None => formatter.write_str(": now asked last"),
            }
        }
        Change::VerbChanged { verb, new, old } => {
            let (new, old) = (targets(new), targets(old));
            write!(formatter, "the verb `{verb}` leads {new}; was {old}")
        }
        Change::VerbPlacesChanged { verb, new, old } => {
            let (new, old) = (places(new.as_deref()), places(old.as_deref()));
            write!(
                formatter,
                "the verb `{verb}` can be used in {new}; was {old}"
            )
        }
        Change::FieldChanged { field, new, old } => {
            write!(formatter, "the field {field} begins at {new}, was {old}")
        }
        Change::PromptChanged { prompt, .. } => {
            write!(formatter, "the prompt `{prompt}` says something else")
        }
        // The others are told above.
        _ => Ok(()),
    }
}

impl fmt::Display for ParameterChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.parameter;
        let (new, old) = (shown(name, &self.new), shown(name, &self.old));
        if new == old {
            // Both begin alike and go on differently.
            return write!(formatter, "another {name}: {new}");
        }
        write!(formatter, "{name} {new}, was {old}")
    }
}

fn third_person(step: &Step) -> String {
    match step {
        Step::Hook(hook) => format!("does {hook}"),
        Step::Field(..) => {
            let text = step.to_string();
            match text.split_once(' ') {
                Some((verb, rest)) => format!("{verb}s {rest}"),
                None => text,
            }
        }
    }
}

fn timeout(
    new: Option<&Timeout>,
    old: Option<&Timeout>,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let shown = |it: &Timeout| format!("after {} to `{}`", duration(it.after), it.then);
    match (new, old) {
        (Some(new), Some(old)) => {
            write!(formatter, "times out {}, was {}", shown(new), shown(old))
        }
        (Some(new), None) => write!(formatter, "times out {}", shown(new)),
        (None, _) => formatter.write_str("no longer times out"),
    }
}

fn confirm(
    new: Option<&String>,
    old: Option<&String>,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match (new, old) {
        (Some(new), Some(old)) => {
            write!(
                formatter,
                "asks first: {}, was {}",
                excerpt(new),
                excerpt(old)
            )
        }
        (Some(new), None) => write!(formatter, "now asks first: {}", excerpt(new)),
        (None, _) => formatter.write_str("no longer asks first"),
    }
}

fn asked_before(before: Option<&Fate>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match before {
        Some(next) => write!(formatter, "; asked before: {}", next.condition()),
        None => Ok(()),
    }
}

fn targets(targets: &[Target]) -> String {
    if targets.is_empty() {
        return "nowhere".to_owned();
    }
    let targets: Vec<String> = targets.iter().map(|to| format!("`{to}`")).collect();
    format!("to {}", targets.join(", else "))
}

fn places(places: Option<&[Status]>) -> String {
    let Some(places) = places else {
        return "every status".to_owned();
    };
    if places.is_empty() {
        return "no status".to_owned();
    }
    all(places.iter().map(|status| format!("`{status}`")))
}

fn roles(roles: &[Role]) -> String {
    if roles.is_empty() {
        return "nobody".to_owned();
    }
    all(roles.iter().map(the))
}

fn in_order(roles: &[Role]) -> String {
    let roles: Vec<String> = roles.iter().map(the).collect();
    roles.join(", then ")
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Queued => "queued",
        Kind::Agent => "agent",
        Kind::Human => "human",
        Kind::Waiting => "waiting",
        Kind::Terminal => "terminal",
    }
}
