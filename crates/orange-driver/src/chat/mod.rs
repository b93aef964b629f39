//! Obeys commands from chats.
//!
//! A command is recorded before it is obeyed, and marked as done in the transaction that creates its
//! task, so it is obeyed once. Commands have the engine's role, so no transition that a workflow
//! reserves to the user can be taken from a chat. The only exception sends work back, for people
//! with write permission on GitHub.

mod act;
pub(crate) mod bot;
mod explain;
pub(crate) mod github;
pub(crate) mod scope;
pub(crate) mod send;

use std::sync::Arc;

use orange_config::{LogLevel, clock};
use orange_engine::chat::channel::Channel;
use orange_engine::chat::message::{Incoming, Reaction, react};
use orange_store::{ChatState, NewChatMessage};
use serde_json::json;

use crate::DriverError;
use crate::context::Context;
use crate::forge::Forge;
use crate::request::Requests;
use crate::views::Views;

/// Obeys commands from chats.
#[derive(Clone, Debug)]
pub struct Chat {
    context: Arc<Context>,
    forge: Forge,
    requests: Requests,
    views: Views,
}

impl Chat {
    pub(crate) fn new(
        context: &Arc<Context>,
        forge: &Forge,
        requests: &Requests,
        views: &Views,
    ) -> Chat {
        Chat {
            context: Arc::clone(context),
            forge: forge.clone(),
            requests: requests.clone(),
            views: views.clone(),
        }
    }

    /// Records the commands among new messages, and how far the channel is read. Messages that are
    /// not for orange are not recorded.
    pub(crate) fn receive(
        &self,
        channel: Channel,
        position: (&str, &str),
        messages: &[Incoming],
    ) -> Result<(), DriverError> {
        let mut commands = Vec::new();
        for message in messages {
            let (state, text, answer) = match react(message) {
                Reaction::None => continue,
                Reaction::Act(_) => (ChatState::Received, Some(message.text.clone()), None),
                Reaction::Answer(words) => (ChatState::Answering, None, Some(words)),
                Reaction::Ignore(reason) => {
                    let more = json!({
                        "channel": channel.as_str(),
                        "sender": message.sender,
                        "reason": reason.as_str(),
                    });
                    self.context
                        .log_for_all(LogLevel::Warn, "chat.ignored", more);
                    let reason = reason.as_str().to_owned();
                    (ChatState::Ignored, None, Some(reason))
                }
            };
            commands.push(NewChatMessage {
                id: message.id.clone(),
                room: message.room.clone(),
                sender: message.sender.clone(),
                text,
                state,
                answer,
            });
        }
        let mut store = self.context.store()?;
        store.receive_chat(channel, position, &commands, clock::now())?;
        Ok(())
    }
}
