//! Checks whether the chats can be listened to.

use orange_config::Settings;
use orange_engine::names::ProjectName;

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::chat::bot::{Bot, BotKind, connect};

impl Admin {
    /// Asks the servers of the chats that are set up.
    pub(super) fn check_chats(&self, settings: &Settings, found: &mut Vec<Checkup>) {
        found.extend(self.check_comments(&settings.chat.github_projects));
        found.extend(
            BotKind::ALL
                .into_iter()
                .filter_map(|kind| self.check_bot(kind, settings)),
        );
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

    /// Asks a chat server for the account; `None` if it is not set up.
    fn check_bot(&self, kind: BotKind, settings: &Settings) -> Option<Checkup> {
        let settings = kind.settings(&settings.chat);
        let channel = kind.channel();
        let key = format!("chat.{}", channel.as_str());
        let warning = |message: &str, fix: String| {
            Some(Checkup::new(channel.to_string(), Health::Warning, message).with_fix(fix))
        };
        let has_token = kind.has_token(settings, &self.context.environment);
        match (has_token, settings.allow.users.is_empty()) {
            (false, true) => return None,
            (true, true) => {
                return warning(
                    "no one is allowed to give commands, so orange does not listen",
                    format!("add the id of your account to `{key}.allow`"),
                );
            }
            (false, false) => {
                return warning(
                    "there is no token",
                    format!("name a file with the token in `{key}.token_file`"),
                );
            }
            (true, false) => {}
        }
        if settings.server.is_empty() {
            return warning(
                "the address of the server is not set",
                format!("write the address to `{key}.server`"),
            );
        }
        let bot = connect(&self.context, kind, settings);
        let checked = bot.and_then(|bot| {
            let problems = bot.as_ref().map(Bot::find_problems).transpose()?;
            let name = bot.map(|it| it.name().to_owned()).unwrap_or_default();
            Ok((name, problems.unwrap_or_default()))
        });
        let fix = format!("correct `[{key}]` in config.toml; docs/chat.md has the steps");
        match checked {
            Ok((name, problems)) if problems.is_empty() => {
                let message = format!("bot {name}");
                Some(Checkup::new(channel.to_string(), Health::Ok, message))
            }
            Ok((_, problems)) => warning(&problems.join("; "), fix),
            Err(error) => warning(&error.to_string(), fix),
        }
    }
}
