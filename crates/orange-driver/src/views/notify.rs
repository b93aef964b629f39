//! Notifies the user of what needs them, each thing once.

use orange_config::{LogLevel, NotifySettings, clock};
use orange_engine::language::hooks::Channel;
use orange_engine::names::TaskId;
use orange_store::Store;
use serde_json::{Value, json};

use super::attention::AttentionEntry;
use crate::DriverError;
use crate::context::notify::{Notification, link_to};
use crate::views::Views;

/// How many items one notification spells out; the others are only counted.
const MAX_ITEMS: usize = 3;

impl Views {
    /// Notifies the user of what needs them and was not reported before.
    pub fn notify_new_items(&self) -> Result<(), DriverError> {
        let settings = self.context.settings(None)?.notify;
        if !settings.desktop && !settings.bell && settings.webhook.is_none() {
            return Ok(());
        }
        let items = self.attention(None)?.items;
        let store = Store::open_read_only(&self.context.home)?;
        let mut new_entries = Vec::new();
        for entry in items {
            if !store.is_notified(&entry.item.key)? {
                new_entries.push(entry);
            }
        }
        if new_entries.is_empty() {
            return Ok(());
        }
        let mut store = self.context.store()?;
        let mut claimed = Vec::new();
        for entry in new_entries {
            // Claim before sending, so that nothing is sent twice. If this process is killed in
            // between, the notification is lost.
            if store.claim_notification(&entry.item.key, clock::now())? {
                claimed.push(entry);
            }
        }
        if claimed.is_empty() {
            return Ok(());
        }
        let all = [Channel::Desktop, Channel::Bell, Channel::Webhook];
        let items = claimed.iter().map(|it| item_json(it, &settings));
        let notification = Notification {
            text: summary_text(&claimed),
            json: json!({
                "schema": "orange.notification/1",
                "items": items.collect::<Vec<Value>>(),
            }),
            link: link_to(&settings, only_task(&claimed)),
        };
        for problem in self.context.notify_user(&settings, &all, &notification) {
            let more = json!({ "error": problem });
            self.context
                .log_for_all(LogLevel::Warn, "notify.failed", more);
        }
        Ok(())
    }
}

/// The task, if all items are about one.
fn only_task(entries: &[AttentionEntry]) -> Option<&TaskId> {
    let task = entries.first()?.item.task.as_ref();
    let is_same = |entry: &AttentionEntry| entry.item.task.as_ref() == task;
    task.filter(|_| entries.iter().all(is_same))
}

fn item_json(entry: &AttentionEntry, settings: &NotifySettings) -> Value {
    let mut object = json!(entry.item);
    if let Some(link) = link_to(settings, entry.item.task.as_ref()) {
        object["url"] = json!(link);
    }
    object["project"] = json!(entry.project);
    object["summary"] = json!(entry.summary);
    object
}

fn summary_text(new_entries: &[AttentionEntry]) -> String {
    let bodies = new_entries.iter().take(MAX_ITEMS);
    let bodies =
        bodies.map(|it| format!("{} ({}): {}", it.item.subject(), it.item.kind, it.item.text));
    let mut lines: Vec<String> = bodies.collect();
    match new_entries.len().saturating_sub(MAX_ITEMS) {
        0 => {}
        more => lines.push(format!("and {more} more: orange attention")),
    }
    lines.join("\n")
}
