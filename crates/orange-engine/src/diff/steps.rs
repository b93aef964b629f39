//! What happens on a way, as one list: fields, hooks, `on_enter`.
//!
//! A field is changed when a transition is decided, a hook runs later. So a change of a field moves
//! up to the last hook whose texts it would alter: wherever the author wrote it, it means the same.

use std::fmt;

use serde::{Serialize, Serializer};

use super::change::{Change, ParameterChange};
use super::hook_step::HookStep;
use crate::language::Workflow;
use crate::language::hooks::{Action, Hook};
use crate::language::workflow::{self, NewValue};
use crate::names::FieldName;

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field changes.
    Field(FieldName, Arithmetic),
    /// Something is done.
    Hook(HookStep),
}

/// What becomes of a number: set first, then counted up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    set: Option<i64>,
    plus: i64,
}

/// Everything that happens, in order.
pub(super) fn steps<'a>(
    workflow: &Workflow,
    set: &[workflow::Change],
    hooks: impl IntoIterator<Item = &'a Hook>,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for change in set {
        change_field(&mut steps, &change.field, change.to);
    }
    for hook in hooks {
        match &hook.action {
            Action::SetField(change) => change_field(&mut steps, &change.field, change.to),
            action => {
                if let Some(field) = action.spawn().and_then(|spawn| spawn.increment.as_ref()) {
                    change_field(&mut steps, field, NewValue::Increment);
                }
                steps.push(Step::Hook(HookStep::of(workflow, hook)));
            }
        }
    }
    steps
}

/// Adds a change of a field as early as it means the same.
fn change_field(steps: &mut Vec<Step>, field: &FieldName, to: NewValue) {
    let shows = |step: &Step| matches!(step, Step::Hook(hook) if hook.shows(field));
    let earliest = steps.iter().rposition(shows).map_or(0, |place| place + 1);
    let later = steps.iter_mut().skip(earliest);
    let mut same = later.filter_map(|step| match step {
        Step::Field(other, change) if other == field => Some(change),
        _ => None,
    });
    if let Some(change) = same.next() {
        change.then(to);
        return;
    }
    let is_before = |step: &&Step| matches!(step, Step::Field(other, _) if other < field);
    let others = steps.iter().skip(earliest).take_while(is_before).count();
    let mut change = Arithmetic::default();
    change.then(to);
    steps.insert(earliest + others, Step::Field(field.clone(), change));
}

impl Arithmetic {
    fn then(&mut self, to: NewValue) {
        match to {
            NewValue::Exactly(value) => {
                *self = Arithmetic {
                    set: Some(value),
                    plus: 0,
                }
            }
            NewValue::Increment => match &mut self.set {
                Some(value) => *value = value.saturating_add(1),
                None => self.plus = self.plus.saturating_add(1),
            },
        }
    }
}

impl Step {
    /// Whether both do the same; what a prompt of one name says is compared elsewhere.
    pub(super) fn is_same(&self, other: &Step) -> bool {
        match (self, other) {
            (Step::Hook(one), Step::Hook(two)) => one.is_alike(two) && one.changes(two).is_empty(),
            (one, two) => one == two,
        }
    }

    /// Whether one is the other in a changed form.
    pub(super) fn is_alike(&self, other: &Step) -> bool {
        match (self, other) {
            (Step::Field(one, _), Step::Field(two, _)) => one == two,
            (Step::Hook(one), Step::Hook(two)) => one.is_alike(two),
            _ => false,
        }
    }

    /// What was changed from the other into this.
    pub(super) fn changes(&self, old: &Step) -> Vec<ParameterChange> {
        match (self, old) {
            (Step::Hook(new), Step::Hook(old)) => new.changes(old),
            _ => Vec::new(),
        }
    }

    /// What an agent is told now under the same name, if it is something else.
    pub(super) fn prompt_change(&self, old: &Step) -> Option<Change> {
        match (self, old) {
            (Step::Hook(new), Step::Hook(old)) => new.prompt_change(old),
            _ => None,
        }
    }

    /// Where it stands among the hooks, if that says something: fields usually change before any.
    pub(super) fn place(&self, before: &[Step], all: &[Step]) -> Option<String> {
        let is_hook = |step: &&Step| matches!(step, Step::Hook(_));
        let is_among_others = is_hook(&self) && all.iter().filter(is_hook).count() > 1;
        match before.iter().rfind(is_hook) {
            Some(hook) => Some(format!("after {}", hook.name())),
            None => is_among_others.then(|| String::from("first")),
        }
    }

    /// What it is told and what is unusual about it.
    pub(super) fn details(&self) -> String {
        match self {
            Step::Field(..) => String::new(),
            Step::Hook(hook) => hook.details(),
        }
    }

    /// What it is called where its parameters do not matter.
    pub(super) fn name(&self) -> String {
        match self {
            Step::Field(..) => self.to_string(),
            Step::Hook(hook) => hook.title(),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(field, change) => match (change.set, change.plus) {
                (Some(value), _) => write!(formatter, "set {field} to {value}"),
                (None, 1) => write!(formatter, "count {field} up"),
                (None, more) => write!(formatter, "count {field} up by {more}"),
            },
            Step::Hook(hook) => hook.fmt(formatter),
        }
    }
}

crate::text_schema::written_as_text!(Step);

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
