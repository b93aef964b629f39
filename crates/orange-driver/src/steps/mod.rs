//! One step: load, decide, gather what is needed, record.

mod branch_name;
pub(crate) mod catch_up;
pub(crate) mod children;
pub(crate) mod create;
pub(crate) mod facts;
pub(crate) mod gate_commands;
pub(crate) mod hand_edit;
pub(crate) mod limits;
mod pinned_workflow;
pub(crate) mod preview;

use std::sync::Arc;

use orange_config::clock;
use orange_engine::document::Document;
use orange_engine::event::Event;
use orange_engine::input::{
    Cause, DecisionContext, Facts, Input, Observation, Request, RequestKind,
};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::{Decision, Refusal, Task, Workflow, decide, refuse_start};
use orange_fleet::ids::MailId;
use orange_store::{Commit, CommitOutcome, ImportResult, Store, StoredTask, UnreadableReason};

use crate::DriverError;
use crate::callers::Callers;
use crate::context::Context;
use crate::context::ids;
use crate::forge::Forge;
use crate::workspaces::Workspaces;

pub(crate) use pinned_workflow::pinned_workflow;

/// Decides about a task and records what follows.
#[derive(Clone, Debug)]
pub struct Steps {
    context: Arc<Context>,
    callers: Callers,
    workspaces: Workspaces,
    forge: Forge,
    /// The mail of a fleet's server that the next request decides.
    mail: Option<MailId>,
}

impl Steps {
    pub(crate) fn new(
        context: &Arc<Context>,
        callers: &Callers,
        workspaces: &Workspaces,
        forge: &Forge,
    ) -> Steps {
        Steps {
            context: Arc::clone(context),
            callers: callers.clone(),
            workspaces: workspaces.clone(),
            forge: forge.clone(),
            mail: None,
        }
    }

    /// The same, for the request or the end of a child that mail of a fleet's server is about: the
    /// commit of the decision names the mail.
    pub(crate) fn for_mail(&self, mail: &MailId) -> Steps {
        Steps {
            mail: Some(mail.clone()),
            ..self.clone()
        }
    }

    fn decided_mail(&self, cause: &Cause) -> Option<&MailId> {
        let is_about_mail = match cause {
            Cause::Request(request) => !matches!(request.kind, RequestKind::HandEdit { .. }),
            Cause::Observation(it) => matches!(it, Observation::ChildEnded { .. }),
        };
        self.mail.as_ref().filter(|_| is_about_mail)
    }
}

/// How often a step is decided again because another process was faster.
const ROUNDS: usize = 64;

/// How often facts are gathered within one round.
const GATHERINGS: usize = 8;

/// The result of a step.
#[derive(Debug)]
pub(crate) enum StepResult {
    Recorded {
        events: Vec<Event>,
    },
    /// There is nothing to record.
    Nothing {
        /// Whether the caller's request had already been fulfilled.
        already: bool,
    },
    Refused(Box<Refusal>),
}

/// What was gathered to decide a step, and what it was gathered for.
#[derive(Debug, Default)]
pub(crate) struct GatheredFacts {
    pub(crate) document: Option<Document>,
    /// Why TASK.md could not be read.
    pub(crate) unreadable: Option<UnreadableReason>,
    pub(crate) facts: Facts,
    /// The branch that the facts are about, if it is not the task's.
    pub(crate) branch: Option<BranchName>,
    /// The commit that a request names.
    pub(crate) head: Option<CommitId>,
    /// Whether the request is a merge, which is decided against the remote's current state.
    pub(crate) is_merge: bool,
    /// Whether this judges the end of a run, which must not wait for a branch that is gone.
    pub(crate) is_end_of_run: bool,
    /// Notices for the user that the facts lead to, whatever is decided.
    pub(crate) notices: Vec<String>,
}

impl Steps {
    /// Decides about one cause and records the result, even while other processes do the same.
    pub(crate) fn step(
        &self,
        store: &mut Store,
        id: &TaskId,
        cause: &Cause,
    ) -> Result<StepResult, DriverError> {
        self.step_from(store, id, cause, None)
    }

    /// Like `step`, starting with a TASK.md that was read just now.
    pub(crate) fn step_from(
        &self,
        store: &mut Store,
        id: &TaskId,
        cause: &Cause,
        mut just_read: Option<Document>,
    ) -> Result<StepResult, DriverError> {
        // If another process commits first, facts gathered for the same status and branch are kept,
        // because a commit changes nothing outside the database. This way, many callers cannot
        // block each other.
        let mut gathered: Option<(BranchName, Facts)> = None;
        for _ in 0..ROUNDS {
            let stored = store.require(id)?;
            store.require_same_history(&stored.task)?;
            let workflow = pinned_workflow(&stored)?;
            let mut known = GatheredFacts::default();
            known.facts.entered = stored.task.entered.version;
            if let Some((branch, facts)) = gathered.take()
                && branch == stored.task.branch
                && facts.entered == known.facts.entered
            {
                known.facts = facts;
            }
            known.branch = new_branch(cause);
            known.head = named_commit(cause);
            known.is_merge = is_merge(cause);
            known.is_end_of_run = matches!(cause, Cause::Observation(Observation::RunEnded { .. }));
            if known.is_end_of_run {
                let imported = self.workspaces.import_commits(store, &stored.task);
                self.log_failure(id, imported);
            }
            known.document = just_read.take();
            if known.document.is_none() && needs_document(cause) {
                read_document(store, id, &mut known)?;
            }
            let step_result = self.decide_once(store, &stored, &workflow, cause, &mut known);
            // A decision that is recorded stands, whatever happens to the notices.
            for notice in known.notices {
                let result = self.notice(store, id, notice);
                self.log_failure(id, result.map(|_| ()));
            }
            if let Some(step_result) = step_result? {
                return Ok(step_result);
            }
            gathered = Some((stored.task.branch.clone(), known.facts));
        }
        Err(DriverError::Contended { task: id.clone() })
    }

    /// Records a notice for the user.
    pub(crate) fn notice(
        &self,
        store: &mut Store,
        id: &TaskId,
        what: String,
    ) -> Result<StepResult, DriverError> {
        self.step(
            store,
            id,
            &Cause::Observation(Observation::AttentionNeeded { reason: what }),
        )
    }

    /// Decides and records once; `None` when another process committed first.
    fn decide_once(
        &self,
        store: &mut Store,
        stored: &StoredTask,
        workflow: &Workflow,
        cause: &Cause,
        known: &mut GatheredFacts,
    ) -> Result<Option<StepResult>, DriverError> {
        let task = &stored.task;
        for _ in 0..GATHERINGS {
            let input = Input {
                context: DecisionContext {
                    at: clock::now(),
                    fresh: ids::fresh()?,
                    document: known.document.clone(),
                    facts: known.facts.clone(),
                },
                cause: cause.clone(),
            };
            let decision = decide(workflow, task, &input);
            require_version(task, cause, &decision)?;
            match decision {
                Decision::Refusal(refusal) => {
                    self.context.log_refusal(task, cause, &refusal);
                    return Ok(Some(StepResult::Refused(Box::new(refusal))));
                }
                Decision::Needs(needs) => self.gather(store, stored, &needs, known)?,
                Decision::Plan(plan) if plan.events.is_empty() => {
                    let already = plan.is_already_done;
                    return Ok(Some(StepResult::Nothing { already }));
                }
                Decision::Plan(plan) => {
                    self.require_restartable(&plan.events, cause)?;
                    let reserve =
                        self.workspaces
                            .workspace_to_reserve(store, task, &plan.events, cause)?;
                    let limits = self.limits_of_start(workflow, &plan.events, cause)?;
                    let commit = Commit {
                        task: &task.id,
                        version: task.version,
                        events: &plan.events,
                        document: known.document.as_ref(),
                        reserve: reserve.as_ref(),
                        workflow_text: new_workflow(cause),
                        limits: limits.as_ref(),
                    };
                    let recorded = store.record_for(&commit, self.decided_mail(cause))?;
                    return Ok(match (recorded, cause) {
                        (CommitOutcome::Recorded(recorded), _) => {
                            self.context.log_decision(task, cause, &plan.events);
                            if let Some(parking) = &recorded.parked {
                                self.log_parking(task, parking);
                            }
                            let events = plan.events;
                            if recorded.task.entered.version > task.version {
                                self.inform_others(store, workflow, &recorded.task, &events);
                            }
                            Some(StepResult::Recorded { events })
                        }
                        (CommitOutcome::HeldBack { waits }, Cause::Request(request)) => {
                            let refusal = refuse_start(task, request, waits);
                            self.context.log_refusal(task, cause, &refusal);
                            Some(StepResult::Refused(Box::new(refusal)))
                        }
                        _ => None,
                    });
                }
            }
        }
        Ok(None)
    }
}

/// Fails if the caller saw another version of the task, unless what it asks for is already so. The
/// commit compares the version too, so the task cannot change between this check and the record.
fn require_version(task: &Task, cause: &Cause, decision: &Decision) -> Result<(), DriverError> {
    let Cause::Request(Request {
        if_version: Some(seen),
        ..
    }) = cause
    else {
        return Ok(());
    };
    let is_already_done = matches!(decision, Decision::Plan(plan) if plan.is_already_done);
    if *seen == task.version || is_already_done {
        return Ok(());
    }
    Err(DriverError::TaskChanged {
        task: task.id.clone(),
        seen: *seen,
        version: task.version,
        status: task.status.clone(),
    })
}

/// Whether TASK.md is read before the first decision, so that what was read is recorded with it.
fn needs_document(cause: &Cause) -> bool {
    match cause {
        // A deleted task is not read: its directory is in the trash.
        Cause::Request(request) => {
            !matches!(request.kind, RequestKind::Delete | RequestKind::Restore)
        }
        Cause::Observation(observation) => matches!(
            observation,
            Observation::DocumentRead { .. } | Observation::RunEnded { .. }
        ),
    }
}

/// The branch that a request would give the task.
fn new_branch(cause: &Cause) -> Option<BranchName> {
    match cause {
        Cause::Request(Request {
            kind: RequestKind::Amend { branch, .. },
            ..
        }) => branch.clone(),
        _ => None,
    }
}

/// The commit that a request names.
fn named_commit(cause: &Cause) -> Option<CommitId> {
    match cause {
        Cause::Request(request) => request.head.clone(),
        Cause::Observation(_) => None,
    }
}

/// The text of the workflow that a request would pin the task to.
fn new_workflow(cause: &Cause) -> Option<&str> {
    match cause {
        Cause::Request(Request {
            kind: RequestKind::ChangeWorkflow { text, .. },
            ..
        }) => Some(text),
        _ => None,
    }
}

/// Whether a request is a merge that may be pushed to the remote.
fn is_merge(cause: &Cause) -> bool {
    match cause {
        Cause::Request(request) => matches!(
            request.kind,
            RequestKind::Merge { local: false, .. } | RequestKind::Verb(Verb::Merge)
        ),
        Cause::Observation(_) => false,
    }
}

/// Reads TASK.md; if it cannot be read, notes why.
pub(crate) fn read_document(
    store: &mut Store,
    id: &TaskId,
    known: &mut GatheredFacts,
) -> Result<(), DriverError> {
    match orange_store::import(store, id, clock::now())? {
        ImportResult::Read(imported) => known.document = Some(imported.document),
        ImportResult::Unknown(reason) => known.unreadable = Some(reason),
    }
    Ok(())
}
