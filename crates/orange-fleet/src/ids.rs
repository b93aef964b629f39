//! Newtypes for the ids, names and numbers of the protocol.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares a cheap-to-clone string newtype.
macro_rules! name {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }
    )+};
}

name! {
    /// An organisation. A ledger belongs to one, and the caller's token names it.
    OrgId,
    /// A runner: a machine, or a part of one, that works on tasks.
    RunnerId,
    /// One home directory of a runner, drawn at random when it joins. A restart keeps it.
    HomeId,
    TaskId,
    ProjectId,
    /// A person, as the server verified it.
    PersonId,
    /// A request of a person, or the end of a child task, on its way to the holder of a task.
    MailId,
    /// Chosen by the person's client, so that a repeated request is recognised.
    RequestKey,
    HarnessName,
    /// What a task may need from a runner, such as `integrator`.
    Label,
}

/// Declares a number that only its own kind compares with.
macro_rules! number {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub u64);

        impl $name {
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )+};
}

number! {
    /// Counts the registrations of a runner. 0 means never registered.
    ///
    /// It belongs to the home, so a restart keeps it.
    Incarnation,
    /// Names one period in which one runner holds a task. It never comes again.
    Epoch,
    /// The number of events recorded for a task.
    Version,
    /// The history of the server's database: a promotion or a restore begins a new one.
    Timeline,
    /// What an engine can read: a task needs the highest of its events.
    Format,
}

impl Epoch {
    /// The timeline is in the upper bits, so no epoch comes again after a failover.
    #[must_use]
    pub fn compose(timeline: Timeline, counter: u64) -> Self {
        Self((timeline.0 << 40) | (counter & ((1 << 40) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_timeline_has_higher_epochs() {
        let before = Epoch::compose(Timeline(1), (1 << 40) - 1);
        assert!(Epoch::compose(Timeline(2), 0) > before);
        assert_eq!(Epoch::compose(Timeline(0), 7), Epoch(7));
    }

    #[test]
    fn ids_are_plain_json() {
        let json = serde_json::to_string(&(TaskId::new("k3f9"), Version(4))).unwrap();
        assert_eq!(json, "[\"k3f9\",4]");
        let read: (TaskId, Version) = serde_json::from_str(&json).unwrap();
        assert_eq!(read, (TaskId::new("k3f9"), Version(4)));
    }
}
