//! Facts about the world, kept for one status and one commit.

use std::collections::BTreeMap;

use orange_engine::input::{CommandResult, Facts, GitFacts, PullRequestFacts};
use orange_engine::language::gates::{ChecksState, GitCondition, PullRequestState};
use orange_engine::names::{CommitId, RunId, TaskId};
use orange_engine::report::Report;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::Store;
use super::error::{StoreError, failed};

impl Store {
    /// What was gathered for a task in the status it entered at a version, for a commit.
    ///
    /// Nothing when nothing was: facts of another status or commit do not count.
    pub fn facts(
        &self,
        task: &TaskId,
        entered: u64,
        head: &CommitId,
    ) -> Result<Option<Facts>, StoreError> {
        find(&self.connection, task, entered, head)
    }

    /// Keeps what was gathered, beside what is known for the same status and commit.
    ///
    /// What was kept for an earlier status is dropped.
    pub fn keep_facts(
        &mut self,
        task: &TaskId,
        head: &CommitId,
        facts: &Facts,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let writing = self.write("keep facts")?;
        let connection = &writing.transaction;
        let known = find(connection, task, facts.entered, head)?;
        let merged = merge(known.unwrap_or_default(), facts);
        let json = serde_json::to_string(&Stored::from(&merged))
            .map_err(|error| StoreError::json("facts", task, &error))?;
        connection
            .execute(
                "DELETE FROM facts WHERE task = ?1 AND entered < ?2",
                params![task.as_str(), facts.entered],
            )
            .map_err(failed("keep facts"))?;
        connection
            .execute(
                "INSERT INTO facts (task, entered, head, facts, at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (task, entered, head) DO UPDATE
                 SET facts = excluded.facts, at = excluded.at",
                params![
                    task.as_str(),
                    facts.entered,
                    head.as_str(),
                    json,
                    now.to_string()
                ],
            )
            .map_err(failed("keep facts"))?;
        writing.commit()?;
        Ok(())
    }
}

fn find(
    connection: &Connection,
    task: &TaskId,
    entered: u64,
    head: &CommitId,
) -> Result<Option<Facts>, StoreError> {
    let json: Option<String> = connection
        .query_row(
            "SELECT facts FROM facts WHERE task = ?1 AND entered = ?2 AND head = ?3",
            params![task.as_str(), entered, head.as_str()],
            |row| row.get(0),
        )
        .optional()
        .map_err(failed("read facts"))?;
    let Some(json) = json else { return Ok(None) };
    let stored: Stored =
        serde_json::from_str(&json).map_err(|error| StoreError::json("facts", task, &error))?;
    Ok(Some(stored.facts(entered)))
}

fn merge(mut known: Facts, new: &Facts) -> Facts {
    known.entered = new.entered;
    known.git = new.git.clone().or(known.git);
    known.pull_request = new.pull_request.or(known.pull_request);
    known.commands.extend(new.commands.clone());
    known.reports.extend(new.reports.clone());
    known
}

/// Facts in JSON, where only texts can be keys.
#[derive(Serialize, Deserialize)]
struct Stored {
    git: Option<StoredGit>,
    pull_request: Option<StoredPullRequest>,
    commands: Vec<(Vec<String>, CommandResult)>,
    reports: BTreeMap<RunId, Option<Report>>,
    /// Whether the pull request was looked for at all.
    pull_request_known: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredGit {
    head: CommitId,
    base: CommitId,
    holds: Vec<GitCondition>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct StoredPullRequest {
    state: PullRequestState,
    checks: Option<ChecksState>,
}

impl Stored {
    fn from(facts: &Facts) -> Stored {
        Stored {
            git: facts.git.as_ref().map(|git| StoredGit {
                head: git.head.clone(),
                base: git.base.clone(),
                holds: git.holds.clone(),
            }),
            pull_request: facts
                .pull_request
                .flatten()
                .map(|PullRequestFacts { state, checks }| StoredPullRequest { state, checks }),
            pull_request_known: facts.pull_request.is_some(),
            commands: facts.commands.clone().into_iter().collect(),
            reports: facts.reports.clone(),
        }
    }

    fn facts(self, entered: u64) -> Facts {
        let found = self.pull_request;
        let found =
            found.map(|StoredPullRequest { state, checks }| PullRequestFacts { state, checks });
        Facts {
            entered,
            git: self.git.map(|git| GitFacts {
                head: git.head,
                base: git.base,
                holds: git.holds,
            }),
            pull_request: self.pull_request_known.then_some(found),
            commands: self.commands.into_iter().collect(),
            reports: self.reports,
        }
    }
}
