//! The sentences that describe differences.

use std::fmt;

use orange_engine::language::workflow::Trigger;
use orange_engine::role::Role;
use orange_engine::wording::{join_and, join_or, with_article};

use super::change::{ChangeKind, Route, WorkflowChange};
use super::steps::value_text;
use super::table::{Fact, Row};

impl fmt::Display for WorkflowChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.route {
            Some(route) if self.kind != ChangeKind::Transition => {
                write!(formatter, "{route}: {}", self.sentence())
            }
            _ => formatter.write_str(&self.sentence()),
        }
    }
}

impl WorkflowChange {
    /// What differs in a row. The sentence names the row only if the row was added or removed.
    pub fn sentence(&self) -> String {
        match (self.kind, &self.old, &self.new) {
            (ChangeKind::Transition, ..) => self.transition(),
            (ChangeKind::State, None, Some(kind)) => format!("new state of kind {kind}"),
            (ChangeKind::State, _, None) => String::from("the state is removed"),
            (ChangeKind::Prompt, ..) => format!("{} has changed", self.subject()),
            (ChangeKind::ExitRule, Some(old), None) => {
                format!("the rule that {} means {old} is removed", self.subject())
            }
            _ => self.claim(),
        }
    }

    /// What a subject does now, does no longer, or does differently.
    fn claim(&self) -> String {
        let (subject, verb) = match self.kind {
            ChangeKind::Respawn if self.parameter.is_some() => (self.subject(), "respawns with"),
            _ if self.parameter.is_some() => (self.subject(), "has"),
            ChangeKind::State => ("", "is of kind"),
            ChangeKind::Expects => ("", "expects"),
            ChangeKind::Timeout => ("", "times out"),
            ChangeKind::Respawn => ("", "respawns"),
            ChangeKind::Guard => ("", "applies only if"),
            ChangeKind::Gate => ("", "needs"),
            ChangeKind::By => ("", "allows"),
            ChangeKind::Field => ("", "sets"),
            ChangeKind::Hook => ("", "does"),
            ChangeKind::ExitRule => (self.subject(), "means"),
            ChangeKind::Order => (self.subject(), "is"),
            ChangeKind::Verb => (self.subject(), "leads"),
            ChangeKind::InitialValue => (self.subject(), "starts at"),
            ChangeKind::Sandbox => (self.subject(), "needs"),
            ChangeKind::Transition | ChangeKind::Prompt => ("", ""),
        };
        let parameter = self.parameter.unwrap_or_default();
        let [old, new] = [&self.old, &self.new]
            .map(|value| value_text(parameter, value.as_deref().unwrap_or_default()));
        let changed = match new.contains(", ") {
            _ if old == new => format!("{new}, which continues differently"),
            true => format!("{new}; was {old}"),
            false => format!("{new}, was {old}"),
        };
        let (adverb, value) = match (&self.old, &self.new) {
            (None, _) => ("now", new),
            (_, None) => ("no longer", old),
            _ => ("", changed),
        };
        let words = [subject, adverb, verb, parameter, &value];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let place = self.place.iter().map(|place| format!(", {place}"));
        words.join(" ") + &place.collect::<String>()
    }

    fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or_default()
    }

    /// A row that was added or removed.
    fn transition(&self) -> String {
        let (adverb, summary) = match (&self.new, &self.route) {
            (Some(summary), _) if summary.is_empty() => ("now", String::new()),
            (Some(summary), _) => ("now", format!("; {summary}")),
            (None, Some(Route::Transition { when, .. })) => ("no longer", condition(when.as_ref())),
            (None, _) => ("no longer", String::new()),
        };
        let text = match &self.route {
            Some(Route::Transition {
                to, trigger, by, ..
            }) => match trigger {
                Trigger::Request => format!("{} can {adverb} move it to `{to}`", roles_text(by)),
                trigger => format!("{} {adverb} leads to `{to}`", cause(*trigger, by)),
            },
            _ => format!("new tasks can {adverb} start here"),
        };
        text + &summary
    }
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Arrival => formatter.write_str("on entering"),
            Route::Creation => formatter.write_str("starting here"),
            Route::Transition {
                to,
                trigger,
                by,
                when,
            } => {
                let cause = match trigger {
                    Trigger::Request => format!("by {}", roles_text(by)),
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

fn roles_text(by: &[Role]) -> String {
    match by {
        [] => String::from("anyone"),
        by => join_or(by.iter().map(with_article)),
    }
}

/// What triggers a transition; a merge can be requested as well as observed.
fn cause(trigger: Trigger, by: &[Role]) -> String {
    match (trigger, by) {
        (Trigger::Merged, [_, ..]) => format!("a merge by {}", roles_text(by)),
        _ => event(trigger).to_owned(),
    }
}

/// What triggers a transition that no role requests.
pub(super) fn event(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Request => "a request",
        Trigger::Exit => "the exit of an agent",
        Trigger::Crash => "reaching the crash limit",
        Trigger::Timeout => "the timeout",
        Trigger::SpawnFailed => "a failed start",
        Trigger::Merged => "a merge",
        Trigger::PrMerged => "a merged pull request",
        Trigger::PrClosed => "a closed pull request",
        Trigger::PrFailing => "failing checks of the pull request",
        Trigger::PrConflicting => "a conflict of the pull request",
        Trigger::PrFeedback => "comments on the pull request",
        Trigger::PrReady => "a pull request with nothing to fix",
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
        let parts = parts.map(|(name, value)| format!("{name} {}", value_text(name, value)));
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
        let clause = |lead: &str, change: ChangeKind| {
            let facts = self.facts.iter().filter(|fact| fact.change == change);
            let texts = join_and(facts.map(Fact::text));
            (!texts.is_empty()).then(|| format!("{lead}{texts}"))
        };
        let steps = self.facts.iter().filter_map(|fact| match fact.change {
            ChangeKind::Field => Some(format!("set {}", fact.text())),
            ChangeKind::Hook => Some(fact.text()),
            _ => None,
        });
        let steps = steps.collect::<Vec<_>>().join(", ");
        let parts = [
            clause("only if ", ChangeKind::Guard),
            clause("needs ", ChangeKind::Gate),
            (!steps.is_empty()).then(|| format!("then {steps}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}
