//! A step: something that can happen to a settled task.

use std::fmt;

use orange_engine::evidence::Evidence;
use orange_engine::language::gates::{Gate, GateKind};
use orange_engine::language::workflow::Trigger;
use orange_engine::names::Status;
use orange_engine::report::Report;
use orange_engine::role::Role;

/// Something that happens, with all its consequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub occurrence: Occurrence,
    pub evidence: StepEvidence,
    /// The effect that fails for good, if any.
    pub failure: Option<EffectFailure>,
}

/// An effect that fails for good.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EffectFailure {
    /// Its index among the effects that follow from the step.
    pub index: usize,
    /// Its name in messages.
    pub label: &'static str,
}

/// What can happen to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The user creates it.
    Create {
        entry: Status,
        /// The length of its summary.
        summary: usize,
    },
    /// A role requests a status.
    Request {
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
    /// The user respawns an agent.
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
    /// The user opens a pull request.
    OpenPullRequest,
    /// The forge reports something about the pull request.
    PullRequest(PullRequestEvent),
    /// The branch is merged outside of orange.
    MergedOutside,
    AddChild,
    EndChild,
    /// The user changes the summary.
    Summarize {
        length: usize,
    },
}

/// The reason of a report whose run did not fail like the one before.
pub const ANOTHER_ERROR: &str = "another error";

impl Occurrence {
    /// Whether it is the report of a run that did not fail like the one before.
    pub fn has_another_error(&self) -> bool {
        matches!(self, Occurrence::Report { report, .. } if report.reason == ANOTHER_ERROR)
    }
}

/// What can happen to a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestEvent {
    Merged,
    Closed,
    Failing,
    Conflicting,
    Feedback,
    Ready,
}

impl PullRequestEvent {
    /// Every event, with the triggers of the edges it takes.
    pub const ALL: [(PullRequestEvent, &'static [Trigger]); 6] = [
        (
            PullRequestEvent::Merged,
            &[Trigger::PrMerged, Trigger::Merged],
        ),
        (PullRequestEvent::Closed, &[Trigger::PrClosed]),
        (PullRequestEvent::Failing, &[Trigger::PrFailing]),
        (PullRequestEvent::Conflicting, &[Trigger::PrConflicting]),
        (PullRequestEvent::Feedback, &[Trigger::PrFeedback]),
        (PullRequestEvent::Ready, &[Trigger::PrReady]),
    ];
}

/// What a document and the world show while something happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepEvidence {
    /// Gates that the step newly satisfies.
    pub gates: Vec<Gate>,
    /// Section gates that are satisfied by what was already in the document.
    pub kept: Vec<Gate>,
    /// The role that requested a status with the document before, and was refused.
    pub submitted_by: Option<Role>,
}

impl StepEvidence {
    /// Exactly what these gates require.
    pub fn by_gates<'a>(gates: impl IntoIterator<Item = &'a Gate>) -> StepEvidence {
        let mut evidence = StepEvidence::default();
        for gate in gates {
            if !evidence.gates.contains(gate) {
                evidence.gates.push(gate.clone());
            }
        }
        evidence
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
        GateKind::Git(_) => String::from("git gates passing"),
        GateKind::PullRequest(_) => String::from("pull request gates passing"),
        GateKind::Command(command) => format!("`{}` passing", command.command.join(" ")),
    }
}

impl Step {
    /// A step in which nothing fails.
    pub fn new(occurrence: Occurrence, evidence: StepEvidence) -> Step {
        Step {
            occurrence,
            evidence,
            failure: None,
        }
    }

    /// The same step with one effect failing.
    #[must_use]
    pub fn with_failure(&self, index: usize, label: &'static str) -> Step {
        Step {
            failure: Some(EffectFailure { index, label }),
            ..self.clone()
        }
    }

    /// Whether it needs the user: nothing like it happens by itself.
    pub fn is_by_user(&self) -> bool {
        match &self.occurrence {
            Occurrence::Request { by, .. }
            | Occurrence::Write { by }
            | Occurrence::Merge { by } => *by == Role::Human,
            Occurrence::Create { .. }
            | Occurrence::Respawn { .. }
            | Occurrence::OpenPullRequest
            | Occurrence::PullRequest(PullRequestEvent::Merged | PullRequestEvent::Closed)
            | Occurrence::MergedOutside
            | Occurrence::Summarize { .. } => true,
            Occurrence::Die { .. }
            | Occurrence::TimeOut
            | Occurrence::Report { .. }
            | Occurrence::PullRequest(_)
            | Occurrence::AddChild
            | Occurrence::EndChild => false,
        }
    }
}

impl fmt::Display for Occurrence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Occurrence::Create { entry, summary: 0 } => {
                write!(formatter, "a task without a summary begins in `{entry}`")
            }
            Occurrence::Create { entry, summary: 1 } => {
                write!(formatter, "a task begins in `{entry}`")
            }
            Occurrence::Create { entry, summary } => write!(
                formatter,
                "a task with a summary of {summary} characters begins in `{entry}`"
            ),
            Occurrence::Request { by, to } => write!(formatter, "the {by} requests `{to}`"),
            Occurrence::Write { by } => write!(formatter, "the {by} writes"),
            Occurrence::Merge { by } => write!(formatter, "the {by} merges"),
            Occurrence::Respawn { role } => write!(formatter, "the human respawns the {role}"),
            Occurrence::Die { role, evidence } => match evidence {
                Evidence::Environment => {
                    write!(formatter, "the {role} loses its tmux server")
                }
                Evidence::Exit { code } if *code > 1 => {
                    write!(formatter, "the {role} dies with another error")
                }
                _ => write!(formatter, "the {role} dies"),
            },
            Occurrence::TimeOut => formatter.write_str("the timeout expires"),
            Occurrence::Report { role, report } => {
                write!(formatter, "the {role} reports `{}`", report.outcome())?;
                if !report.delegations.is_empty() {
                    formatter.write_str(" and requests children")?;
                }
                if !report.reason.is_empty() {
                    write!(formatter, " because of `{}`", report.reason)?;
                }
                Ok(())
            }
            Occurrence::OpenPullRequest => formatter.write_str("the human opens a pull request"),
            Occurrence::PullRequest(event) => formatter.write_str(match event {
                PullRequestEvent::Merged => "the pull request is merged",
                PullRequestEvent::Closed => "the pull request is closed",
                PullRequestEvent::Failing => "checks of the pull request fail",
                PullRequestEvent::Conflicting => "the pull request conflicts with its base",
                PullRequestEvent::Feedback => "reviewers comment on the pull request",
                PullRequestEvent::Ready => "the pull request leaves nothing to fix",
            }),
            Occurrence::MergedOutside => formatter.write_str("the branch is merged outside orange"),
            Occurrence::AddChild => formatter.write_str("a child task is created"),
            Occurrence::EndChild => formatter.write_str("a child task ends"),
            Occurrence::Summarize { length: 0 } => {
                formatter.write_str("the human empties the summary")
            }
            Occurrence::Summarize { length: 1 } => {
                formatter.write_str("the human writes a summary")
            }
            Occurrence::Summarize { length } => write!(
                formatter,
                "the human writes a summary of {length} characters"
            ),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.occurrence.fmt(formatter)?;
        let mut evidence = self.evidence.clone();
        // The step is the report, so what its gates require is not listed again.
        if matches!(self.occurrence, Occurrence::Report { .. }) {
            let is_report = |gate: &Gate| matches!(gate.kind, GateKind::Report(_));
            evidence.gates.retain(|gate| !is_report(gate));
        }
        let names = evidence.names();
        if !names.is_empty() {
            let connector = match self.occurrence {
                Occurrence::Write { .. } => "",
                _ => ", with",
            };
            write!(formatter, "{connector} {}", names.join(" and "))?;
        }
        if let Some(role) = &self.evidence.submitted_by {
            write!(formatter, ", submitted earlier by the {role}")?;
        }
        if let Some(failing) = &self.failure {
            write!(formatter, "; `{}` fails", failing.label)?;
        }
        Ok(())
    }
}
