//! The outcome of a request, in words.

use orange_driver::ChangeReport;
use orange_engine::Task;
use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::evidence::Evidence;
use orange_engine::role::Role;
use orange_engine::task::PendingState;

use crate::cli::hint_paragraph;
use crate::output::{Paragraph, Style, Text};

#[derive(Clone, Copy)]
pub enum Outcome {
    Done,
    Failed,
    InFlight,
    Already,
}

impl Outcome {
    pub fn code(self) -> &'static str {
        match self {
            Outcome::Done => "succeeded",
            Outcome::Failed => "failed",
            Outcome::InFlight => "in_flight",
            Outcome::Already => "already",
        }
    }

    /// What happened, in one line.
    pub fn describe(self, report: &ChangeReport) -> String {
        let status = &report.task.status;
        let events = report.events.iter().rev();
        let mut moves = events.filter_map(|event| match &event.fact {
            Fact::StatusChanged(change) => Some(change),
            _ => None,
        });
        let mut text = match (self, moves.next()) {
            (Outcome::Already, _) => format!("already in `{status}`"),
            (_, None) => match (agent_text(report), recipient(report)) {
                (Some(text), _) => format!("{text}, in `{status}`"),
                (None, Some(role)) => format!("the message is in the {role}'s inbox"),
                (None, None) => format!("in `{status}`"),
            },
            (_, Some(moved)) if moved.to == *status => {
                format!("from `{}` to `{status}`", moved.from)
            }
            // Another process has moved the task on in the meantime.
            (_, Some(moved)) => {
                format!("from `{}` to `{}`, now in `{status}`", moved.from, moved.to)
            }
        };
        for event in &report.events {
            text.push_str(&amendment_text(&event.fact));
        }
        if matches!(self, Outcome::InFlight) {
            text.push_str(if is_merging(&report.task) {
                ", the merge continues in the background"
            } else {
                ", effects are in progress"
            });
        }
        text
    }
}

/// Whether a merge is pending, which may take as long as the command that verifies it.
pub fn is_merging(task: &Task) -> bool {
    let mut pending = task.pending.iter();
    pending.any(|it| {
        matches!(it.planned.effect, Effect::Merge(_)) && it.state == PendingState::Waiting
    })
}

/// Says which agents were stopped or restarted; `None` if there are none.
fn agent_text(report: &ChangeReport) -> Option<String> {
    let facts = || report.events.iter().map(|event| &event.fact);
    let stopped: Vec<&Role> = facts()
        .filter_map(|fact| match fact {
            Fact::RunEnded { role, evidence, .. } if *evidence == Evidence::Stopped => Some(role),
            _ => None,
        })
        .collect();
    let is_restart = facts().any(|fact| matches!(fact, Fact::AgentRespawned { .. }));
    let verb = if is_restart { "restarted" } else { "stopped" };
    let roles: Vec<String> = stopped.iter().map(|role| format!("the {role}")).collect();
    (!roles.is_empty()).then(|| format!("{verb} {}", roles.join(" and ")))
}

/// The role that a message was sent to.
fn recipient(report: &ChangeReport) -> Option<&Role> {
    report.events.iter().find_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) => match &planned.effect {
            Effect::NotifyRole(notify) => Some(&notify.role),
            _ => None,
        },
        _ => None,
    })
}

fn amendment_text(fact: &Fact) -> String {
    match fact {
        Fact::TaskAmended {
            summary,
            branch,
            priority,
            ..
        } => {
            let summary = summary
                .as_ref()
                .map(|_| String::from(", with a new summary"));
            let branch = branch.as_ref().map(|it| format!(", on branch `{it}`"));
            let priority = priority.map(|it| format!(", with priority {it}"));
            [summary, branch, priority].into_iter().flatten().collect()
        }
        Fact::WorkflowChanged { to, .. } => format!(", with the workflow `{to}`"),
        _ => String::new(),
    }
}

/// A warning that the message of a request was not sent, because there was nothing to do. If the
/// user has only repeated an earlier request, its message was sent then.
pub fn unsent_message_warning(task: &Task, width: Option<usize>) -> Text {
    let (id, status) = (&task.id, &task.status);
    let mut text = Text::new();
    let warning = Paragraph {
        lead: &[(Style::Warn, "warning:")],
        body: &format!("this message was not sent: the task was already in `{status}`"),
        margin: 0,
        indent: "warning: ".len(),
    };
    text.push_paragraph(&warning, width);
    let hint = format!("if it is a new message, run `orange task tell {id} -m TEXT`");
    text.push_paragraph(&hint_paragraph(&hint, 0), width);
    text
}

/// A warning if the task's files could not be written after the change was recorded.
pub fn stale_files_warning(report: &ChangeReport, width: Option<usize>) -> Text {
    let mut text = Text::new();
    if let Some(error) = &report.copies_failed {
        let task = &report.task.id;
        let warning = Paragraph {
            lead: &[(Style::Warn, "warning:")],
            body: &format!("the files of task `{task}` are not up to date: {error}"),
            margin: 0,
            indent: "warning: ".len(),
        };
        text.push_paragraph(&warning, width);
        let hint = "the change itself is recorded; once that is fixed, the next command that \
                    changes the task writes the files too";
        text.push_paragraph(&hint_paragraph(hint, 0), width);
    }
    text
}
