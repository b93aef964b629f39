//! One round with Telegram: read messages, obey commands, answer.

use std::time::Duration;

use orange_config::{ORANGE_TELEGRAM_TOKEN, TelegramSettings};
use orange_effects::chat::error::ChatError;
use orange_effects::chat::secret::Secret;
use orange_effects::chat::telegram::{Batch, Telegram};
use orange_engine::chat::channel::Channel;
use orange_store::{ChatRecord, Store, StoreError};

use super::Chat;
use super::scope::Scope;
use super::send::SendFailure;
use crate::DriverError;
use crate::context::Context;
use crate::steps::Steps;

/// How long the server waits for a message before it answers that there is none.
const LONG_POLL: Duration = Duration::from_secs(25);

/// A bot that can be asked.
pub(crate) struct TelegramBot {
    client: Telegram,
    secret: Secret,
    name: String,
    settings: TelegramSettings,
}

impl TelegramBot {
    /// Whether it was made for these settings.
    pub(crate) fn is_for(&self, settings: &TelegramSettings) -> bool {
        self.settings == *settings
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn place(&self) -> String {
        format!("{}/{}", Channel::Telegram.as_str(), self.name)
    }

    /// Waits for messages; changes nothing.
    pub(crate) fn fetch_messages(&self, position: Option<&str>) -> Result<Batch, ChatError> {
        let from = position.and_then(|it| it.parse().ok());
        self.client.fetch(from, &self.name, &self.settings.allow)
    }
}

/// Asks who the bot is. `None` if Telegram is not set up, or listens to no one.
pub(crate) fn connect(
    context: &Context,
    settings: &TelegramSettings,
) -> Result<Option<TelegramBot>, ChatError> {
    if settings.allow.is_empty() {
        return Ok(None);
    }
    let file = settings.token_file.as_deref();
    let environment = &context.environment;
    if file.is_none() && environment.variable(ORANGE_TELEGRAM_TOKEN).is_none() {
        return Ok(None);
    }
    let secret = Secret::find(file, environment, ORANGE_TELEGRAM_TOKEN);
    let secret = secret.map_err(ChatError::NoToken)?;
    let client = Telegram::new(&settings.server, secret.clone(), environment, LONG_POLL);
    Ok(Some(TelegramBot {
        name: client.fetch_name()?,
        client,
        secret,
        settings: settings.clone(),
    }))
}

impl Chat {
    pub(crate) fn telegram_position(
        &self,
        bot: &TelegramBot,
    ) -> Result<Option<String>, DriverError> {
        match Store::open_read_only(&self.context.home) {
            Err(StoreError::Missing { .. }) => Ok(None),
            store => Ok(store?.chat_position(&bot.place())?),
        }
    }

    /// Records a batch of messages. Nothing is written if there was none.
    pub(crate) fn receive_telegram(
        &self,
        bot: &TelegramBot,
        batch: &Batch,
    ) -> Result<(), DriverError> {
        let Some(next) = batch.next else {
            return Ok(());
        };
        let position = (bot.place(), next.to_string());
        let position = (position.0.as_str(), position.1.as_str());
        self.receive(Channel::Telegram, position, &batch.messages)
    }

    /// Obeys the commands that were received.
    pub(crate) fn obey_telegram(
        &self,
        bot: &TelegramBot,
        steps: &Steps,
    ) -> Result<(), DriverError> {
        let scope = |_: &ChatRecord| {
            Ok(Scope {
                projects: bot.settings.projects.clone(),
                ..Scope::default()
            })
        };
        match self.obey(Channel::Telegram, scope, steps) {
            Err(DriverError::Store(StoreError::Missing { .. })) => Ok(()),
            done => done,
        }
    }

    pub(crate) fn answer_telegram(&self, bot: &TelegramBot) -> Result<(), SendFailure> {
        let secrets = [bot.secret.expose()];
        let sent = self.send_answers(Channel::Telegram, &secrets, |record, text| {
            bot.client.send(&record.room, text)
        });
        match sent {
            Err(SendFailure::Driver(DriverError::Store(StoreError::Missing { .. }))) => Ok(()),
            sent => sent,
        }
    }
}
