//! The channels, and which senders and rooms each listens to.

use std::fmt;

/// A channel that messages arrive on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    GitHub,
    Matrix,
    Telegram,
}

impl Channel {
    pub const ALL: [Channel; 3] = [Channel::GitHub, Channel::Matrix, Channel::Telegram];

    /// The name in settings and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Channel::GitHub => "github",
            Channel::Matrix => "matrix",
            Channel::Telegram => "telegram",
        }
    }

    /// The channel with this name.
    pub fn from_name(name: &str) -> Option<Channel> {
        Channel::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// How many characters an answer may have.
    pub fn answer_limit(self) -> usize {
        match self {
            // The limit of Telegram is 4,096.
            Channel::Telegram => 4000,
            // An event of Matrix has at most 65,536 bytes; a character takes up to four.
            Channel::Matrix => 15_000,
            Channel::GitHub => 20_000,
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Channel::GitHub => "GitHub",
            Channel::Matrix => "Matrix",
            Channel::Telegram => "Telegram",
        })
    }
}

/// Ids of accounts or rooms that a channel listens to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<String>);

impl AllowList {
    pub fn new(ids: impl IntoIterator<Item = String>) -> AllowList {
        let ids = ids.into_iter().map(|it| it.trim().to_owned());
        AllowList(ids.filter(|it| !it.is_empty()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an id is listed, character by character: there are no patterns.
    pub fn allows(&self, id: &str) -> bool {
        !id.is_empty() && self.0.iter().any(|it| it == id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Who may give commands, and in which rooms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowLists {
    pub users: AllowList,
    /// Everyone in a room reads the answers, so a room has to be allowed too.
    pub rooms: AllowList,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesson_110_an_empty_allow_list_means_no_one() {
        for list in [
            AllowList::default(),
            AllowList::new([]),
            AllowList::new([String::new(), String::from("  ")]),
        ] {
            assert!(list.is_empty());
            for id in ["", " ", "*", "1", "@ada:example.org"] {
                assert!(!list.allows(id), "{id}");
            }
        }
    }

    #[test]
    fn an_id_is_compared_as_a_whole() {
        let list = AllowList::new([String::from(" 123 "), String::from("*")]);
        assert!(list.allows("123"));
        for id in ["12", "1234", "-123", "0123", "123 ", ""] {
            assert!(!list.allows(id), "{id}");
        }
    }

    #[test]
    fn a_channel_is_found_by_its_name() {
        for channel in Channel::ALL {
            assert_eq!(Channel::from_name(channel.as_str()), Some(channel));
        }
        assert_eq!(Channel::from_name("irc"), None);
    }
}
