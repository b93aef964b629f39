//! Comments on issues and pull requests, as messages.

use super::message::{Addressing, Incoming, Source, is_command};
use crate::forge::account::Account;
use crate::forge::marker::{ANSWER, is_ours, marker};
use crate::forge::text::fence;
use crate::time::Timestamp;

/// A comment on an issue or pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueComment {
    pub id: u64,
    /// The number of the issue or pull request.
    pub number: u64,
    /// Absent when the account was deleted.
    pub author: Option<Account>,
    pub body: String,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Whether an app wrote it, even if in the name of a person.
    pub is_by_app: bool,
}

impl IssueComment {
    /// Whether it may be a command, so that it is worth asking who wrote it.
    pub fn is_command(&self) -> bool {
        is_command(&self.body)
    }

    /// Where the text comes from; `own` is the account that orange writes with, which may be the
    /// user's.
    pub fn source(&self, own: &Account) -> Source {
        let author = self.author.as_ref();
        if is_ours(&self.body, author, own) {
            Source::Own
        } else if self.is_by_app || author.is_none_or(Account::is_bot) {
            Source::Bot
        } else if self.updated != self.created {
            // Others may edit a comment too.
            Source::Edit
        } else {
            Source::Person
        }
    }

    /// The comment as a message in this room, under these tasks. Its id is unique on the host, so
    /// that a repository with two projects obeys it once.
    pub fn into_message(
        self,
        host: &str,
        room: String,
        source: Source,
        here: Vec<String>,
        is_allowed: bool,
    ) -> Incoming {
        let author = self.author.as_ref().map(ToString::to_string);
        Incoming {
            id: format!("{host}/{}", self.id),
            room,
            sender: author.unwrap_or_default(),
            text: self.body,
            source,
            addressing: Addressing::Prefixed,
            here,
            is_allowed,
        }
    }
}

/// Identifies the answer to a comment.
pub fn answer_key(message: &str) -> String {
    format!("{ANSWER}{message}")
}

/// An answer as a comment. It is in a fence, where the forge reads no mention and no reference.
pub fn answer_body(message: &str, answer: &str) -> String {
    let answer = answer.replace("<!--", "<! --");
    let fenced = fence(&answer, "text");
    format!("{}\n\n{}", fenced.trim_end(), marker(&answer_key(message)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{IgnoreReason, Reaction, react};

    fn comment(body: &str) -> IssueComment {
        IssueComment {
            id: 5,
            number: 1,
            author: Some(Account::new("ada", false)),
            body: body.to_owned(),
            created: Timestamp::from_millis(1000),
            updated: Timestamp::from_millis(1000),
            is_by_app: false,
        }
    }

    fn reaction(comment: IssueComment, is_allowed: bool) -> Reaction {
        let source = comment.source(&Account::new("ada", false));
        let here = vec![String::from("k3f9")];
        let room = String::from("app/1");
        react(&comment.into_message("github.com", room, source, here, is_allowed))
    }

    #[test]
    fn only_an_unedited_comment_of_a_person_is_obeyed() {
        let status = || comment("/orange status");
        assert!(matches!(reaction(status(), true), Reaction::Act(_)));
        let ignored = [
            (reaction(status(), false), IgnoreReason::NotAllowed),
            (
                reaction(
                    IssueComment {
                        updated: Timestamp::from_millis(2000),
                        ..status()
                    },
                    true,
                ),
                IgnoreReason::Edit,
            ),
            (
                reaction(
                    IssueComment {
                        is_by_app: true,
                        ..status()
                    },
                    true,
                ),
                IgnoreReason::Bot,
            ),
            (
                reaction(
                    IssueComment {
                        author: Some(Account::new("helper[bot]", true)),
                        ..status()
                    },
                    true,
                ),
                IgnoreReason::Bot,
            ),
            (
                reaction(
                    IssueComment {
                        author: None,
                        ..status()
                    },
                    true,
                ),
                IgnoreReason::Bot,
            ),
        ];
        for (found, reason) in ignored {
            assert_eq!(found, Reaction::Ignore(reason));
        }
    }

    #[test]
    fn an_answer_of_orange_is_never_a_command() {
        let answer = answer_body("github.com/5", "/orange status\n``` @all <!-- orange:x -->");
        assert!(answer.starts_with("````text\n/orange status"), "{answer}");
        assert!(
            answer.ends_with("````\n\n<!-- orange:answer/github.com/5 -->"),
            "{answer}"
        );
        assert!(!comment(&answer).is_command());
        let own = comment("/orange status <!-- orange:answer/github.com/5 -->");
        assert_eq!(reaction(own, true), Reaction::None);
        // The marker of another account proves nothing.
        let forged = IssueComment {
            author: Some(Account::new("eve", false)),
            ..comment("/orange status <!-- orange:answer/github.com/5 -->")
        };
        assert!(matches!(reaction(forged, true), Reaction::Answer(_)));
    }
}
