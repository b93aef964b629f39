//! Issues that orange has seen, and how far they were read.
//!
//! A row describes the outside world: a rebuild drops it, with the user's decisions about the
//! issue, and the next sync reads the issue again. A sync that finds nothing new writes nothing.

use orange_engine::forge::issue::{Issue, Revision};
use orange_engine::names::ProjectName;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// An issue, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIssue {
    /// The forge's own id.
    pub id: String,
    pub number: u64,
    pub title: String,
    pub revision: Revision,
    pub labels: Vec<String>,
    pub is_open: bool,
    pub updated: Timestamp,
    /// The verdict about this state of the issue, as JSON; `None` until it has been judged.
    pub verdict: Option<String>,
    /// The revision that the user approved.
    pub approved: Option<Revision>,
    /// The revision that the user ignores.
    pub ignored: Option<Revision>,
}

/// How far the issues of a project were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueCursor {
    /// The repository, as `host/owner/name`.
    pub repository: String,
    /// The last change that was read.
    pub since: Option<Timestamp>,
    /// The forge's `ETag` for the list of changes since then.
    pub etag: Option<String>,
}

/// What the user decided about the present text of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueDecision {
    Approved,
    Ignored,
}

const COLUMNS: &str =
    "id, number, title, revision, labels, is_open, updated, verdict, approved, ignored";

impl Store {
    /// The issues of a project, by number.
    pub fn issues(&self, project: &ProjectName) -> Result<Vec<StoredIssue>, StoreError> {
        let attempt = || failed("read issues");
        let sql = format!("SELECT {COLUMNS} FROM issues WHERE project = ?1 ORDER BY number");
        let mut statement = self.connection.prepare(&sql).map_err(attempt())?;
        let found = statement.query_map([project.as_str()], read);
        let found: Result<Vec<_>, _> = found.map_err(attempt())?.collect();
        found.map_err(attempt())
    }

    pub fn issue(
        &self,
        project: &ProjectName,
        number: u64,
    ) -> Result<Option<StoredIssue>, StoreError> {
        find(&self.connection, project, number)
    }

    /// How far the issues of a project were read.
    pub fn issue_cursor(&self, project: &ProjectName) -> Result<Option<IssueCursor>, StoreError> {
        let sql = "SELECT repository, since, etag FROM issue_cursors WHERE project = ?1";
        let cursor = self.connection.query_row(sql, [project.as_str()], |row| {
            let since: Option<String> = row.get(1)?;
            Ok(IssueCursor {
                repository: row.get(0)?,
                since: since.and_then(|it| Timestamp::parse(&it).ok()),
                etag: row.get(2)?,
            })
        });
        cursor.optional().map_err(failed("read the issue cursor"))
    }

    /// Records issues as they are now, and how far they were read; returns whether anything was
    /// new. If the project's repository is another one than before, the issues of the old one are
    /// dropped.
    pub fn record_issues(
        &mut self,
        project: &ProjectName,
        issues: &[Issue],
        cursor: &IssueCursor,
    ) -> Result<bool, StoreError> {
        let attempt = || failed("record issues");
        let known = self.issue_cursor(project)?;
        let mut changed = Vec::new();
        for issue in issues {
            let stored = self.issue(project, issue.number)?;
            if stored.is_none_or(|it| !is_same(&it, issue)) {
                changed.push(issue);
            }
        }
        if changed.is_empty() && known.as_ref() == Some(cursor) {
            return Ok(false);
        }
        let writing = self.write("record issues")?;
        let connection = &writing.transaction;
        if known.is_some_and(|it| it.repository != cursor.repository) {
            let sql = "DELETE FROM issues WHERE project = ?1";
            connection
                .execute(sql, [project.as_str()])
                .map_err(attempt())?;
            changed = issues.iter().collect();
        }
        for issue in changed {
            keep(connection, project, issue)?;
        }
        let since = cursor.since.map(|it| it.to_string());
        connection
            .execute(
                "INSERT OR REPLACE INTO issue_cursors (project, repository, since, etag)
                 VALUES (?1, ?2, ?3, ?4)",
                params![project.as_str(), cursor.repository, since, cursor.etag],
            )
            .map_err(attempt())?;
        writing.commit()?;
        Ok(true)
    }

    /// Records a verdict about an issue as it is now; returns whether the verdict was new.
    pub fn record_verdict(
        &mut self,
        project: &ProjectName,
        issue: &Issue,
        verdict: &str,
    ) -> Result<bool, StoreError> {
        let stored = self.issue(project, issue.number)?;
        let is_known =
            |it: StoredIssue| is_same(&it, issue) && it.verdict.as_deref() == Some(verdict);
        if stored.is_some_and(is_known) {
            return Ok(false);
        }
        let writing = self.write("record an issue")?;
        keep(&writing.transaction, project, issue)?;
        writing
            .transaction
            .execute(
                "UPDATE issues SET verdict = ?3 WHERE project = ?1 AND number = ?2",
                params![project.as_str(), issue.number, verdict],
            )
            .map_err(failed("record an issue"))?;
        writing.commit()?;
        Ok(true)
    }

    /// Records what the user decided about the present text of an issue. The other decision is
    /// withdrawn.
    pub fn decide_issue(
        &mut self,
        project: &ProjectName,
        issue: &Issue,
        decision: IssueDecision,
    ) -> Result<(), StoreError> {
        let revision = issue.revision();
        let revision = Some(revision.as_str());
        let (approved, ignored) = match decision {
            IssueDecision::Approved => (revision, None),
            IssueDecision::Ignored => (None, revision),
        };
        let writing = self.write("record a decision about an issue")?;
        keep(&writing.transaction, project, issue)?;
        writing
            .transaction
            .execute(
                "UPDATE issues SET approved = ?3, ignored = ?4, verdict = NULL
                 WHERE project = ?1 AND number = ?2",
                params![project.as_str(), issue.number, approved, ignored],
            )
            .map_err(failed("record a decision about an issue"))?;
        writing.commit()?;
        Ok(())
    }
}

/// Whether an issue is as it was stored.
fn is_same(stored: &StoredIssue, issue: &Issue) -> bool {
    stored.id == issue.id
        && stored.revision == issue.revision()
        && stored.labels == issue.labels
        && stored.is_open == issue.is_open
        && stored.updated == issue.updated
}

/// Writes an issue as it is now. A changed issue has to be judged again. If the number now belongs
/// to another issue, the user's decisions about the old one are dropped.
fn keep(connection: &Connection, project: &ProjectName, issue: &Issue) -> Result<(), StoreError> {
    let stored = find(connection, project, issue.number)?;
    if stored.as_ref().is_some_and(|it| is_same(it, issue)) {
        return Ok(());
    }
    let decided = stored.filter(|it| it.id == issue.id);
    let text = |revision: Option<Revision>| revision.map(|it| it.as_str().to_owned());
    let (approved, ignored) = decided.map_or((None, None), |it| (it.approved, it.ignored));
    let labels = serde_json::Value::from(issue.labels.clone()).to_string();
    connection
        .execute(
            "INSERT OR REPLACE INTO issues (project, number, id, title, revision, labels, is_open,
                 updated, verdict, approved, ignored)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?9, ?10)",
            params![
                project.as_str(),
                issue.number,
                issue.id,
                issue.title,
                issue.revision().as_str(),
                labels,
                issue.is_open,
                issue.updated.to_string(),
                text(approved),
                text(ignored),
            ],
        )
        .map_err(failed("record an issue"))?;
    Ok(())
}

pub(crate) fn find(
    connection: &Connection,
    project: &ProjectName,
    number: u64,
) -> Result<Option<StoredIssue>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM issues WHERE project = ?1 AND number = ?2");
    connection
        .query_row(&sql, params![project.as_str(), number], read)
        .optional()
        .map_err(failed("read an issue"))
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredIssue> {
    let labels: String = row.get(4)?;
    let updated: String = row.get(6)?;
    let revision = |text: Option<String>| text.map(|it| Revision::from_text(&it));
    Ok(StoredIssue {
        id: row.get(0)?,
        number: row.get(1)?,
        title: row.get(2)?,
        revision: Revision::from_text(&row.get::<_, String>(3)?),
        labels: serde_json::from_str(&labels).unwrap_or_default(),
        is_open: row.get(5)?,
        updated: Timestamp::parse(&updated).unwrap_or_default(),
        verdict: row.get(7)?,
        approved: revision(row.get(8)?),
        ignored: revision(row.get(9)?),
    })
}
