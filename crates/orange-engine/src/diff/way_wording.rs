//! Every difference as a sentence that begins with its way.

use std::fmt;

use super::change::{Change, Difference, Opening, Way, Who};
use super::words::{all, either, excerpt, the};
use crate::language::workflow::Trigger;

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.way, &self.change) {
            (Some(way), Change::Opened { openings, before }) => {
                opened(way, formatter)?;
                write_openings(openings, formatter)?;
                if before.is_empty() {
                    return Ok(());
                }
                let before = all(before.iter().map(|to| format!("`{to}`")));
                write!(formatter, "; tried before {before}")
            }
            (Some(way), Change::Closed) => closed(way, formatter),
            (Some(way), change) => write!(formatter, "{way}: {change}"),
            (None, change) => change.fmt(formatter),
        }
    }
}

fn opened(way: &Way, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match way {
        Way::EveryWayIn | Way::Beginning { .. } | Way::Ending { .. } => {
            formatter.write_str("a task can now begin here")
        }
        Way::Leaving {
            to, trigger, who, ..
        } => match asked(*trigger, who) {
            Some((who, what)) => write!(formatter, "{who} may now ask for {what}`{to}`"),
            None => write!(formatter, "{} now leads to `{to}`", event(*trigger, who)),
        },
    }
}

fn closed(way: &Way, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match way {
        Way::EveryWayIn | Way::Beginning { .. } | Way::Ending { .. } => {
            formatter.write_str("a task can no longer begin here")
        }
        Way::Leaving {
            to, trigger, who, ..
        } => match asked(*trigger, who) {
            Some((who, what)) => write!(formatter, "{who} may no longer ask for {what}`{to}`"),
            None => write!(
                formatter,
                "{} no longer leads to `{to}`",
                event(*trigger, who)
            ),
        },
    }
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only_if = match self {
            Way::EveryWayIn => return formatter.write_str("on every way in"),
            Way::Ending { roles } => {
                return write!(formatter, "when {} ends", either(roles.iter().map(the)));
            }
            Way::Beginning { only_if } => {
                formatter.write_str("a task that begins here")?;
                only_if
            }
            Way::Leaving {
                to,
                trigger,
                who,
                only_if,
                back_to,
            } => {
                match asked(*trigger, who) {
                    Some((who, what)) => write!(formatter, "{who} asking for {what}`{to}`")?,
                    None => write!(formatter, "{}, to `{to}`", event(*trigger, who))?,
                }
                if let Some(status) = back_to {
                    write!(formatter, " (back to `{status}`)")?;
                }
                only_if
            }
        };
        match only_if {
            Some(values) => write!(formatter, ", if {values}"),
            None => Ok(()),
        }
    }
}

/// Who asks, and for what besides the target; nothing where nobody need ask.
fn asked(trigger: Trigger, who: &Who) -> Option<(String, &'static str)> {
    if who.unasked {
        return None;
    }
    let roles = if who.anyone {
        "anyone".to_owned()
    } else {
        either(who.by.iter().map(the))
    };
    let what = match trigger {
        Trigger::Merged => "a merge to ",
        _ => "",
    };
    Some((roles, what))
}

/// What sets a way off that nobody need ask for.
pub(super) fn event(trigger: Trigger, who: &Who) -> &'static str {
    match trigger {
        Trigger::Request => "a request",
        Trigger::Exit => "the end of an agent",
        Trigger::Crash => "one crash too many",
        Trigger::Timeout => "the timeout",
        Trigger::SpawnFailed => "a failed start",
        Trigger::Merged if who.by.is_empty() => "a merge made elsewhere",
        Trigger::Merged => "a merge",
        Trigger::PrMerged => "a merged pull request",
        Trigger::PrClosed => "a closed pull request",
        Trigger::ChildrenDone => "the end of the last child task",
        Trigger::Report => "a report",
    }
}

/// What a new way takes; what happens is told once where it is always the same.
fn write_openings(openings: &[Opening], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut steps = openings.iter().map(|opening| &opening.steps);
    let first = steps.next();
    let is_same = steps.all(|steps| Some(steps) == first);
    for (number, opening) in openings.iter().enumerate() {
        let joint = if number > 0 { "; or" } else { "" };
        formatter.write_str(joint)?;
        if !opening.values.is_any() {
            write!(formatter, " if {}", opening.values)?;
        }
        formatter.write_str(&opening.conditions())?;
        let is_last = number + 1 == openings.len();
        if is_last || !is_same {
            formatter.write_str(&opening.then())?;
        }
    }
    Ok(())
}

impl Opening {
    /// What it takes besides values.
    pub(super) fn conditions(&self) -> String {
        let needs = all(self.needs.iter().map(ToString::to_string));
        let needs = (!needs.is_empty()).then(|| format!(", needs {needs}"));
        let question = self.confirm.as_ref().map(|question| excerpt(question));
        let question = question.map(|question| format!(", asks first: {question}"));
        needs.unwrap_or_default() + &question.unwrap_or_default()
    }

    /// What happens.
    pub(super) fn then(&self) -> String {
        if self.steps.is_empty() {
            return String::new();
        }
        let steps: Vec<String> = self.steps.iter().map(ToString::to_string).collect();
        format!("; then {}", steps.join(", "))
    }
}
