//! The labels of states and arrows.

use std::fmt;

use orange_engine::language::gates::{Gate, GateKind};
use orange_engine::language::workflow::{Kind, Trigger};
use orange_engine::names::Status;
use orange_engine::role::Role;

use super::{CommonTransition, Condition, EntryCondition, Node};

/// The name of the node that represents every state that is not terminal.
pub(super) const ANY_ACTIVE: &str = "any active state";

/// A gate in a word or two: its name, else what it requires.
pub(super) fn gate(gate: &Gate) -> String {
    if let Some(name) = &gate.name {
        return name.to_string();
    }
    match &gate.kind {
        GateKind::Section(section) => match section.verdict {
            Some(verdict) => format!("{} {verdict}", section.section),
            None => section.section.to_string(),
        },
        GateKind::Report(report) => format!("report {}", report.field),
        GateKind::Git(git) => {
            let names = git.conditions.iter().map(|condition| condition.name());
            format!("git {}", names.collect::<Vec<_>>().join(" "))
        }
        GateKind::PullRequest(_) => "pull request".to_owned(),
        GateKind::Command(command) => format!("`{}`", command.command.join(" ")),
    }
}

/// A state's kind and its agents.
pub(super) fn kind(node: &Node) -> String {
    let kind = kind_word(node.kind);
    let agents: Vec<&str> = node.expects.iter().map(Role::as_str).collect();
    match (node.kind, agents.join(" + ")) {
        (_, agents) if agents.is_empty() => kind.to_owned(),
        (Kind::Agent, agents) => format!("{kind}: {agents}"),
        (_, agents) => format!("{kind} + {agents}"),
    }
}

/// The name of a kind in a file.
pub(super) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Queued => "queued",
        Kind::Agent => "agent",
        Kind::Human => "human",
        Kind::Waiting => "waiting",
        Kind::Terminal => "terminal",
    }
}

/// How a task begins in a state.
pub(super) fn entry(entry: &EntryCondition) -> String {
    match &entry.when {
        None => "starts here".to_owned(),
        Some(when) => format!("starts here if {when}"),
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = role_list(&self.by);
        match (self.trigger, by.is_empty()) {
            (Trigger::Request, true) => formatter.write_str("by anyone")?,
            (Trigger::Request, false) => write!(formatter, "by {by}")?,
            (trigger, true) => write!(formatter, "on {}", trigger.as_str())?,
            (trigger, false) => write!(formatter, "on {} by {by}", trigger.as_str())?,
        }
        if let Some(when) = &self.when {
            write!(formatter, " if {when}")?;
        }
        if !self.gates.is_empty() {
            write!(formatter, ", needs {}", self.gates.join(" and "))?;
        }
        if self.confirm.is_some() {
            formatter.write_str(", asks first")?;
        }
        Ok(())
    }
}

impl fmt::Display for CommonTransition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(formatter)?;
        if !self.except.is_empty() {
            let names: Vec<&str> = self.except.iter().map(Status::as_str).collect();
            write!(formatter, " (not from {})", names.join(", "))?;
        }
        Ok(())
    }
}

/// `worker, human or engine`.
fn role_list(roles: &[Role]) -> String {
    match roles {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(Role::as_str).collect();
            format!("{} or {last}", first.join(", "))
        }
    }
}
