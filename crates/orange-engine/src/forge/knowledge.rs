//! What a look at the forge showed: something, nothing, or no answer.

use crate::names::CommitId;

/// The result of a look: a value, the certainty that there is none, or no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Knowledge<T> {
    Known(T),
    /// The forge answered that there is none.
    None,
    /// The forge gave no answer: it failed, is still computing, or was not asked.
    #[default]
    Unknown,
}

impl<T> Knowledge<T> {
    /// The value, if it is known. `None` leaves open whether there is none or no answer.
    pub fn known(&self) -> Option<&T> {
        match self {
            Knowledge::Known(value) => Some(value),
            Knowledge::None | Knowledge::Unknown => None,
        }
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Knowledge::Unknown)
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Knowledge<U> {
        match self {
            Knowledge::Known(value) => Knowledge::Known(change(value)),
            Knowledge::None => Knowledge::None,
            Knowledge::Unknown => Knowledge::Unknown,
        }
    }
}

/// A fact about one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtCommit<T> {
    pub commit: CommitId,
    pub fact: T,
}

impl<T> AtCommit<T> {
    /// The fact, if it is about this commit; unknown if it is about another.
    pub fn about(&self, commit: &CommitId) -> Knowledge<&T> {
        if self.commit == *commit {
            Knowledge::Known(&self.fact)
        } else {
            Knowledge::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_about_another_commit_is_unknown() {
        let fact = AtCommit {
            commit: CommitId::new("aaa"),
            fact: 1,
        };
        assert_eq!(fact.about(&CommitId::new("aaa")), Knowledge::Known(&1));
        assert_eq!(fact.about(&CommitId::new("aab")), Knowledge::Unknown);
    }

    #[test]
    fn unknown_stays_unknown() {
        let unknown: Knowledge<u8> = Knowledge::Unknown;
        assert_eq!(unknown.map(|it| it + 1), Knowledge::Unknown);
        assert_eq!(unknown.known(), None);
        assert_eq!(Knowledge::<u8>::default(), Knowledge::Unknown);
    }
}
