//! Numbers, hashes and commits as the columns that hold them.

use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{MailId, Version};
use orange_fleet::json::Json;
use orange_fleet::message::Text;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::DatabaseError;

/// Sums with it stay within the numbers of PostgreSQL.
const MOST: u64 = 1 << 62;

/// PostgreSQL has no unsigned numbers. Nothing that is stored is as large as what is cut off here,
/// so a cut number equals none of them either.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Reads the answer of a call.
pub(super) struct Reader<'a> {
    pub call: &'static str,
    pub row: &'a Row,
}

impl<'a> Reader<'a> {
    pub fn get<T: FromSql<'a>>(&self, column: &str) -> Result<T, DatabaseError> {
        let value = self.row.try_get(column);
        value.map_err(|error| self.unreadable(error.to_string()))
    }

    pub fn unsigned(&self, column: &str) -> Result<u64, DatabaseError> {
        self.get(column).map(unsigned)
    }

    pub fn sha(&self, column: &str) -> Result<Sha, DatabaseError> {
        let bytes: &[u8] = self.get(column)?;
        self.sha_of(bytes)
    }

    pub fn optional_sha(&self, column: &str) -> Result<Option<Sha>, DatabaseError> {
        let bytes: Option<&[u8]> = self.get(column)?;
        bytes.map(|it| self.sha_of(it)).transpose()
    }

    pub fn shas(&self, column: &str) -> Result<Vec<Sha>, DatabaseError> {
        let bytes: &[u8] = self.get(column)?;
        bytes.chunks(32).map(|it| self.sha_of(it)).collect()
    }

    pub fn json(&self, column: &str) -> Result<Json, DatabaseError> {
        let text: &str = self.get(column)?;
        Json::new(text).ok_or_else(|| self.unreadable(format!("`{column}` is not JSON")))
    }

    /// Bytes that came as a string.
    pub fn string(&self, column: &str) -> Result<String, DatabaseError> {
        let bytes: Vec<u8> = self.get(column)?;
        String::from_utf8(bytes).map_err(|error| self.unreadable(error.to_string()))
    }

    pub fn events(&self, column: &str) -> Result<Vec<Json>, DatabaseError> {
        let text: &str = self.get(column)?;
        serde_json::from_str(text).map_err(|error| self.unreadable(error.to_string()))
    }

    pub fn head(&self, version: &str, sha: &str) -> Result<Head, DatabaseError> {
        Ok(Head {
            version: Version(self.unsigned(version)?),
            sha: self.sha(sha)?,
        })
    }

    pub fn unreadable(&self, reason: impl Into<String>) -> DatabaseError {
        let reason = reason.into();
        DatabaseError::Unreadable {
            call: self.call,
            reason,
        }
    }

    fn sha_of(&self, bytes: &[u8]) -> Result<Sha, DatabaseError> {
        let bytes = bytes.try_into();
        bytes
            .map(Sha::from_bytes)
            .map_err(|_| self.unreadable("a hash has the wrong length"))
    }
}

/// Commits, a column each.
pub(super) struct CommitColumns<'a> {
    pub firsts: Vec<i64>,
    pub lasts: Vec<i64>,
    pub shas: Vec<&'a [u8]>,
    pub events: Vec<String>,
    pub texts: Vec<Vec<u8>>,
    pub requests: Vec<Option<&'a str>>,
    /// Texts that the commits name, by hash.
    pub body_shas: Vec<&'a [u8]>,
    pub bodies: Vec<&'a [u8]>,
}

impl<'a> CommitColumns<'a> {
    pub fn new(commits: &'a [Commit], texts: &'a [Text]) -> Self {
        let named = |it: &&Text| commits.iter().any(|commit| commit.texts.contains(&it.sha));
        let bodies = || texts.iter().filter(named);
        Self {
            firsts: commits.iter().map(|it| signed(it.first.0)).collect(),
            lasts: commits.iter().map(|it| signed(it.last.0)).collect(),
            shas: commits
                .iter()
                .map(|it| it.sha.as_bytes().as_slice())
                .collect(),
            events: commits.iter().map(|it| array(&it.events)).collect(),
            texts: commits.iter().map(|it| joined(&it.texts)).collect(),
            requests: commits
                .iter()
                .map(|it| it.request.as_ref().map(MailId::as_str))
                .collect(),
            body_shas: bodies().map(|it| it.sha.as_bytes().as_slice()).collect(),
            bodies: bodies().map(|it| it.content.as_bytes()).collect(),
        }
    }
}

/// A JSON array that keeps the text of each event.
fn array(events: &[Json]) -> String {
    let texts: Vec<_> = events.iter().map(Json::as_str).collect();
    format!("[{}]", texts.join(","))
}

fn joined(shas: &[Sha]) -> Vec<u8> {
    shas.iter().flat_map(|it| *it.as_bytes()).collect()
}

/// How many of the commits follow each other, given the first.
pub(super) fn chained(commits: &[Commit]) -> i64 {
    let has_shape = |it: &Commit| {
        let count = u64::try_from(it.events.len()).unwrap_or(u64::MAX);
        let before = it.first.0.checked_sub(1);
        count > 0 && before.and_then(|it| it.checked_add(count)) == Some(it.last.0)
    };
    if !commits.first().is_some_and(has_shape) {
        return 0;
    }
    let pairs = commits.windows(2);
    let follow = pairs.take_while(|pair| match pair {
        [before, next] => next.follows(before.head()),
        _ => false,
    });
    signed(u64::try_from(follow.count()).unwrap_or(u64::MAX)).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(previous: Head, events: &[&str]) -> Commit {
        let events = events.iter().map(|it| Json::new(*it).unwrap()).collect();
        Commit::new(previous, events, Vec::new(), None).unwrap()
    }

    #[test]
    fn a_chain_ends_where_a_commit_does_not_follow() {
        let one = commit(Head::default(), &["1", "2"]);
        let two = commit(one.head(), &["3"]);
        let other = commit(Head::default(), &["4"]);
        assert_eq!(chained(&[]), 0);
        assert_eq!(chained(&[one.clone(), two.clone()]), 2);
        assert_eq!(chained(&[one.clone(), other, two.clone()]), 1);
        let mut long = one;
        long.last = Version(9);
        assert_eq!(chained(&[long, two]), 0);
    }

    #[test]
    fn events_keep_their_text() {
        let commit = commit(
            Head::default(),
            &["{ \"b\":1.0,  \"a\": [1e3] }", "\"\\u0000,]\""],
        );
        let read: Vec<Json> = serde_json::from_str(&array(&commit.events)).unwrap();
        assert_eq!(read, commit.events);
    }
}
