//! An account on a chat server: reads messages, obeys commands, answers.

use std::time::Duration;

use orange_config::{
    BotSettings, ChatSettings, Environment, LogLevel, ORANGE_MATRIX_TOKEN, ORANGE_TELEGRAM_TOKEN,
};
use orange_effects::chat::client::{Batch, ChatClient, MessageRef};
use orange_effects::chat::error::ChatError;
use orange_effects::chat::matrix::Matrix;
use orange_effects::chat::secret::Secret;
use orange_effects::chat::telegram::Telegram;
use orange_engine::chat::channel::Channel;
use orange_store::{ChatRecord, Store, StoreError};
use serde_json::json;

use super::Chat;
use super::scope::Scope;
use super::send::SendFailure;
use crate::DriverError;
use crate::context::Context;
use crate::steps::Steps;

/// How long the server waits for a message before it answers that there is none.
const LONG_POLL: Duration = Duration::from_secs(25);

/// A kind of server on which orange has an account of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BotKind {
    Matrix,
    Telegram,
}

impl BotKind {
    pub(crate) const ALL: [BotKind; 2] = [BotKind::Matrix, BotKind::Telegram];

    pub(crate) fn channel(self) -> Channel {
        match self {
            BotKind::Matrix => Channel::Matrix,
            BotKind::Telegram => Channel::Telegram,
        }
    }

    /// The variable with the token, if no file is named.
    fn token_variable(self) -> &'static str {
        match self {
            BotKind::Matrix => ORANGE_MATRIX_TOKEN,
            BotKind::Telegram => ORANGE_TELEGRAM_TOKEN,
        }
    }

    pub(crate) fn settings(self, settings: &ChatSettings) -> &BotSettings {
        match self {
            BotKind::Matrix => &settings.matrix,
            BotKind::Telegram => &settings.telegram,
        }
    }

    /// Whether a file or a variable with a token is named.
    pub(crate) fn has_token(self, settings: &BotSettings, environment: &Environment) -> bool {
        settings.token_file.is_some() || environment.variable(self.token_variable()).is_some()
    }

    fn client(
        self,
        settings: &BotSettings,
        secret: Secret,
        environment: &Environment,
    ) -> Box<dyn ChatClient> {
        let (server, allow) = (&settings.server, settings.allow.clone());
        match self {
            BotKind::Matrix => Box::new(Matrix::new(server, secret, environment, LONG_POLL, allow)),
            BotKind::Telegram => {
                Box::new(Telegram::new(server, secret, environment, LONG_POLL, allow))
            }
        }
    }
}

/// An account that can be asked.
pub(crate) struct Bot {
    kind: BotKind,
    client: Box<dyn ChatClient>,
    secret: Secret,
    name: String,
    settings: BotSettings,
}

impl Bot {
    /// Whether it was made for these settings.
    pub(crate) fn is_for(&self, settings: &BotSettings) -> bool {
        self.settings == *settings
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn place(&self) -> String {
        format!("{}/{}", self.kind.channel().as_str(), self.name)
    }

    /// Waits for messages; changes nothing here.
    pub(crate) fn fetch_messages(&self, position: Option<&str>) -> Result<Batch, ChatError> {
        self.client.fetch(position, &self.name)
    }

    /// What is wrong with its settings.
    pub(crate) fn find_problems(&self) -> Result<Vec<String>, ChatError> {
        self.client.find_problems(&self.name)
    }
}

/// Asks the server for the name of the account. `None` if the channel is not set up, or listens to
/// no one.
pub(crate) fn connect(
    context: &Context,
    kind: BotKind,
    settings: &BotSettings,
) -> Result<Option<Bot>, ChatError> {
    let environment = &context.environment;
    let has_token = kind.has_token(settings, environment);
    if settings.allow.users.is_empty() || settings.server.is_empty() || !has_token {
        return Ok(None);
    }
    let file = settings.token_file.as_deref();
    let secret = Secret::find(file, environment, kind.token_variable());
    let secret = secret.map_err(ChatError::NoToken)?;
    let client = kind.client(settings, secret.clone(), environment);
    Ok(Some(Bot {
        kind,
        name: client.fetch_name()?,
        client,
        secret,
        settings: settings.clone(),
    }))
}

impl Chat {
    /// How far the messages of an account were read.
    pub(crate) fn position_of(&self, bot: &Bot) -> Result<Option<String>, DriverError> {
        match Store::open_read_only(&self.context.home) {
            Err(StoreError::Missing { .. }) => Ok(None),
            store => Ok(store?.chat_position(&bot.place())?),
        }
    }

    /// Records a batch of messages. Nothing is written if the position has not changed.
    pub(crate) fn receive_from(&self, bot: &Bot, batch: &Batch) -> Result<(), DriverError> {
        let channel = bot.kind.channel();
        for note in &batch.notes {
            let more = json!({ "channel": channel.as_str(), "note": note });
            self.context.log_for_all(LogLevel::Warn, "chat.noted", more);
        }
        let Some(next) = &batch.next else {
            return Ok(());
        };
        self.receive(channel, (&bot.place(), next), &batch.messages)
    }

    /// Obeys the commands that were received.
    pub(crate) fn obey_messages(&self, bot: &Bot, steps: &Steps) -> Result<(), DriverError> {
        let scope = |_: &ChatRecord| {
            Ok(Scope {
                projects: bot.settings.projects.clone(),
                ..Scope::default()
            })
        };
        match self.obey(bot.kind.channel(), scope, steps) {
            Err(DriverError::Store(StoreError::Missing { .. })) => Ok(()),
            done => done,
        }
    }

    /// Sends the answers that are due.
    pub(crate) fn answer_messages(&self, bot: &Bot) -> Result<(), SendFailure> {
        let secrets = [bot.secret.expose()];
        let sent = self.send_answers(bot.kind.channel(), &secrets, |record, text| {
            let message = MessageRef {
                room: &record.room,
                id: &record.key.id,
            };
            bot.client.send(message, text)
        });
        match sent {
            Err(SendFailure::Driver(DriverError::Store(StoreError::Missing { .. }))) => Ok(()),
            sent => sent,
        }
    }
}
