//! Checks whether the chats can be listened to.

use orange_config::{ORANGE_TELEGRAM_TOKEN, Settings, TelegramSettings};

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::chat::telegram::connect;

impl Admin {
    /// Asks the servers of the chats that are set up.
    pub(super) fn check_chats(&self, settings: &Settings, found: &mut Vec<Checkup>) {
        found.extend(self.check_telegram(&settings.chat.telegram));
    }

    fn check_telegram(&self, settings: &TelegramSettings) -> Option<Checkup> {
        let variable = self.context.environment.variable(ORANGE_TELEGRAM_TOKEN);
        let has_token = settings.token_file.is_some() || variable.is_some();
        let warning = |message: &str, fix: &str| {
            Some(Checkup::new("Telegram", Health::Warning, message).with_fix(fix))
        };
        match (has_token, settings.allow.is_empty()) {
            (false, true) => return None,
            (true, true) => {
                return warning(
                    "no one is allowed to give commands, so orange does not listen",
                    "add the id of your account to `chat.telegram.allow`",
                );
            }
            (false, false) => {
                return warning(
                    "there is no token",
                    "name a file with the token in `chat.telegram.token_file`",
                );
            }
            (true, false) => {}
        }
        match connect(&self.context, settings) {
            Ok(bot) => {
                let name = bot.map(|it| it.name().to_owned()).unwrap_or_default();
                Some(Checkup::new("Telegram", Health::Ok, format!("bot {name}")))
            }
            Err(error) => warning(
                &error.to_string(),
                "correct `[chat.telegram]` in config.toml",
            ),
        }
    }
}
