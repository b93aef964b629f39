//! The only fold from events to a task, live and in replay.

mod effects;

use std::collections::BTreeMap;

use crate::document::{SectionHash, SectionName};
use crate::event::{Event, Fact, StatusChange, TaskCreation};
use crate::evidence::Evidence;
use crate::forge::reaction::ReactionRecord;
use crate::input::Origin;
use crate::names::{BranchName, HarnessName, RunId, TaskId};
use crate::report::Report;
use crate::role::Role;
use crate::routing::Split;
use crate::task::{
    LastError, Run, RunState, SectionRecord, StatusEntry, Task, TransitionMessage, Workspace,
};

/// Applies one event to a task.
///
/// It never fails: an event records what has already happened.
pub fn apply(mut task: Task, event: &Event) -> Task {
    fold(&mut task, event);
    task
}

/// `apply` in place, used while a plan is being built.
pub fn fold(task: &mut Task, event: &Event) {
    task.version = event.version;
    task.format = task.format.max(event.fact.format());
    match &event.fact {
        Fact::TaskCreated(creation) => *task = task_from_creation(creation, event),
        Fact::TaskAmended {
            summary,
            branch,
            priority,
            ..
        } => amend(task, summary.as_ref(), branch.as_ref(), *priority),
        Fact::WorkflowChanged {
            to,
            fields,
            sections,
            ..
        } => {
            task.workflow = to.clone();
            for (field, value) in fields {
                task.fields.entry(field.clone()).or_insert(*value);
            }
            for (name, hash) in sections {
                let record = task.sections.entry(name.clone());
                record.or_insert_with(|| SectionRecord::existing(*hash));
            }
        }
        Fact::TaskDeleted { .. } => task.is_deleted = true,
        Fact::TaskRestored { .. } => task.is_deleted = false,
        // After reopening, `@previous` leads where it led before the task was cancelled, never back
        // to the final status.
        Fact::TaskReopened { previous, .. } => task.entered.from.clone_from(previous),
        // The events after this one end the runs, and finish or cancel the pending effects.
        Fact::TaskMoved => leave_workspace(task),
        Fact::DocumentImported {
            by,
            is_request,
            sections,
        } => import(task, by, *is_request, sections),
        Fact::StatusChanged(changed) => change_status(task, changed, event),
        Fact::FieldSet { field, value } => {
            task.fields.insert(field.clone(), *value);
        }
        Fact::EffectPlanned(planned) => effects::plan_effect(task, planned),
        Fact::EffectDone { effect, outcome } => effects::finish_effect(task, *effect, outcome),
        Fact::EffectFailed { effect, error, .. } => effects::fail_effect(task, *effect, error),
        Fact::EffectStopped { effect, .. } => effects::stop_effect(task, *effect),
        Fact::EffectCancelled { effect } => effects::cancel_effect(task, *effect),
        Fact::EffectRetried { effect } => effects::retry_effect(task, *effect),
        Fact::HooksFinished => {
            task.unfinished_plan = None;
            if task.crash_count_is_stale {
                task.crash_count = 0;
            }
        }
        Fact::RunEnded {
            run,
            role,
            evidence,
            ..
        } => end_run(task, run, role, evidence),
        Fact::AgentCrashed { crash_count, .. } => {
            task.crash_count = *crash_count;
            task.crash_count_is_stale = false;
        }
        Fact::ErrorRecorded {
            error,
            unchanged_at,
        } => {
            let error = LastError {
                error: error.clone(),
                times: 1,
                unchanged_at: unchanged_at.clone(),
            };
            task.last_error = Some(LastError::after(task.last_error.as_ref(), error));
        }
        Fact::HarnessReplaced { reviews, to, .. } => replace_harness(task, *reviews, to),
        Fact::AttentionRaised { reason } => raise_attention(task, reason.clone()),
        Fact::AttentionCleared { .. } => effects::clear_attention(task),
        Fact::ReportReceived { run, report } => receive_report(task, run, report),
        Fact::SplitRequested { .. } => {
            task.routing.split = Split::Wanted;
            effects::clear_attention(task);
        }
        Fact::ChildAdded { child } => add_child(task, child),
        Fact::ChildEnded { child, status } => {
            task.children.insert(child.clone(), Some(status.clone()));
        }
        Fact::ChildReopened { child } => reopen_child(task, child),
        Fact::PullRequestLinked { link } => task.pull_request = Some(link.clone()),
        Fact::PullRequestReaction {
            fingerprint,
            reaction,
            file,
        } => task
            .reactions
            .record(fingerprint, *reaction, file.as_deref()),
        // These change nothing in the task; they are recorded to explain its history.
        Fact::MergeStarted { .. }
        | Fact::AgentRespawned { .. }
        | Fact::EditRejected { .. }
        | Fact::PullRequestObserved { .. }
        | Fact::MergeObserved { .. } => {}
    }
}

/// Why a list of events is not the history of a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("a task's history has no events")]
    Empty,
    /// The first event is not `task.created`.
    #[error("a task's history does not begin with `task.created`")]
    NoBeginning,
    /// A version is missing, duplicated, or out of order.
    #[error("a task's history has version {found} where version {expected} belongs")]
    Gap {
        /// The version that should come next.
        expected: u64,
        found: u64,
    },
}

/// Builds the task from its whole history.
pub fn replay<'event>(
    events: impl IntoIterator<Item = &'event Event>,
) -> Result<Task, ReplayError> {
    let mut events = events.into_iter();
    let first = events.next().ok_or(ReplayError::Empty)?;
    let mut task = task_from_first_event(first).ok_or(ReplayError::NoBeginning)?;
    for event in events {
        let expected = task.version + 1;
        if event.version != expected {
            let found = event.version;
            return Err(ReplayError::Gap { expected, found });
        }
        task = apply(task, event);
    }
    Ok(task)
}

/// Where a task was before it entered its status, according to its whole history.
pub fn origin(events: &[Event]) -> Result<Origin, ReplayError> {
    let is_entry = |event: &Event| matches!(event.fact, Fact::StatusChanged(_));
    let Some(entry) = events.iter().rposition(is_entry) else {
        return Ok(Origin {
            status: None,
            previous: None,
            had_workspace: false,
        });
    };
    let before = replay(&events[..entry])?;
    Ok(Origin {
        had_workspace: before.workspace.is_held(),
        previous: before.entered.from,
        status: Some(before.status),
    })
}

/// The task that a `task.created` event creates.
pub fn task_from_first_event(event: &Event) -> Option<Task> {
    match &event.fact {
        Fact::TaskCreated(creation) => Some(task_from_creation(creation, event)),
        _ => None,
    }
}

pub(crate) fn task_from_creation(creation: &TaskCreation, event: &Event) -> Task {
    Task {
        id: creation.id.clone(),
        project: creation.project.clone(),
        workflow: creation.workflow.clone(),
        version: event.version,
        format: event.fact.format(),
        status: creation.status.clone(),
        entered: StatusEntry {
            from: None,
            trigger: None,
            by: creation.by.clone(),
            at: event.at,
            version: event.version,
        },
        summary: creation.summary.clone(),
        branch: creation.branch.clone(),
        harness: creation.harness.clone(),
        review_harness: creation.review_harness.clone(),
        agent_settings: creation.agent_settings.clone(),
        routing: creation.routing.clone(),
        queueing: creation.queueing.clone(),
        fields: creation.fields.clone(),
        crash_count: 0,
        crash_count_is_stale: false,
        last_error: None,
        postponements: 0,
        workspace: Workspace::None,
        runs: BTreeMap::new(),
        sections: creation
            .sections
            .iter()
            .map(|(name, hash)| (name.clone(), SectionRecord::existing(*hash)))
            .collect(),
        submission: None,
        issue: creation.issue.clone(),
        job: creation.job.clone(),
        pull_request: creation.pull_request.clone(),
        reactions: ReactionRecord::default(),
        report: None,
        children: BTreeMap::new(),
        child_merges: BTreeMap::new(),
        pending: Vec::new(),
        unfinished_plan: Some(event.version),
        attention: Vec::new(),
        messages: Vec::new(),
        is_deleted: false,
    }
}

fn receive_report(task: &mut Task, run: &RunId, report: &Report) {
    task.report = Some(report.clone());
    task.postponements = 0;
    if task.is_planned_by(run) && report.is_plan() {
        task.routing.split = Split::Planned;
    }
}

fn end_run(task: &mut Task, run: &RunId, role: &Role, evidence: &Evidence) {
    let known = task.runs.get(role);
    let run = Run {
        id: run.clone(),
        headless: known.is_some_and(|known| known.headless),
        plans: known.is_some_and(|known| known.plans),
        state: RunState::Ended {
            evidence: evidence.clone(),
        },
    };
    task.runs.insert(role.clone(), run);
    task.postponements = if evidence.is_temporary() {
        task.postponements.saturating_add(1)
    } else {
        0
    };
}

fn amend(
    task: &mut Task,
    summary: Option<&String>,
    branch: Option<&BranchName>,
    priority: Option<i64>,
) {
    task.summary = summary.unwrap_or(&task.summary).clone();
    task.branch = branch.unwrap_or(&task.branch).clone();
    task.queueing.priority = priority.unwrap_or(task.queueing.priority);
}

/// The workspace stays on the other machine; one that was not bound yet can be bound here.
fn leave_workspace(task: &mut Task) {
    if task.workspace != Workspace::Acquiring {
        task.workspace = Workspace::None;
    }
}

/// A child begins again; its branch is looked at again when it ends.
fn reopen_child(task: &mut Task, child: &TaskId) {
    task.child_merges.remove(child);
    task.children.insert(child.clone(), None);
}

fn add_child(task: &mut Task, child: &TaskId) {
    task.children.entry(child.clone()).or_insert(None);
}

/// Only a request for a status vouches for what the document says; reading it proves nothing.
fn import(
    task: &mut Task,
    by: &Role,
    is_request: bool,
    sections: &BTreeMap<SectionName, Option<SectionHash>>,
) {
    for (name, hash) in sections {
        let record = task.sections.entry(name.clone()).or_default();
        if record.hash != *hash {
            record.hash.clone_from(hash);
            record.submitted_by.clear();
        }
        if is_request && hash.is_some() {
            record.submitted_by.insert(by.clone());
        }
    }
}

fn change_status(task: &mut Task, changed: &StatusChange, event: &Event) {
    task.entered = StatusEntry {
        from: Some(changed.from.clone()),
        trigger: Some(changed.trigger),
        by: changed.by.clone(),
        at: event.at,
        version: event.version,
    };
    task.crash_count_is_stale = true;
    task.status = changed.to.clone();
    task.submission.clone_from(&changed.submission);
    task.unfinished_plan = Some(event.version);
    task.attention.clear();
    keep_messages(task, changed, event);
    for record in task.sections.values_mut() {
        record.at_entry.clone_from(&record.hash);
    }
    // A decision by the user resets the error count, so the same error may be retried. Reactions to
    // the pull request may be repeated as well.
    if changed.by == Role::Human {
        task.last_error = None;
        task.postponements = 0;
        task.routing.forget();
        task.reactions.forget_answers();
    }
}

fn keep_messages(task: &mut Task, changed: &StatusChange, event: &Event) {
    if !changed.keeps_messages {
        task.messages.clear();
        return;
    }
    task.messages
        .retain(|message| message.received_by.is_none());
    let text = changed.message.as_deref().unwrap_or_default();
    if !text.trim().is_empty() {
        task.messages.push(TransitionMessage {
            by: changed.by.clone(),
            text: text.to_owned(),
            plan: event.version,
            received_by: None,
        });
    }
}

/// Names of models and efforts belong to one harness, so they go with it.
fn replace_harness(task: &mut Task, reviews: bool, to: &HarnessName) {
    if reviews {
        task.review_harness = to.clone();
        task.agent_settings.review_effort = None;
    } else {
        task.harness = to.clone();
        task.agent_settings.model = None;
        task.agent_settings.effort = None;
    }
}

fn raise_attention(task: &mut Task, reason: String) {
    if !task.attention.contains(&reason) {
        task.attention.push(reason);
    }
}
