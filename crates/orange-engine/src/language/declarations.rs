//! The names a file declares, where, and whether they are used.

use std::fmt;

use super::problem::Position;

/// A name that a file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub what: NameKind,
    pub name: String,
    /// Where the file declares it.
    pub at: Position,
    /// Whether the rest of the file refers to it.
    pub is_used: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    Role,
    /// A constant number.
    Limit,
    /// A number that changes while a task runs.
    Field,
    Gate,
    Prompt,
    /// A verb, which the user uses, not the file.
    Verb,
    /// A poll interval, which has no effect.
    PollInterval,
}

impl fmt::Display for NameKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            NameKind::Role => "role",
            NameKind::Limit => "limit",
            NameKind::Field => "field",
            NameKind::Gate => "gate",
            NameKind::Prompt => "prompt",
            NameKind::Verb => "verb",
            NameKind::PollInterval => "interval",
        })
    }
}

/// The names of a file while it is being read.
#[derive(Debug, Default)]
pub(super) struct Names {
    declared: Vec<Declaration>,
}

impl Names {
    pub(super) fn declare(&mut self, what: NameKind, name: &str, at: Position) {
        self.declared.push(Declaration {
            what,
            name: name.to_owned(),
            at,
            is_used: matches!(what, NameKind::Verb | NameKind::PollInterval),
        });
    }

    pub(super) fn mark_used(&mut self, what: NameKind, name: &str) {
        let mut declared = self.declared.iter_mut();
        if let Some(declared) = declared.find(|it| it.what == what && it.name == name) {
            declared.is_used = true;
        }
    }

    pub(super) fn take(&mut self) -> Vec<Declaration> {
        std::mem::take(&mut self.declared)
    }
}
