//! Checks whether the chats can be listened to.

use orange_config::{ORANGE_TELEGRAM_TOKEN, Settings, TelegramSettings};
use orange_engine::names::ProjectName;

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::chat::telegram::connect;

impl Admin {
    /// Asks the servers of the chats that are set up.
    pub(super) fn check_chats(&self, settings: &Settings, found: &mut Vec<Checkup>) {
        found.extend(self.check_comments(&settings.chat.github_projects));
        found.extend(self.check_telegram(&settings.chat.telegram));
    }

    /// Checks that each project whose comments may hold commands is on GitHub.
    fn check_comments(&self, wanted: &[ProjectName]) -> Option<Checkup> {
        if wanted.is_empty() {
            return None;
        }
        let known = self.forge.projects_on_forge().unwrap_or_default();
        let unknown: Vec<&str> = wanted
            .iter()
            .filter(|it| !known.contains(*it))
            .map(ProjectName::as_str)
            .collect();
        let checkup = |health, message: String| Checkup::new("comments", health, message);
        if unknown.is_empty() {
            let message = String::from("people with write permission may give commands");
            return Some(checkup(Health::Ok, message));
        }
        let message = format!("not a project on GitHub: {}", unknown.join(", "));
        let fix = "correct `chat.github.projects`; `orange project list` shows the projects";
        Some(checkup(Health::Warning, message).with_fix(fix))
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
