//! Refuses a start that the workflow allows but that must wait.

use super::hints;
use crate::input::{Request, RequestKind};
use crate::refusal::{Attempt, Blocker, Refusal};
use crate::schedule::Wait;
use crate::task::Task;

/// The refusal of a start that limits or dependencies hold back.
///
/// Limits and dependencies are checked in the transaction that would record the start, because only
/// there no other task can start in between.
pub fn refuse_start(task: &Task, request: &Request, waits: Vec<Wait>) -> Refusal {
    let from = task.status.clone();
    let attempt = match &request.kind {
        RequestKind::Verb(verb) => Attempt::Verb {
            verb: *verb,
            from,
            strategy: None,
            local: false,
            head: None,
            is_head_named: false,
        },
        RequestKind::Move { to } | RequestKind::HandEdit { to, .. } => Attempt::Move {
            from,
            to: to.clone(),
        },
        RequestKind::Reopen => Attempt::Reopen,
        _ => Attempt::Respawn { from },
    };
    let waits = waits.into_iter().map(|wait| Blocker::HeldBack { wait });
    let mut refusal = Refusal {
        task: task.id.clone(),
        by: request.by.clone(),
        attempt,
        missing: waits.collect(),
        unchecked: Vec::new(),
        hints: Vec::new(),
    };
    refusal.hints = hints::hints_for(&refusal);
    refusal
}
