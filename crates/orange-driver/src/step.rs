//! One step: load, decide, gather what is needed, record.

use orange_config::clock;
use orange_engine::document::Document;
use orange_engine::event::Event;
use orange_engine::input::{Ask, Cause, Facts, Input, Observation, Request};
use orange_engine::language::load;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::schedule::Standing;
use orange_engine::{Decision, Refusal, Task, Workflow, decide, held_back};
use orange_store::{Commit, Reading, Record, Store, StoredTask, Unknown};

use crate::{Driver, DriverError, ids};

/// How often a step is decided anew because somebody else was faster.
const ROUNDS: usize = 64;

/// How often facts are asked for within one round.
const GATHERINGS: usize = 8;

/// What a step came to.
#[derive(Debug)]
pub(super) enum Stepped {
    /// It was recorded.
    Recorded {
        /// What was recorded.
        events: Vec<Event>,
    },
    /// There is nothing to record.
    Nothing {
        /// Whether the asker had got it before.
        already: bool,
    },
    /// It was refused.
    Refused(Box<Refusal>),
}

/// What is known while a step is decided.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) document: Option<Document>,
    pub(super) unknown: Option<Unknown>,
    pub(super) facts: Facts,
    /// The branch that facts are about, when it is not the task's.
    pub(super) branch: Option<BranchName>,
    /// The commit that a request speaks for.
    pub(super) head: Option<CommitId>,
    /// Whether a merge is asked for, which is decided for what the remote has now.
    pub(super) merges: bool,
    /// Whether the end of a run is judged, which must not wait for a branch that is gone.
    pub(super) judges_end: bool,
}

impl Driver {
    /// Decides about one cause and records what follows, however many others do the same.
    pub(super) fn step(
        &self,
        store: &mut Store,
        id: &TaskId,
        cause: &Cause,
    ) -> Result<Stepped, DriverError> {
        self.step_from(store, id, cause, None)
    }

    /// The same, beginning with a TASK.md that was read just now.
    pub(super) fn step_from(
        &self,
        store: &mut Store,
        id: &TaskId,
        cause: &Cause,
        mut just_read: Option<Document>,
    ) -> Result<Stepped, DriverError> {
        // Another commit in between changes nothing about the world: what was gathered for the same
        // status and branch still holds, so that many callers cannot keep each other from deciding.
        let mut gathered: Option<(BranchName, Facts)> = None;
        for _ in 0..ROUNDS {
            let stored = store.require(id)?;
            store.require_same_history(&stored.task)?;
            let workflow = pinned(&stored)?;
            let mut known = Known::default();
            known.facts.entered = stored.task.entered.version;
            if let Some((branch, facts)) = gathered.take()
                && branch == stored.task.branch
                && facts.entered == known.facts.entered
            {
                known.facts = facts;
            }
            known.branch = new_branch(cause);
            known.head = named_commit(cause);
            known.merges = merges(cause);
            known.judges_end = matches!(cause, Cause::Observation(Observation::RunEnded { .. }));
            known.document = just_read.take();
            if known.document.is_none() && reads_first(cause) {
                read(store, id, &mut known)?;
            }
            let stepped = self.decide_once(store, &stored, &workflow, cause, &mut known)?;
            if let Some(stepped) = stepped {
                return Ok(stepped);
            }
            gathered = Some((stored.task.branch.clone(), known.facts));
        }
        Err(DriverError::Contended { task: id.clone() })
    }

    /// One round; nothing when somebody else was faster.
    fn decide_once(
        &self,
        store: &mut Store,
        stored: &StoredTask,
        workflow: &Workflow,
        cause: &Cause,
        known: &mut Known,
    ) -> Result<Option<Stepped>, DriverError> {
        let task = &stored.task;
        for _ in 0..GATHERINGS {
            let input = Input {
                at: clock::now(),
                fresh: ids::fresh()?,
                document: known.document.clone(),
                facts: known.facts.clone(),
                cause: cause.clone(),
            };
            match decide(workflow, task, &input) {
                Decision::Refusal(refusal) => {
                    self.log_refusal(task, cause, &refusal);
                    return Ok(Some(Stepped::Refused(Box::new(refusal))));
                }
                Decision::Needs(needs) => self.gather(store, stored, &needs, known)?,
                Decision::Plan(plan) if plan.events.is_empty() => {
                    let already = plan.already;
                    return Ok(Some(Stepped::Nothing { already }));
                }
                Decision::Plan(plan) => {
                    let reserve = self.workspace_to_reserve(store, task, &plan.events, cause)?;
                    let limits = self.limits_of_start(workflow, &plan.events, cause)?;
                    let recorded = store.record(&Commit {
                        task: &task.id,
                        version: task.version,
                        events: &plan.events,
                        document: known.document.as_ref(),
                        reserve: reserve.as_ref(),
                        workflow_text: new_workflow(cause),
                        limits: limits.as_ref(),
                    })?;
                    return Ok(match (recorded, cause) {
                        (Record::Recorded(recorded), _) => {
                            self.log_decision(task, cause, &plan.events);
                            if let Some(parking) = &recorded.parked {
                                self.tell_of_parking(task, parking);
                            }
                            let events = plan.events;
                            if recorded.task.entered.version > task.version {
                                self.follow_end(store, workflow, &recorded.task);
                            }
                            Some(Stepped::Recorded { events })
                        }
                        (Record::HeldBack { waits }, Cause::Request(request)) => {
                            let refusal = held_back(task, request, waits);
                            self.log_refusal(task, cause, &refusal);
                            Some(Stepped::Refused(Box::new(refusal)))
                        }
                        _ => None,
                    });
                }
            }
        }
        Ok(None)
    }

    /// Tells others of the end of a task, if this is one.
    fn follow_end(&self, store: &mut Store, workflow: &Workflow, task: &Task) {
        if workflow.is_terminal(&task.status) {
            self.tell_of_end(store, &Standing::of(workflow, task));
        }
    }

    /// Brings the files of a task up to date, and follows a status that was written by hand.
    ///
    /// The decision stands whether or not its copies could be written; the next projection tries
    /// again.
    pub(super) fn project_files(&self, store: &mut Store, id: &TaskId) -> Result<(), DriverError> {
        orange_store::project(store, id, clock::now())?;
        if self.follow_kept_wish(store, id)? {
            orange_store::project(store, id, clock::now())?;
        }
        Ok(())
    }
}

/// Whether TASK.md is read before the first decision, so that the call records its own import.
fn reads_first(cause: &Cause) -> bool {
    match cause {
        // What is put away is not read: its directory is somewhere else.
        Cause::Request(request) => !matches!(request.ask, Ask::Delete | Ask::BringBack),
        Cause::Observation(observation) => matches!(
            observation,
            Observation::DocumentRead { .. } | Observation::RunEnded { .. }
        ),
    }
}

/// The branch that a request would make the task's.
fn new_branch(cause: &Cause) -> Option<BranchName> {
    match cause {
        Cause::Request(Request {
            ask: Ask::Amend { branch, .. },
            ..
        }) => branch.clone(),
        _ => None,
    }
}

/// The commit that a request speaks for.
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
            ask: Ask::Adopt { text, .. },
            ..
        }) => Some(text),
        _ => None,
    }
}

/// Whether a request asks for a merge that the remote may be told of.
fn merges(cause: &Cause) -> bool {
    match cause {
        Cause::Request(request) => matches!(
            request.ask,
            Ask::Merge { local: false, .. } | Ask::Verb(Verb::Merge)
        ),
        Cause::Observation(_) => false,
    }
}

/// Reads TASK.md; what nobody can tell is no import.
pub(super) fn read(store: &mut Store, id: &TaskId, known: &mut Known) -> Result<(), DriverError> {
    match orange_store::import(store, id, clock::now())? {
        Reading::Read(imported) => known.document = Some(imported.document),
        Reading::Unknown(unknown) => known.unknown = Some(unknown),
    }
    Ok(())
}

/// The workflow a task is pinned to.
pub(super) fn pinned(stored: &StoredTask) -> Result<Workflow, DriverError> {
    let loaded = load(&stored.workflow_text);
    let problem = loaded.problems.first().map(|it| it.message.clone());
    match (loaded.workflow, problem) {
        (Some(workflow), None) => Ok(workflow),
        (_, problem) => Err(DriverError::WorkflowInvalid {
            name: stored.task.workflow.to_string(),
            problem: problem.unwrap_or_else(|| String::from("it has no shape of one")),
        }),
    }
}
