//! Decides whether a message is a command for orange, or is ignored.

use super::command::{Command, read_command};

/// A message as its channel describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    /// The channel's id of the message, unique within the channel.
    pub id: String,
    /// Where to answer: a chat, a room, or the number of an issue.
    pub room: String,
    /// The channel's id of the account that wrote it.
    pub sender: String,
    pub text: String,
    pub source: Source,
    pub addressing: Addressing,
    /// The tasks that it is written under, such as those of its issue.
    pub here: Vec<String>,
    pub is_allowed: bool,
}

/// Where the text of a message comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// A person wrote it just now.
    #[default]
    Person,
    /// orange itself wrote it.
    Own,
    Bot,
    /// An earlier message was changed.
    Edit,
    /// Another account may have written the text.
    Forwarded,
    /// It was written in an encrypted room, whose answers orange cannot encrypt.
    EncryptedRoom,
}

/// How a command is recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    /// Only a message that begins with `/orange` or `!orange` is a command.
    #[default]
    Prefixed,
    /// The same; `/orange@NAME` counts too, if this is the name.
    Named(String),
    /// Every message is a command, because no one else reads along.
    Direct,
    /// The message was found to be a command before.
    Any,
}

/// What a message causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    Act(Command),
    /// Nothing is done; the sender gets these words.
    Answer(String),
    /// It looked like a command, but must not be acted on or answered.
    Ignore(IgnoreReason),
    /// It is not for orange, so it is not even recorded.
    None,
}

/// Why a command was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreReason {
    Bot,
    Edit,
    EncryptedRoom,
    Forwarded,
    NotAllowed,
}

impl IgnoreReason {
    pub fn as_str(self) -> &'static str {
        match self {
            IgnoreReason::Bot => "a bot wrote it",
            IgnoreReason::Edit => "it was edited; only a new message counts",
            IgnoreReason::EncryptedRoom => "its room is encrypted, which is not supported",
            IgnoreReason::Forwarded => "it was forwarded; only a sender's own words count",
            IgnoreReason::NotAllowed => "its sender or its room is not allowed",
        }
    }
}

/// Decides what a message causes.
pub fn react(message: &Incoming) -> Reaction {
    let Some(text) = addressed(&message.text, &message.addressing) else {
        return Reaction::None;
    };
    match message.source {
        // Not even recorded: an answer of orange must never cause another one.
        Source::Own => return Reaction::None,
        Source::Bot => return Reaction::Ignore(IgnoreReason::Bot),
        Source::Edit => return Reaction::Ignore(IgnoreReason::Edit),
        Source::Forwarded => return Reaction::Ignore(IgnoreReason::Forwarded),
        Source::EncryptedRoom => return Reaction::Ignore(IgnoreReason::EncryptedRoom),
        Source::Person => {}
    }
    if !message.is_allowed || message.sender.is_empty() {
        return Reaction::Ignore(IgnoreReason::NotAllowed);
    }
    match read_command(text, &message.here) {
        Ok(command) => Reaction::Act(command),
        Err(words) => Reaction::Answer(words),
    }
}

/// Whether a text that others read begins with a command for orange.
pub fn is_command(text: &str) -> bool {
    addressed(text, &Addressing::Prefixed).is_some()
}

/// The text after the prefix, if the message is for orange. The prefix has to be the first word of
/// the first line, without anything before it: a quotation or a code block is never a command.
fn addressed<'a>(text: &'a str, addressing: &Addressing) -> Option<&'a str> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_prefix = match addressing {
        Addressing::Named(name) if word.contains('@') => word
            .strip_prefix("/orange@")
            .is_some_and(|it| it.eq_ignore_ascii_case(name)),
        Addressing::Any if word.starts_with("/orange@") => true,
        _ => matches!(word, "/orange" | "!orange"),
    };
    // The rest of the first line, even if there is nothing on it.
    let rest = rest.strip_prefix([' ', '\t']).unwrap_or(rest);
    match addressing {
        _ if is_prefix => Some(rest),
        Addressing::Direct | Addressing::Any => {
            let text = text.trim_start();
            // Telegram sends `/start` when a chat begins.
            let text = text.strip_prefix('/').unwrap_or(text);
            Some(if text.trim() == "start" { "help" } else { text })
        }
        Addressing::Prefixed | Addressing::Named(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Incoming {
        Incoming {
            id: String::from("1"),
            room: String::from("r"),
            sender: String::from("ada"),
            text: text.to_owned(),
            is_allowed: true,
            ..Incoming::default()
        }
    }

    #[test]
    fn a_command_begins_with_the_prefix() {
        for text in [
            "/orange list",
            "!orange list",
            "/orange\tlist",
            "/orange list\n> x",
        ] {
            assert_eq!(
                react(&message(text)),
                Reaction::Act(Command::List),
                "{text}"
            );
        }
        assert_eq!(react(&message("/orange")), Reaction::Act(Command::Help));
        for text in [
            "",
            "list",
            " /orange list",
            "    /orange list",
            "> /orange list",
            "`/orange list`",
            "```\n/orange list\n```",
            "hello\n/orange list",
            "\n/orange list",
            "\u{200b}/orange list",
            "/Orange list",
            "/oranges list",
            "/orange@evil list",
            "\"/orange list\"",
        ] {
            assert_eq!(react(&message(text)), Reaction::None, "{text:?}");
        }
    }

    #[test]
    fn in_a_group_the_name_of_the_bot_has_to_fit() {
        let group = |text: &str| Incoming {
            addressing: Addressing::Named(String::from("ada_bot")),
            ..message(text)
        };
        for text in ["/orange@Ada_Bot list", "/orange list"] {
            assert_eq!(react(&group(text)), Reaction::Act(Command::List), "{text}");
        }
        for text in ["/orange@eve_bot list", "/list", "list"] {
            assert_eq!(react(&group(text)), Reaction::None, "{text}");
        }
    }

    #[test]
    fn in_a_private_chat_every_message_is_a_command() {
        let direct = |text: &str| Incoming {
            addressing: Addressing::Direct,
            ..message(text)
        };
        for text in ["list", "/list", "/orange list", " list"] {
            assert_eq!(react(&direct(text)), Reaction::Act(Command::List), "{text}");
        }
        assert_eq!(react(&direct("/start")), Reaction::Act(Command::Help));
        assert!(matches!(react(&direct("hello")), Reaction::Answer(_)));
        assert!(matches!(react(&direct("> list")), Reaction::Answer(_)));
    }

    #[test]
    fn lesson_110_only_words_of_allowed_people_are_acted_on() {
        let base = message("/orange merge k3f9");
        assert!(matches!(react(&base), Reaction::Answer(_)));
        for (message, reaction) in [
            (
                Incoming {
                    is_allowed: false,
                    ..base.clone()
                },
                Reaction::Ignore(IgnoreReason::NotAllowed),
            ),
            (
                Incoming {
                    sender: String::new(),
                    ..base.clone()
                },
                Reaction::Ignore(IgnoreReason::NotAllowed),
            ),
            (
                Incoming {
                    source: Source::Bot,
                    ..base.clone()
                },
                Reaction::Ignore(IgnoreReason::Bot),
            ),
            (
                Incoming {
                    source: Source::Edit,
                    ..base.clone()
                },
                Reaction::Ignore(IgnoreReason::Edit),
            ),
            (
                Incoming {
                    source: Source::Forwarded,
                    ..base.clone()
                },
                Reaction::Ignore(IgnoreReason::Forwarded),
            ),
            (
                Incoming {
                    source: Source::EncryptedRoom,
                    ..base.clone()
                },
                Reaction::Ignore(IgnoreReason::EncryptedRoom),
            ),
            (
                Incoming {
                    source: Source::Own,
                    ..base.clone()
                },
                Reaction::None,
            ),
        ] {
            assert_eq!(react(&message), reaction, "{message:?}");
        }
    }
}
