//! Tells a person what needs them, each thing once.

use orange_config::clock;
use orange_config::{LogLevel, NotifySettings};
use orange_effects::notice::{post, show_on_desktop};
use orange_engine::language::hooks::Channel;
use orange_engine::names::TaskId;
use orange_store::Store;
use serde_json::{Value, json};

use super::attention::Attended;
use crate::{Driver, DriverError};

/// How many things are told in words at once; who missed more than that looks at the queue.
const IN_WORDS: usize = 3;

impl Driver {
    /// Tells a person of what needs them and was not told before.
    pub fn notify_of_news(&self) -> Result<(), DriverError> {
        let settings = self.settings(None)?.notify;
        if !settings.desktop && !settings.bell && settings.webhook.is_none() {
            return Ok(());
        }
        let items = self.attention(None)?.items;
        let store = Store::open_read_only(&self.home)?;
        let mut news = Vec::new();
        for attended in items {
            if !store.is_notified(&attended.item.key)? {
                news.push(attended);
            }
        }
        if news.is_empty() {
            return Ok(());
        }
        let mut store = self.store()?;
        let mut taken = Vec::new();
        for attended in news {
            // Taken first: who is killed in between has told nobody, and nobody is told twice.
            if store.take_notification(&attended.item.key, clock::now())? {
                taken.push(attended);
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        let all = [Channel::Desktop, Channel::Bell, Channel::Webhook];
        let json = json!({
            "schema": "orange.notification/1",
            "items": taken.iter().map(told_to_programs).collect::<Vec<Value>>(),
        });
        for problem in self.tell_person(&settings, &all, &in_words(&taken), &json) {
            let more = json!({ "error": problem });
            self.log_for_all(LogLevel::Warn, "notify.failed", more);
        }
        Ok(())
    }

    /// Tells by every way that is wanted and that the person has; what did not work.
    pub(crate) fn tell_person(
        &self,
        settings: &NotifySettings,
        via: &[Channel],
        text: &str,
        json: &Value,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for channel in via {
            let told = match channel {
                Channel::Desktop if settings.desktop => {
                    let shown = show_on_desktop(&self.environment, "orange", text);
                    shown.map_err(|error| format!("desktop: {error}"))
                }
                Channel::Bell if settings.bell => {
                    let rung = self.tmux.ring().map(|_| ());
                    rung.map_err(|error| format!("bell: {error}"))
                }
                Channel::Webhook => match &settings.webhook {
                    Some(address) => {
                        let posted = post(&self.environment, address, &json.to_string());
                        posted.map_err(|error| format!("webhook: {error}"))
                    }
                    None => Ok(()),
                },
                Channel::Desktop | Channel::Bell => Ok(()),
            };
            problems.extend(told.err());
        }
        problems
    }

    /// What is posted for a message of a workflow.
    pub(crate) fn message_for_programs(task: &TaskId, message: &str) -> Value {
        json!({ "schema": "orange.notification/1", "task": task, "message": message })
    }
}

fn told_to_programs(attended: &Attended) -> Value {
    let mut told = json!(attended.item);
    told["project"] = json!(attended.project);
    told["summary"] = json!(attended.summary);
    told
}

fn in_words(news: &[Attended]) -> String {
    let told = news.iter().take(IN_WORDS);
    let told = told.map(|it| format!("{} ({}): {}", it.item.subject(), it.item.kind, it.item.told));
    let mut lines: Vec<String> = told.collect();
    match news.len().saturating_sub(IN_WORDS) {
        0 => {}
        more => lines.push(format!("and {more} more: orange attention")),
    }
    lines.join("\n")
}
