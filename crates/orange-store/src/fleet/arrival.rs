//! Takes over a task that the server gives to this machine.

use std::collections::BTreeMap;

use orange_engine::Task;
use orange_engine::document::Document;
use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::link::Takeover;
use orange_fleet::message::{Claim, Wip};
use rusqlite::{Connection, params};

use super::commits::{self, keep_log_commits};
use super::membership::{self, Membership};
use super::texts::{NamedText, kinds};
use crate::Store;
use crate::error::{StoreError, failed, require_readable};
use crate::files::task_directory::TaskDirectory;
use crate::files::whole_file;
use crate::open::make_private;
use crate::replayed::{ReplayedTask, insert_new};
use crate::tables::{events, tasks};

/// What a claim led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It was late or for another incarnation; nothing has changed.
    Stale,
    /// The task here continues the claim's log, and goes on.
    Continued,
    /// The task is here now, and has to be continued.
    TakenOver(Box<Task>),
}

/// A task that was taken over and does not continue here yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub task: TaskId,
    /// Uncommitted work that the other machine has saved.
    pub wip: Option<Wip>,
    /// Whether it is recorded that the task moved.
    pub is_moved: bool,
}

/// The parts of a claim that were checked.
struct CheckedLog<'a> {
    events: Vec<Event>,
    workflow: &'a str,
    document: Option<Document>,
}

impl Store {
    /// Takes a claimed task over, in the same transaction in which the link learns of the claim: a
    /// process that is killed before it holds nothing, and the server names the task again.
    ///
    /// `claimed` tells the link about the claim and the local commits of the task. Fails if another
    /// copy of the task is here.
    pub fn take_over(
        &mut self,
        claim: &Claim,
        claimed: impl FnOnce(&mut Membership, &[Commit]) -> Takeover,
    ) -> Result<Claimed, StoreError> {
        let attempt = "take over a task";
        let home = self.home.clone();
        let id = TaskId::new(claim.task.as_str());
        let log = check(&id, claim);
        let writing = self.write(attempt)?;
        let (connection, sequence) = (&writing.transaction, writing.sequence);
        let mut known = membership::find(connection)?.ok_or(StoreError::NotJoined { attempt })?;
        let is_here = tasks::find(connection, &id)?.is_some();
        let local = if is_here {
            commits::all(connection, &id)?
        } else {
            Vec::new()
        };
        let result = match claimed(&mut known, &local) {
            // Dropping the transaction leaves everything as it is.
            Takeover::Stale => return Ok(Claimed::Stale),
            Takeover::Continued => Claimed::Continued,
            Takeover::Fresh if is_here => return Err(StoreError::OtherCopy { task: id }),
            Takeover::Fresh => {
                let log = log?;
                let replayed = ReplayedTask {
                    events: &log.events,
                    workflow_text: log.workflow,
                    document: log.document.as_ref(),
                };
                let task = insert_new(connection, sequence, &home, &replayed)?;
                keep_as_written(connection, &id, &log.events, &claim.commits)?;
                keep_log_commits(connection, &id, &claim.commits)?;
                insert_arrival(connection, &id, claim.wip.as_ref())?;
                // What was to be removed is not here any more.
                known.dropped.remove(&claim.task);
                Claimed::TakenOver(Box::new(task))
            }
        };
        membership::write(connection, &known)?;
        writing.commit()?;
        Ok(result)
    }

    /// The tasks that were taken over and do not continue here yet.
    pub fn arrivals(&self) -> Result<Vec<Arrival>, StoreError> {
        let attempt = "read which tasks arrive";
        let sql = "SELECT task, wip, is_moved FROM arrivals ORDER BY task";
        let mut statement = self.connection.prepare(sql).map_err(failed(attempt))?;
        let rows = statement
            .query_map([], |row| {
                let (task, wip): (String, Option<String>) = (row.get(0)?, row.get(1)?);
                Ok((TaskId::new(task), wip, row.get::<_, bool>(2)?))
            })
            .map_err(failed(attempt))?;
        let mut arrivals = Vec::new();
        for row in rows {
            let (task, wip, is_moved) = row.map_err(failed(attempt))?;
            let parse = |json: String| {
                serde_json::from_str(&json)
                    .map_err(|error| StoreError::json("the saved work", &task, &error))
            };
            arrivals.push(Arrival {
                wip: wip.map(parse).transpose()?,
                task,
                is_moved,
            });
        }
        Ok(arrivals)
    }

    /// Puts the text of TASK.md that the other machine has saved into the task's directory, unless
    /// there is a file already.
    pub fn place_document(&self, task: &TaskId, text: &str) -> Result<(), StoreError> {
        let project = self.require(task)?.task.project;
        let directory = TaskDirectory::new(&self.home, &project, task)?;
        make_private(directory.path())?;
        whole_file::write_new(&directory.task_file(), text.as_bytes(), 0o600)?;
        Ok(())
    }

    /// Notes that a task continues here: its effects may start.
    pub fn finish_arrival(&mut self, task: &TaskId) -> Result<(), StoreError> {
        let attempt = "note that a task continues here";
        let writing = self.write(attempt)?;
        writing
            .transaction
            .execute("DELETE FROM arrivals WHERE task = ?1", [task.as_str()])
            .map_err(failed(attempt))?;
        writing.commit()?;
        Ok(())
    }
}

fn insert_arrival(
    connection: &Connection,
    task: &TaskId,
    wip: Option<&Wip>,
) -> Result<(), StoreError> {
    let json = wip.map(serde_json::to_string).transpose();
    let json = json.map_err(|error| StoreError::json("the saved work", task, &error))?;
    connection
        .execute(
            "INSERT INTO arrivals (task, wip) VALUES (?1, ?2)",
            params![task.as_str(), json],
        )
        .map_err(failed("note that a task arrives"))?;
    Ok(())
}

/// The log of a claim, if it is one: a server that is wrong or hostile must not get anything else
/// into the home.
fn check<'a>(task: &TaskId, claim: &'a Claim) -> Result<CheckedLog<'a>, StoreError> {
    let bad = |reason: String| StoreError::BadLog {
        task: task.clone(),
        reason,
    };
    let mut texts: BTreeMap<Sha, &str> = BTreeMap::new();
    for text in &claim.texts {
        if Sha::of(text.content.as_bytes()) != text.sha {
            return Err(bad(format!(
                "text {} is not the one of this hash",
                text.sha
            )));
        }
        texts.insert(text.sha, &text.content);
    }
    let (mut head, mut events) = (Head::default(), Vec::new());
    let (mut workflow, mut document) = (None, None);
    for commit in &claim.commits {
        if !commit.follows(head) {
            let version = commit.first;
            return Err(bad(format!(
                "its commit at version {version} does not follow"
            )));
        }
        head = commit.head();
        let of_commit = commit.events.iter().map(|json| parse(task, json.as_str()));
        let of_commit: Vec<Event> = of_commit.collect::<Result<_, _>>()?;
        let kinds = kinds(&of_commit, commit.texts.len());
        if kinds.len() != commit.texts.len() {
            let version = commit.first;
            return Err(bad(format!("its commit at version {version} lacks a text")));
        }
        for (kind, sha) in kinds.into_iter().zip(&commit.texts) {
            let text = texts.get(sha).copied();
            let text = text.ok_or_else(|| bad(format!("text {sha} is missing")))?;
            match kind {
                NamedText::Workflow => workflow = Some(text),
                NamedText::Document => document = Some(text),
            }
        }
        events.extend(of_commit);
    }
    if head != claim.head {
        return Err(bad(String::from("its commits end before its head")));
    }
    let first = events
        .first()
        .and_then(orange_engine::apply::task_from_first_event);
    if first.is_none_or(|it| it.id != *task) {
        return Err(bad(String::from(
            "it begins with the creation of another task",
        )));
    }
    let document = document.map(|it| Document::parse(it.as_bytes()));
    let document = document.transpose();
    Ok(CheckedLog {
        events,
        workflow: workflow.ok_or_else(|| bad(String::from("it names no workflow")))?,
        document: document.map_err(|error| bad(format!("its document: {error}")))?,
    })
}

fn parse(task: &TaskId, json: &str) -> Result<Event, StoreError> {
    require_readable(json.as_bytes()).map_err(|source| StoreError::NewerEvents {
        task: task.clone(),
        source,
    })?;
    serde_json::from_str(json).map_err(|error| StoreError::event(task, json, &error))
}

/// Keeps each event as it was written, because the log's hashes are over that text.
fn keep_as_written(
    connection: &Connection,
    task: &TaskId,
    events: &[Event],
    commits: &[Commit],
) -> Result<(), StoreError> {
    let written = commits.iter().flat_map(|it| &it.events);
    for (event, json) in events.iter().zip(written) {
        events::set_json(connection, task, event, json.as_str())?;
    }
    Ok(())
}
