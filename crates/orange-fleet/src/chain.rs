//! Commits of a task, chained by hash over the previous head.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use crate::ids::{MailId, Version};
use crate::json::Json;

/// A SHA-256, in JSON as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sha([u8; 32]);

impl Sha {
    /// The hash of a text that commits name.
    pub fn of(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Exactly 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let (high, low) = (digit(*pair.first()?)?, digit(*pair.last()?)?);
            *byte = high << 4 | low;
        }
        Some(Self(bytes))
    }
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            write!(text, "{byte:02x}")?;
        }
        formatter.pad(&text)
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.8}", self.to_string())
    }
}

impl Serialize for Sha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("expected 64 lower-case hex digits"))
    }
}

/// The hash of a commit begins with this, then with the hash before it.
pub const COMMIT_HASH_PREFIX: &[u8] = b"orange-fleet commit 1\n";

/// Where a log ends: the last version, and the hash over everything up to it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Head {
    pub version: Version,
    pub sha: Sha,
}

/// What one local transaction recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Commit {
    /// The version of its first event.
    pub first: Version,
    /// The version of its last event.
    pub last: Version,
    /// The hash over the previous head and this commit.
    pub sha: Sha,
    pub events: Vec<Json>,
    /// The hashes of the texts that its events name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Sha>,
    /// The mail that it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<MailId>,
}

impl Commit {
    /// `None` without an event: such a commit would have no version.
    pub fn new(
        previous: Head,
        events: Vec<Json>,
        texts: Vec<Sha>,
        request: Option<MailId>,
    ) -> Option<Self> {
        let count = u64::try_from(events.len()).ok().filter(|it| *it > 0)?;
        let last = previous.version.0.checked_add(count)?;
        let mut commit = Self {
            first: previous.version.next(),
            last: Version(last),
            sha: Sha::default(),
            events,
            texts,
            request,
        };
        commit.sha = commit.sha_over(previous.sha);
        Some(commit)
    }

    pub fn head(&self) -> Head {
        Head {
            version: self.last,
            sha: self.sha,
        }
    }

    /// Whether this commit comes next after a head, with the right hash.
    pub fn follows(&self, previous: Head) -> bool {
        let count = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        count > 0
            && self.first == previous.version.next()
            && previous.version.0.checked_add(count) == Some(self.last.0)
            && self.sha == self.sha_over(previous.sha)
    }

    /// Covers everything but the epoch, so the tail of an adopted task keeps its hashes.
    fn sha_over(&self, previous: Sha) -> Sha {
        let mut hash = Sha256::new();
        hash.update(COMMIT_HASH_PREFIX);
        hash.update(previous.0);
        self.write_content(|bytes| hash.update(bytes));
        Sha(hash.finalize().into())
    }

    /// What the hash is over after the prefix and the previous hash, so that a database can
    /// compare a commit with a head that only it knows.
    pub fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        self.write_content(|bytes| content.extend_from_slice(bytes));
        content
    }

    fn write_content(&self, mut write: impl FnMut(&[u8])) {
        write(&self.first.0.to_be_bytes());
        write(&length(self.events.len()));
        for event in &self.events {
            write(&length(event.as_str().len()));
            write(event.as_str().as_bytes());
        }
        write(&length(self.texts.len()));
        for text in &self.texts {
            write(&text.0);
        }
        if let Some(request) = &self.request {
            write(&length(request.as_str().len()));
            write(request.as_str().as_bytes());
        }
    }
}

/// Lengths are hashed too, so that no two lists of texts run together.
fn length(length: usize) -> [u8; 8] {
    u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(previous: Head, events: &[&str]) -> Commit {
        let events = events.iter().map(|it| Json::new(*it).unwrap()).collect();
        Commit::new(previous, events, Vec::new(), None).unwrap()
    }

    #[test]
    fn commits_follow_their_own_head_only() {
        let one = commit(Head::default(), &["1", "2"]);
        assert_eq!((one.first, one.last), (Version(1), Version(2)));
        assert!(one.follows(Head::default()));
        let two = commit(one.head(), &["3"]);
        assert!(two.follows(one.head()));
        assert!(!two.follows(Head::default()));
        let other = commit(Head::default(), &["1", "4"]);
        assert!(!two.follows(other.head()));
    }

    #[test]
    fn every_part_changes_the_hash() {
        let base = commit(Head::default(), &["1", "23"]);
        let mut variants = vec![base.clone(), commit(Head::default(), &["12", "3"])];
        variants.push(commit(base.head(), &["1", "23"]));
        let events = base.events.clone();
        let text = Sha::of(b"text");
        variants.extend(Commit::new(
            Head::default(),
            events.clone(),
            vec![text],
            None,
        ));
        let mail = Some(MailId::new("m"));
        variants.extend(Commit::new(Head::default(), events, Vec::new(), mail));
        let mut shas: Vec<_> = variants.iter().map(|it| it.sha).collect();
        shas.sort();
        shas.dedup();
        assert_eq!(shas.len(), 5);
    }

    #[test]
    fn a_changed_commit_is_noticed() {
        let good = commit(Head::default(), &["1", "2"]);
        let mut event = good.clone();
        event.events[1] = Json::new("3").unwrap();
        let mut last = good.clone();
        last.last = Version(3);
        let mut empty = good;
        empty.events.clear();
        for bad in [event, last, empty] {
            assert!(!bad.follows(Head::default()), "{bad:?}");
        }
        assert_eq!(
            Commit::new(Head::default(), Vec::new(), Vec::new(), None),
            None
        );
    }

    #[test]
    fn hashes_are_hexadecimal() {
        let sha = Sha::of(b"");
        let text = sha.to_string();
        assert!(text.starts_with("e3b0c442"));
        assert_eq!(Sha::parse(&text), Some(sha));
        for bad in ["", "e3", &text.to_uppercase(), &text.replace('e', "g")] {
            assert_eq!(Sha::parse(bad), None, "{bad}");
        }
        assert!(serde_json::from_str::<Sha>("\"e3\"").is_err());
    }
}
