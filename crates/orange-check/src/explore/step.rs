//! A step: something that can happen to a settled task.

use std::fmt;

use orange_engine::evidence::Evidence;
use orange_engine::language::gates::{Gate, GateKind, PullRequestState};
use orange_engine::names::Status;
use orange_engine::report::Report;
use orange_engine::role::Role;

/// Something that happens, with all its consequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub happening: Happening,
    pub shown: Shown,
    /// The effect that fails for good, counted from zero among those that follow.
    pub fails: Option<Failing>,
}

/// An effect that fails for good.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Failing {
    /// Its index among the effects that follow.
    pub index: usize,
    /// Its name in messages.
    pub label: &'static str,
}

/// What can happen to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The user creates it.
    Begin {
        entry: Status,
        /// The length of its summary.
        summary: usize,
    },
    /// A role requests a status.
    Ask {
        by: Role,
        to: Status,
    },
    /// A role writes into TASK.md without a request.
    Write {
        by: Role,
    },
    /// A role requests a merge, and it succeeds.
    Merge {
        by: Role,
    },
    /// The user brings an agent back.
    Respawn {
        role: Role,
    },
    Die {
        role: Role,
        evidence: Evidence,
    },
    /// The status has reached its timeout.
    TimeOut,
    Report {
        role: Role,
        report: Box<Report>,
    },
    /// The forge reports the state of the pull request.
    PullRequest {
        state: PullRequestState,
    },
    /// The branch is merged outside of orange.
    MergedOutside,
    AddChild,
    EndChild,
    /// The user changes the summary.
    Summarize {
        length: usize,
    },
}

/// What a document and the world show while something happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub gates: Vec<Gate>,
    /// Section gates that are satisfied by what was already in the document.
    pub kept: Vec<Gate>,
    /// The role that requested a status with the document before, and was refused.
    pub brought_by: Option<Role>,
}

impl Shown {
    /// Exactly what these gates require.
    pub fn by_gates<'a>(gates: impl IntoIterator<Item = &'a Gate>) -> Shown {
        let mut shown = Shown::default();
        for gate in gates {
            if !shown.gates.contains(gate) {
                shown.gates.push(gate.clone());
            }
        }
        shown
    }

    /// How a step names what a gate requires.
    pub fn name_of(gate: &Gate) -> String {
        name_of(gate)
    }

    /// What is shown, as a list for messages.
    fn names(&self) -> Vec<String> {
        let new = self.gates.iter().map(name_of);
        let old = self
            .kept
            .iter()
            .map(|gate| format!("the old {}", name_of(gate)));
        let mut names: Vec<String> = Vec::new();
        for name in new.chain(old) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

fn name_of(gate: &Gate) -> String {
    match &gate.kind {
        GateKind::Section(section) => match section.verdict {
            Some(verdict) => format!("{verdict} in `{}`", section.section),
            None => format!("`{}`", section.section),
        },
        GateKind::Report(report) => format!("a report with the right `{}`", report.field),
        GateKind::Git(_) => String::from("git in order"),
        GateKind::PullRequest(_) => String::from("the pull request in order"),
        GateKind::Command(command) => format!("`{}` succeeding", command.command.join(" ")),
    }
}

impl Step {
    /// A step in which nothing fails.
    pub fn new(happening: Happening, shown: Shown) -> Step {
        Step {
            happening,
            shown,
            fails: None,
        }
    }

    /// The same step with one effect failing.
    #[must_use]
    pub fn failing(&self, index: usize, label: &'static str) -> Step {
        Step {
            fails: Some(Failing { index, label }),
            ..self.clone()
        }
    }

    /// Whether it needs the user: nothing like it happens by itself.
    pub fn is_by_person(&self) -> bool {
        match &self.happening {
            Happening::Ask { by, .. } | Happening::Write { by } | Happening::Merge { by } => {
                *by == Role::Human
            }
            Happening::Begin { .. }
            | Happening::Respawn { .. }
            | Happening::PullRequest { .. }
            | Happening::MergedOutside
            | Happening::Summarize { .. } => true,
            Happening::Die { .. }
            | Happening::TimeOut
            | Happening::Report { .. }
            | Happening::AddChild
            | Happening::EndChild => false,
        }
    }
}

/// `the person`, `the engine`, `the worker`.
struct Party<'a>(&'a Role);

impl fmt::Display for Party<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Role::Human => formatter.write_str("the person"),
            role => write!(formatter, "the {role}"),
        }
    }
}

impl fmt::Display for Happening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happening::Begin { entry, summary: 0 } => {
                write!(formatter, "a task without a summary begins in `{entry}`")
            }
            Happening::Begin { entry, summary: 1 } => {
                write!(formatter, "a task begins in `{entry}`")
            }
            Happening::Begin { entry, summary } => write!(
                formatter,
                "a task with a summary of {summary} characters begins in `{entry}`"
            ),
            Happening::Ask { by, to } => write!(formatter, "{} asks for `{to}`", Party(by)),
            Happening::Write { by } => write!(formatter, "{} writes", Party(by)),
            Happening::Merge { by } => write!(formatter, "{} merges", Party(by)),
            Happening::Respawn { role } => write!(formatter, "the person respawns the {role}"),
            Happening::Die { role, evidence } => match evidence {
                Evidence::Environment => {
                    write!(formatter, "the {role} goes away with its tmux server")
                }
                Evidence::Exit { code } if *code > 1 => {
                    write!(formatter, "the {role} dies of another error")
                }
                _ => write!(formatter, "the {role} dies"),
            },
            Happening::TimeOut => formatter.write_str("the time is up"),
            Happening::Report { role, report } => {
                write!(formatter, "the {role} reports `{}`", report.outcome())?;
                if !report.delegations.is_empty() {
                    formatter.write_str(" and asks for children")?;
                }
                if !report.reason.is_empty() {
                    write!(formatter, " because of `{}`", report.reason)?;
                }
                Ok(())
            }
            Happening::PullRequest { state } => match state {
                PullRequestState::Open => formatter.write_str("the pull request is open"),
                PullRequestState::Merged => formatter.write_str("the pull request is merged"),
                PullRequestState::Closed => formatter.write_str("the pull request is closed"),
            },
            Happening::MergedOutside => formatter.write_str("the branch is merged without asking"),
            Happening::AddChild => formatter.write_str("a child task is created"),
            Happening::EndChild => formatter.write_str("a child task ends"),
            Happening::Summarize { length: 0 } => {
                formatter.write_str("the person empties the summary")
            }
            Happening::Summarize { length: 1 } => {
                formatter.write_str("the person writes a summary")
            }
            Happening::Summarize { length } => write!(
                formatter,
                "the person writes a summary of {length} characters"
            ),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.happening.fmt(formatter)?;
        let mut shown = self.shown.clone();
        // A report needs no mention of itself.
        if matches!(self.happening, Happening::Report { .. }) {
            let is_report = |gate: &Gate| matches!(gate.kind, GateKind::Report(_));
            shown.gates.retain(|gate| !is_report(gate));
        }
        let names = shown.names();
        if !names.is_empty() {
            let showing = match self.happening {
                Happening::Write { .. } => "",
                _ => ", showing",
            };
            write!(formatter, "{showing} {}", names.join(" and "))?;
        }
        if let Some(role) = &self.shown.brought_by {
            write!(formatter, " that {} asked with before", Party(role))?;
        }
        if let Some(failing) = &self.fails {
            write!(formatter, "; `{}` fails", failing.label)?;
        }
        Ok(())
    }
}
