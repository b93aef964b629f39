//! The commits of a task as the server's log has them.

use std::collections::BTreeMap;

use orange_engine::event::Event;
use orange_engine::names::TaskId;
use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{MailId, Version};
use orange_fleet::json::Json;
use orange_fleet::message::Text;
use rusqlite::{Connection, params};

use super::texts::TaskTexts;
use crate::Store;
use crate::error::{StoreError, failed};
use crate::tables::{events, texts};

/// What the log says about a commit beside its events.
struct LogCommit {
    sha: Sha,
    texts: Vec<Sha>,
    mail: Option<MailId>,
}

impl Store {
    /// The commits of a task after a version, in order: what one local transaction recorded is one
    /// commit, and what came from the server's log is as it was there.
    pub fn commits_of(&self, task: &TaskId, after: Version) -> Result<Vec<Commit>, StoreError> {
        let snapshot = self
            .connection
            .unchecked_transaction()
            .map_err(failed("read the commits of a task"))?;
        let mut commits = all(&snapshot, task)?;
        commits.retain(|it| it.last > after);
        Ok(commits)
    }

    /// The texts that a commit names.
    pub fn texts_of(&self, commit: &Commit) -> Result<Vec<Text>, StoreError> {
        let mut found = Vec::new();
        for sha in &commit.texts {
            if let Some(content) = texts::find(&self.connection, &sha.to_string())? {
                found.push(Text { sha: *sha, content });
            }
        }
        Ok(found)
    }
}

/// Every commit of a task.
pub(super) fn all(connection: &Connection, task: &TaskId) -> Result<Vec<Commit>, StoreError> {
    let of_log = log_commits(connection, task)?;
    let log_end = of_log.keys().next_back().copied().unwrap_or_default();
    let mail = decided_mail(connection, task)?;
    let rows = events::raw_of_task(connection, task)?;
    let named = TaskTexts::of(connection, task)?;
    let mut commits: Vec<Commit> = Vec::new();
    let mut rows = rows.into_iter().peekable();
    let (mut texts, mut lines) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next() {
        let is_last = if row.version <= log_end {
            of_log.contains_key(&row.version)
        } else {
            rows.peek().is_none_or(|it| it.sequence != row.sequence)
        };
        let broken = || StoreError::BadLog {
            task: task.clone(),
            reason: format!("its event {} here is not one of a chain", row.version),
        };
        if row.version > log_end {
            let event: Event = serde_json::from_str(&row.json)
                .map_err(|error| StoreError::event(task, &row.json, &error))?;
            texts.extend(named.named_by(&event));
        }
        lines.push(Json::new(row.json.clone()).ok_or_else(broken)?);
        if !is_last {
            continue;
        }
        let head = commits.last().map_or_else(Head::default, Commit::head);
        let events = std::mem::take(&mut lines);
        let own_texts = std::mem::take(&mut texts);
        let commit = match of_log.get(&row.version) {
            Some(known) => {
                let commit = Commit::new(head, events, known.texts.clone(), known.mail.clone());
                commit.filter(|it| it.sha == known.sha)
            }
            None => Commit::new(head, events, own_texts, mail.get(&row.version).cloned()),
        };
        let commit = commit.filter(|it| it.last == Version(row.version));
        commits.push(commit.ok_or_else(broken)?);
    }
    Ok(commits)
}

/// The mail that commits recorded here have decided, by their last version.
fn decided_mail(
    connection: &Connection,
    task: &TaskId,
) -> Result<BTreeMap<u64, MailId>, StoreError> {
    let attempt = "read decided mail";
    let sql = "SELECT version, mail FROM decided_mail WHERE task = ?1";
    let mut statement = connection.prepare(sql).map_err(failed(attempt))?;
    let rows = statement
        .query_map([task.as_str()], |row| {
            Ok((row.get(0)?, MailId::new(row.get::<_, String>(1)?)))
        })
        .map_err(failed(attempt))?;
    rows.map(|row| row.map_err(failed(attempt))).collect()
}

/// Notes which mail a commit has decided. Fails if another commit has decided it.
pub(crate) fn decide_mail(
    connection: &Connection,
    task: &TaskId,
    version: u64,
    mail: &MailId,
) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT INTO decided_mail (task, version, mail) VALUES (?1, ?2, ?3)",
            params![task.as_str(), version, mail.as_str()],
        )
        .map_err(failed("note which mail was decided"))?;
    Ok(())
}

fn log_commits(
    connection: &Connection,
    task: &TaskId,
) -> Result<BTreeMap<u64, LogCommit>, StoreError> {
    let attempt = "read the commits of the log";
    let sql = "SELECT last, sha, texts, mail FROM log_commits WHERE task = ?1 ORDER BY last";
    let mut statement = connection.prepare(sql).map_err(failed(attempt))?;
    let rows = statement
        .query_map([task.as_str()], |row| {
            let (last, sha): (u64, String) = (row.get(0)?, row.get(1)?);
            let (texts, mail): (String, Option<String>) = (row.get(2)?, row.get(3)?);
            Ok((last, sha, texts, mail))
        })
        .map_err(failed(attempt))?;
    let mut commits = BTreeMap::new();
    for row in rows {
        let (last, sha, texts, mail) = row.map_err(failed(attempt))?;
        let unreadable = || StoreError::BadLog {
            task: task.clone(),
            reason: format!("the hash of its commit at version {last} here is damaged"),
        };
        let commit = LogCommit {
            sha: Sha::parse(&sha).ok_or_else(unreadable)?,
            texts: serde_json::from_str(&texts).map_err(|_| unreadable())?,
            mail: mail.map(MailId::new),
        };
        commits.insert(last, commit);
    }
    Ok(commits)
}

/// Keeps what the log says about its commits; what is known already stays.
pub(super) fn keep_log_commits(
    connection: &Connection,
    task: &TaskId,
    commits: &[Commit],
) -> Result<(), StoreError> {
    for commit in commits {
        let texts = serde_json::to_string(&commit.texts)
            .map_err(|error| StoreError::json("the texts of a commit", task, &error))?;
        connection
            .execute(
                "INSERT INTO log_commits (task, last, sha, texts, mail) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO NOTHING",
                params![
                    task.as_str(),
                    commit.last.0,
                    commit.sha.to_string(),
                    texts,
                    commit.request.as_ref().map(MailId::as_str)
                ],
            )
            .map_err(failed("keep the commits of the log"))?;
    }
    Ok(())
}
