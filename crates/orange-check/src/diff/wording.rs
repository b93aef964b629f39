//! The sentences that describe differences.

use std::fmt;

use orange_engine::language::workflow::Trigger;
use orange_engine::role::Role;
use orange_engine::wording::{all, either, the};

use super::difference::{Change, Difference, Way};
use super::steps::shown;
use super::table::{Fact, Row};

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Some(way) if self.change != Change::Transition => {
                write!(formatter, "{way}: {}", self.sentence())
            }
            _ => formatter.write_str(&self.sentence()),
        }
    }
}

impl Difference {
    /// What differs, for a reader who knows the row; only an added or removed row is named.
    pub fn sentence(&self) -> String {
        match (self.change, &self.old, &self.new) {
            (Change::Transition, ..) => self.transition(),
            (Change::State, None, Some(kind)) => format!("new state of kind {kind}"),
            (Change::State, _, None) => String::from("the state is gone"),
            (Change::Prompt, ..) => format!("{} says something else", self.subject()),
            _ => self.claim(),
        }
    }

    /// Which subject does what: now, no longer, or differently.
    fn claim(&self) -> String {
        let (subject, verb) = match self.change {
            Change::Respawn if self.parameter.is_some() => (self.subject(), "respawns with"),
            _ if self.parameter.is_some() => (self.subject(), "has"),
            Change::State => ("", "is of kind"),
            Change::Expects => ("", "expects"),
            Change::Timeout => ("", "times out"),
            Change::Respawn => ("", "respawns"),
            Change::Guard => ("", "applies only if"),
            Change::Gate => ("", "needs"),
            Change::By => ("", "allows"),
            Change::Field => ("", "sets"),
            Change::Step => ("", "does"),
            Change::ExitRule => (self.subject(), "means"),
            Change::Order => (self.subject(), "is"),
            Change::Verb => (self.subject(), "leads"),
            Change::InitialValue => (self.subject(), "starts at"),
            Change::Transition | Change::Prompt => ("", ""),
        };
        let parameter = self.parameter.unwrap_or_default();
        let [old, new] = [&self.old, &self.new]
            .map(|value| shown(parameter, value.as_deref().unwrap_or_default()));
        let changed = match new.contains(", ") {
            _ if old == new => format!("{new}, which goes on differently"),
            true => format!("{new}; was {old}"),
            false => format!("{new}, was {old}"),
        };
        let (now, value) = match (&self.old, &self.new) {
            (None, _) => ("now", new),
            (_, None) => ("no longer", old),
            _ => ("", changed),
        };
        let words = [subject, now, verb, parameter, &value];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let place = self.place.iter().map(|place| format!(", {place}"));
        words.join(" ") + &place.collect::<String>()
    }

    fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or_default()
    }

    /// A row that was added or removed.
    fn transition(&self) -> String {
        let (now, summary) = match (&self.new, &self.way) {
            (Some(summary), _) if summary.is_empty() => ("now", String::new()),
            (Some(summary), _) => ("now", format!("; {summary}")),
            (None, Some(Way::Leaving { when, .. })) => ("no longer", condition(when.as_ref())),
            (None, _) => ("no longer", String::new()),
        };
        let text = match &self.way {
            Some(Way::Leaving {
                to, trigger, by, ..
            }) => match trigger {
                Trigger::Request => format!("{} can {now} move it to `{to}`", who(by)),
                trigger => format!("{} {now} leads to `{to}`", cause(*trigger, by)),
            },
            _ => format!("new tasks can {now} start here"),
        };
        text + &summary
    }
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Entering => formatter.write_str("on entering"),
            Way::Beginning => formatter.write_str("starting here"),
            Way::Leaving {
                to,
                trigger,
                by,
                when,
            } => {
                let cause = match trigger {
                    Trigger::Request => format!("by {}", who(by)),
                    trigger => format!("after {}", cause(*trigger, by)),
                };
                write!(formatter, "to `{to}` {cause}{}", condition(when.as_ref()))
            }
        }
    }
}

fn condition(when: Option<&String>) -> String {
    when.map_or(String::new(), |guard| format!(" if {guard}"))
}

fn who(by: &[Role]) -> String {
    match by {
        [] => String::from("anyone"),
        by => either(by.iter().map(the)),
    }
}

/// What triggers a transition; a merge can be requested as well as observed.
fn cause(trigger: Trigger, by: &[Role]) -> String {
    match (trigger, by) {
        (Trigger::Merged, [_, ..]) => format!("a merge by {}", who(by)),
        _ => event(trigger).to_owned(),
    }
}

/// What triggers a transition that no role requests.
pub(super) fn event(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Request => "a request",
        Trigger::Exit => "the exit of an agent",
        Trigger::Crash => "one crash too many",
        Trigger::Timeout => "the timeout",
        Trigger::SpawnFailed => "a failed start",
        Trigger::Merged => "a merge",
        Trigger::PrMerged => "a merged pull request",
        Trigger::PrClosed => "a closed pull request",
        Trigger::ChildrenDone => "the end of the last child task",
        Trigger::Report => "a report",
    }
}

impl Fact {
    /// The whole fact in words.
    pub(super) fn text(&self) -> String {
        if let [("", value)] = self.parts.as_slice() {
            return value.clone();
        }
        let parts = self.parts.iter();
        let parts = parts.map(|(name, value)| format!("{name} {}", shown(name, value)));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            return self.subject.clone();
        }
        format!("{} ({})", self.subject, parts.join(", "))
    }
}

impl Row {
    /// What it requires and what happens.
    pub(super) fn summary(&self) -> String {
        let told = |lead: &str, change: Change| {
            let facts = self.facts.iter().filter(|fact| fact.change == change);
            let texts = all(facts.map(Fact::text));
            (!texts.is_empty()).then(|| format!("{lead}{texts}"))
        };
        let steps = self.facts.iter().filter_map(|fact| match fact.change {
            Change::Field => Some(format!("set {}", fact.text())),
            Change::Step => Some(fact.text()),
            _ => None,
        });
        let steps = steps.collect::<Vec<_>>().join(", ");
        let parts = [
            told("only if ", Change::Guard),
            told("needs ", Change::Gate),
            (!steps.is_empty()).then(|| format!("then {steps}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}
