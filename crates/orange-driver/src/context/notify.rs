//! Notifies the user, and remembers whether that worked.

use std::collections::BTreeMap;

use orange_config::{NotifySettings, WebhookFormat, clock};
use orange_effects::forge::webhook::{self, Message};
use orange_effects::notice::show_on_desktop;
use orange_effects::private_file;
use orange_engine::language::hooks::Channel;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::Context;

/// The most bytes that are read from the file of the last deliveries.
const MAX_BYTES: u64 = 64 * 1024;

/// A message to the user.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) text: String,
    /// The same for a webhook that takes JSON.
    pub(crate) json: Value,
    /// What a tap opens.
    pub(crate) link: Option<String>,
}

impl Notification {
    /// A workflow's message about a task.
    pub(crate) fn about(task: &TaskId, message: &str, settings: &NotifySettings) -> Notification {
        let link = link_to(settings, Some(task));
        let mut json =
            json!({ "schema": "orange.notification/1", "task": task, "message": message });
        if let Some(link) = &link {
            json["url"] = json!(link);
        }
        Notification {
            text: format!("{task}: {message}"),
            json,
            link,
        }
    }
}

/// The address on the web page of a task, or of the queue.
pub(crate) fn link_to(settings: &NotifySettings, task: Option<&TaskId>) -> Option<String> {
    let page = settings.page.as_deref()?.trim_end_matches('/');
    Some(match task {
        Some(task) => format!("{page}/#/task/{task}"),
        None => format!("{page}/"),
    })
}

/// The last notification through a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastNotification {
    pub(crate) at: Timestamp,
    /// Why it is not certain that it arrived.
    pub(crate) problem: Option<String>,
}

impl Context {
    /// Notifies through every requested channel that the user has enabled; returns what failed.
    pub(crate) fn notify_user(
        &self,
        settings: &NotifySettings,
        via: &[Channel],
        notification: &Notification,
    ) -> Vec<String> {
        let (mut sent, mut problems) = (Vec::new(), Vec::new());
        for channel in via {
            let Some((name, result)) = self.send(settings, *channel, notification) else {
                continue;
            };
            let problem = result.err();
            problems.extend(problem.as_ref().map(|it| format!("{name}: {it}")));
            let at = clock::now();
            sent.push((name.to_owned(), LastNotification { at, problem }));
        }
        self.note_notifications(sent);
        problems
    }

    fn note_notifications(&self, sent: Vec<(String, LastNotification)>) {
        if sent.is_empty() {
            return;
        }
        let mut last = self.last_notifications();
        last.extend(sent);
        if let Ok(bytes) = serde_json::to_vec(&last) {
            // If the file cannot be written, `orange doctor` shows an older delivery.
            let _unseen = private_file::write_unsynced(&self.home.notifications(), &bytes);
        }
    }

    /// Sends through one channel; `None` if the user has not enabled it.
    fn send(
        &self,
        settings: &NotifySettings,
        channel: Channel,
        notification: &Notification,
    ) -> Option<(&'static str, Result<(), String>)> {
        match channel {
            Channel::Desktop if settings.desktop => {
                let shown = show_on_desktop(&self.environment, "orange", &notification.text);
                Some(("desktop", shown.map_err(|error| error.to_string())))
            }
            Channel::Bell if settings.bell => {
                let rung = self.tmux.ring().map(|_| ());
                Some(("bell", rung.map_err(|error| error.to_string())))
            }
            Channel::Webhook => {
                let address = settings.webhook.as_ref()?;
                let redactor = self.redactor(None, &[]);
                let (json, text) = (
                    redactor.json(&notification.json),
                    redactor.body(&notification.text),
                );
                let link = notification.link.as_deref();
                let message = match settings.format {
                    WebhookFormat::Json => Message::Json(&json),
                    WebhookFormat::Ntfy => Message::Text { text: &text, link },
                };
                let posted = webhook::post(&self.environment, address, message);
                Some(("webhook", posted.map_err(|error| error.to_string())))
            }
            Channel::Desktop | Channel::Bell => None,
        }
    }

    /// The last notification through each channel.
    pub(crate) fn last_notifications(&self) -> BTreeMap<String, LastNotification> {
        let bytes = private_file::read(&self.home.notifications(), MAX_BYTES);
        let last = bytes.ok().and_then(|it| serde_json::from_slice(&it).ok());
        last.unwrap_or_default()
    }
}
