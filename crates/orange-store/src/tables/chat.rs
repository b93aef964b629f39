//! Commands from chats, and how far each channel was read.
//!
//! A message and the position after it are written in one transaction, and a task is created in the
//! transaction that marks its message as done. So a message is acted on once, whatever is killed.
//! The rows describe the outside world: a rebuild drops them, and a channel then begins anew.

use std::fmt;

use orange_engine::chat::channel::Channel;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::Store;
use crate::error::{StoreError, failed};

/// How many finished messages of a channel are kept.
const KEPT: u32 = 1000;

/// Identifies a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChatKey {
    pub channel: Channel,
    /// The channel's id of the message.
    pub id: String,
}

impl fmt::Display for ChatKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "message {} of {}", self.id, self.channel)
    }
}

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatState {
    /// Nothing was done yet.
    Received,
    /// What it asked for is done or refused; the answer is not sent.
    Answering,
    /// The answer may have been sent.
    Sending,
    Ended,
    /// It must not be acted on.
    Ignored,
}

impl ChatState {
    fn as_str(self) -> &'static str {
        match self {
            ChatState::Received => "received",
            ChatState::Answering => "answering",
            ChatState::Sending => "sending",
            ChatState::Ended => "ended",
            ChatState::Ignored => "ignored",
        }
    }

    fn from_text(text: &str) -> ChatState {
        match text {
            "received" => ChatState::Received,
            "answering" => ChatState::Answering,
            "sending" => ChatState::Sending,
            "ignored" => ChatState::Ignored,
            _ => ChatState::Ended,
        }
    }
}

/// A message to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChatMessage {
    pub id: String,
    pub room: String,
    pub sender: String,
    /// The command; absent if it must not be acted on.
    pub text: Option<String>,
    pub state: ChatState,
    /// The answer, or why it was ignored.
    pub answer: Option<String>,
}

/// A message that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatRecord {
    pub key: ChatKey,
    pub room: String,
    pub sender: String,
    pub text: Option<String>,
    pub state: ChatState,
    /// The task that was created for it.
    pub task: Option<TaskId>,
    pub answer: Option<String>,
    /// How often sending the answer failed.
    pub attempts: u32,
}

const COLUMNS: &str = "channel, id, room, sender, text, state, task, answer, attempts";

impl Store {
    /// How far a channel was read; `None` if it never was.
    pub fn chat_position(&self, channel: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT position FROM chat_channels WHERE channel = ?1";
        let position = self.connection.query_row(sql, [channel], |row| row.get(0));
        position
            .optional()
            .map_err(failed("read how far a chat was read"))
    }

    /// Records messages, and how far the channel is read with them. A message that is known stays
    /// as it is. `position` names the channel, or a part of it, and how far it was read.
    pub fn receive_chat(
        &mut self,
        channel: Channel,
        position: (&str, &str),
        messages: &[NewChatMessage],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let attempt = || failed("record messages of a chat");
        let writing = self.write("record messages of a chat")?;
        let connection = &writing.transaction;
        for message in messages {
            connection
                .execute(
                    "INSERT OR IGNORE INTO chat_messages
                         (channel, id, room, sender, text, state, answer, received_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        channel.as_str(),
                        message.id,
                        message.room,
                        message.sender,
                        message.text,
                        message.state.as_str(),
                        message.answer,
                        now.to_string(),
                    ],
                )
                .map_err(attempt())?;
        }
        connection
            .execute(
                "INSERT OR REPLACE INTO chat_channels (channel, position) VALUES (?1, ?2)",
                params![position.0, position.1],
            )
            .map_err(attempt())?;
        // Messages without a task; those with one show which tasks a repository may see.
        connection
            .execute(
                "DELETE FROM chat_messages WHERE channel = ?1 AND state IN ('ended', 'ignored')
                     AND task IS NULL AND rowid <= (SELECT max(rowid) FROM chat_messages) - ?2",
                params![channel.as_str(), KEPT],
            )
            .map_err(attempt())?;
        writing.commit()?;
        Ok(())
    }

    /// The messages of a channel that are not finished, oldest first.
    pub fn open_chat(&self, channel: Channel) -> Result<Vec<ChatRecord>, StoreError> {
        self.chat_where(
            "channel = ?1 AND state IN ('received', 'answering', 'sending')",
            channel.as_str(),
        )
    }

    /// Every message of a channel, oldest first.
    pub fn all_chat(&self, channel: Channel) -> Result<Vec<ChatRecord>, StoreError> {
        self.chat_where("channel = ?1", channel.as_str())
    }

    fn chat_where(&self, condition: &str, value: &str) -> Result<Vec<ChatRecord>, StoreError> {
        let attempt = || failed("read the messages of a chat");
        let sql = format!("SELECT {COLUMNS} FROM chat_messages WHERE {condition} ORDER BY rowid");
        let mut statement = self.connection.prepare(&sql).map_err(attempt())?;
        let found = statement.query_map([value], read).map_err(attempt())?;
        let found: Result<Vec<_>, _> = found.collect();
        found.map_err(attempt())
    }

    /// Records the answer to a message that was not acted on yet.
    pub fn answer_chat(&mut self, key: &ChatKey, answer: &str) -> Result<(), StoreError> {
        self.update_chat(
            key,
            "UPDATE chat_messages SET state = 'answering', answer = ?3, text = NULL
             WHERE channel = ?1 AND id = ?2 AND state = 'received'",
            answer,
        )
    }

    /// Records that the answer is about to be sent.
    pub fn begin_chat_answer(&mut self, key: &ChatKey) -> Result<(), StoreError> {
        self.update_chat(
            key,
            "UPDATE chat_messages SET state = ?3
             WHERE channel = ?1 AND id = ?2 AND state = 'answering'",
            ChatState::Sending.as_str(),
        )
    }

    /// Whether a message was recorded.
    pub fn has_chat(&self, key: &ChatKey) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM chat_messages WHERE channel = ?1 AND id = ?2)";
        let values = params![key.channel.as_str(), key.id];
        let found = self.connection.query_row(sql, values, |row| row.get(0));
        found.map_err(failed("look for a message of a chat"))
    }

    /// Records that sending the answer failed; it may have arrived all the same.
    pub fn fail_chat_answer(
        &mut self,
        key: &ChatKey,
        may_have_arrived: bool,
    ) -> Result<(), StoreError> {
        let state = if may_have_arrived {
            ChatState::Sending
        } else {
            ChatState::Answering
        };
        self.update_chat(
            key,
            "UPDATE chat_messages SET state = ?3, attempts = attempts + 1
             WHERE channel = ?1 AND id = ?2 AND state IN ('answering', 'sending')",
            state.as_str(),
        )
    }

    /// Records that nothing is left to do for a message.
    pub fn end_chat(&mut self, key: &ChatKey) -> Result<(), StoreError> {
        self.update_chat(
            key,
            "UPDATE chat_messages SET state = ?3, text = NULL WHERE channel = ?1 AND id = ?2",
            ChatState::Ended.as_str(),
        )
    }

    fn update_chat(&mut self, key: &ChatKey, sql: &str, value: &str) -> Result<(), StoreError> {
        let writing = self.write("record a message of a chat")?;
        writing
            .transaction
            .execute(sql, params![key.channel.as_str(), key.id, value])
            .map_err(failed("record a message of a chat"))?;
        writing.commit()?;
        Ok(())
    }
}

/// Marks a message as done by the creation of a task. Fails if it was acted on before.
pub(crate) fn claim(
    connection: &Connection,
    key: &ChatKey,
    task: &TaskId,
) -> Result<(), StoreError> {
    let claimed = connection
        .execute(
            "UPDATE chat_messages SET state = 'answering', task = ?3, text = NULL
             WHERE channel = ?1 AND id = ?2 AND state = 'received'",
            params![key.channel.as_str(), key.id, task.as_str()],
        )
        .map_err(failed("record the task of a message"))?;
    if claimed == 1 {
        return Ok(());
    }
    Err(StoreError::ChatMessageTaken(key.to_string()))
}

fn read(row: &Row<'_>) -> rusqlite::Result<ChatRecord> {
    let channel: String = row.get(0)?;
    Ok(ChatRecord {
        key: ChatKey {
            channel: Channel::from_name(&channel).unwrap_or(Channel::GitHub),
            id: row.get(1)?,
        },
        room: row.get(2)?,
        sender: row.get(3)?,
        text: row.get(4)?,
        state: ChatState::from_text(&row.get::<_, String>(5)?),
        task: row.get::<_, Option<String>>(6)?.map(TaskId::new),
        answer: row.get(7)?,
        attempts: row.get(8)?,
    })
}
